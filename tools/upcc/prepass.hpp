#pragma once

#include "lexer.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace upcc {

/// The text in the brackets after `shared`; a type's tag contains its number.
struct LayoutText {
    std::string text;       ///< of the expression, without the brackets; empty: indefinite; "*": even
    std::size_t source = 0; ///< offset in the preprocessed text
    bool in_place = false;  ///< its value precedes the declaration, since that is in a function
};

enum class SizeOperator : std::uint8_t { local, block, element };

/// An error in UPC's own syntax.
struct Problem {
    std::size_t source; ///< offset in the preprocessed text
    std::string text;
};

/// UPC as C that Clang can parse, with what C cannot express stored beside it. `shared [B]` becomes an address space
/// with a tag, upc_forall a for with its affinity in a comma expression, upc_barrier a call, upc_blocksizeof a sizeof.
class Prepared {
public:
    std::string text;
    std::size_t program_begin = 0; ///< before it is what the translator adds
    std::size_t program_end = 0;   ///< after it are constants with the value of every layout's expression
    std::vector<LayoutText> layouts;
    std::map<std::size_t, SizeOperator> size_operators; ///< by the offset of their sizeof
    std::vector<Problem> problems;

    /// Whether an unqualified access at this offset is strict, by the preceding pragmas.
    [[nodiscard]] bool strict_at(std::size_t offset) const;
    /// The position in the preprocessed text from which a character of `text` comes.
    [[nodiscard]] std::size_t source_of(std::size_t offset) const;

private:
    friend class Prepass;
    std::map<std::size_t, bool> strict_from_;
    std::vector<std::pair<std::size_t, std::size_t>>
        segments_; ///< (offset in text, in the preprocessed text), ascending
};

/// The numbers of layouts without a text.
inline constexpr std::size_t layout_default = 0;
inline constexpr std::size_t layout_indefinite = 1;

/// During parsing of a program for any number of threads, THREADS is this prime: a constant that it divides is a
/// multiple of THREADS.
inline constexpr std::uint64_t any_threads = 1000003;

/// `threads`: for a program with a fixed number; 0: any. `prelude`: C that precedes it.
[[nodiscard]] Prepared prepare(std::string_view preprocessed, std::string_view prelude, int threads);

/// Whether it uses names of Berkeley's extensions without including their header.
[[nodiscard]] bool names_extensions(std::string_view preprocessed);

/// Whether it is UPC: uses a keyword or a header of UPC.
[[nodiscard]] bool is_upc(std::string_view preprocessed);

} // namespace upcc
