#pragma once

#include "lexer.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace upcc {

/// What stands in the brackets behind `shared`: a type's tag has its number.
struct LayoutText {
    std::string text;       ///< of the expression, without the brackets; empty: indefinite; "*": even
    std::size_t source = 0; ///< offset in the preprocessed text
    bool in_place = false;  ///< its value stands before the declaration, since that is in a function
};

enum class SizeOperator : std::uint8_t { local, block, element };

/// Something is wrong with UPC's own syntax.
struct Problem {
    std::size_t source; ///< offset in the preprocessed text
    std::string text;
};

/// UPC as C that Clang can parse, with what C cannot say beside it. `shared [B]` has become an address space with a
/// tag, upc_forall a for with its affinity in a comma, upc_barrier a call, upc_blocksizeof a sizeof.
class Prepared {
public:
    std::string text;
    std::size_t program_begin = 0; ///< before it stands what the translator adds
    std::size_t program_end = 0;   ///< behind it, constants with the value of every layout's expression
    std::vector<LayoutText> layouts;
    std::map<std::size_t, SizeOperator> size_operators; ///< by the offset of their sizeof
    std::vector<Problem> problems;

    /// Whether an access without qualifier at this offset is strict, by the pragmas before it.
    [[nodiscard]] bool strict_at(std::size_t offset) const;
    /// Where a character of `text` comes from in the preprocessed text.
    [[nodiscard]] std::size_t source_of(std::size_t offset) const;

private:
    friend class Prepass;
    std::map<std::size_t, bool> strict_from_;
    std::vector<std::pair<std::size_t, std::size_t>>
        segments_; ///< (offset in text, in the preprocessed text), ascending
};

/// The numbers of the layouts that need no text.
inline constexpr std::size_t layout_default = 0;
inline constexpr std::size_t layout_indefinite = 1;

/// In the parse of a program for any number of threads THREADS is this prime: a constant that it divides is a multiple
/// of THREADS.
inline constexpr std::uint64_t any_threads = 1000003;

/// `threads`: of a program for a fixed number; 0: for any. `prelude`: C that comes before it.
[[nodiscard]] Prepared prepare(std::string_view preprocessed, std::string_view prelude, int threads);

/// Whether it uses names of Berkeley's extensions, and has not included their header.
[[nodiscard]] bool names_extensions(std::string_view preprocessed);

/// Whether it is UPC: it uses a keyword or a header of UPC's.
[[nodiscard]] bool is_upc(std::string_view preprocessed);

} // namespace upcc
