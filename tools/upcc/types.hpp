#pragma once

#include "clang.hpp"
#include "prepass.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace upcc {

enum class Qualifier : std::uint8_t { none, strict, relaxed };

/// How the elements of a shared type are distributed over the threads.
struct Layout {
    enum class Kind : std::uint8_t {
        missing,    ///< not specified: a member of a shared structure, whose elements are with one thread
        indefinite, ///< []
        blocks,     ///< [B], and no brackets
        even        ///< [*]
    };
    Kind kind = Kind::missing;
    std::size_t number = 0;  ///< of the layout's text
    std::uint64_t block = 0; ///< in elements; of [*] 0 if it is unknown

    [[nodiscard]] bool is_indefinite() const { return kind == Kind::missing || kind == Kind::indefinite; }
    /// In blocks of one element.
    [[nodiscard]] bool is_dealt() const { return kind == Kind::blocks && block == 1; }
};

/// Clang's types in terms of UPC: a shared type is one in address space 1, with its layout in a tag.
class Types {
public:
    Types(clang::ASTContext& context, const Prepared& prepared) : context_{context}, prepared_{prepared} {}

    [[nodiscard]] static bool is_shared(clang::QualType type);
    /// A pointer-to-shared.
    [[nodiscard]] static bool points_to_shared(clang::QualType type);
    [[nodiscard]] static clang::QualType pointee(clang::QualType pointer) {
        return pointer->getAs<clang::PointerType>()->getPointeeType();
    }
    /// Whether C cannot express the type: something in it is shared.
    [[nodiscard]] bool mentions_shared(clang::QualType type) const;
    /// Whether it is an array with THREADS, which is no constant, in its size.
    [[nodiscard]] bool has_threads(clang::QualType type) const {
        const auto count = type->isArrayType() ? elements(type) : std::nullopt;
        return count && prepared_.times_threads(*count);
    }
    /// Whether an object of the type contains a pointer-to-shared.
    [[nodiscard]] bool holds_pointer_to_shared(clang::QualType type) const;
    /// The type of the object's value.
    [[nodiscard]] clang::QualType without_shared(clang::QualType type) const;
    /// The element type of an array of any number of dimensions; of others, the type itself.
    [[nodiscard]] clang::QualType element(clang::QualType type) const { return context_.getBaseElementType(type); }

    [[nodiscard]] Layout layout(clang::QualType type) const;
    [[nodiscard]] Qualifier qualifier(clang::QualType type) const;
    /// Whether types that are compatible in C have the same layouts and qualifiers, wherever something in them is
    /// shared.
    [[nodiscard]] bool same_layouts(clang::QualType a, clang::QualType b) const;
    /// Contradictory layout qualifiers of one type, as UPC writes them; empty if there are none.
    [[nodiscard]] std::string conflict(clang::QualType type) const;
    /// How many elements an array has, in all dimensions; nothing where it is incomplete or variable.
    [[nodiscard]] std::optional<std::uint64_t> elements(clang::QualType type) const;

    /// The number of the layout whose expression this constant has, if it is one of those that the pre-pass adds.
    [[nodiscard]] static std::optional<std::size_t> layout_of_constant(const clang::EnumConstantDecl* constant);
    /// Finds the values of the layouts' expressions, and what [*] is of each array, in the parsed program.
    void find_blocks();
    /// How many elements of an array [*] gives each thread.
    [[nodiscard]] std::optional<std::uint64_t> even_block(clang::QualType array) const;
    /// How many elements of an array are with each thread, where that is a constant.
    [[nodiscard]] std::optional<std::uint64_t> elements_of_thread(clang::QualType type) const;
    /// The value of a size operator, where that is a constant.
    [[nodiscard]] std::optional<std::uint64_t> size(SizeOperator kind, clang::QualType type) const;

    /// Names of shared types, as UPC writes them.
    [[nodiscard]] std::string in_upc(clang::QualType type) const;

private:
    /// The last words of the tags of a type, the nearest to it first: "strict", "relaxed" if qualifiers are wanted,
    /// else the layouts' numbers.
    [[nodiscard]] std::vector<std::string> tags(clang::QualType type, bool qualifier) const;
    /// The first of them; empty: none.
    [[nodiscard]] std::string tag(clang::QualType type, bool qualifier) const;
    [[nodiscard]] Layout numbered(std::size_t number) const;

    clang::ASTContext& context_;
    const Prepared& prepared_;
    std::map<std::size_t, std::uint64_t> blocks_;
    std::set<std::size_t> differ_; ///< [*] of several arrays, which give it different values
};

/// Clang's words for what the pre-pass has put in, turned back into UPC.
[[nodiscard]] std::string as_upc(std::string text, const Prepared& prepared);

} // namespace upcc
