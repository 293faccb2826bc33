#pragma once

#include "lexer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace upcc {

/// The text in the brackets after `shared`; a type's tag contains its number.
struct LayoutText {
    std::string text;       ///< of the expression, without the brackets; empty: indefinite; "*": even
    std::size_t source = 0; ///< offset in the preprocessed text
    std::size_t first = 0;  ///< of its tokens
    std::size_t last = 0;   ///< after its tokens
    bool in_place = false;  ///< its value precedes the statement, since that is in a function
};

enum class SizeOperator : std::uint8_t { local, block, element };

/// A size operator, and its offset in the preprocessed text.
struct SizeUse {
    SizeOperator kind;
    std::size_t source;
};
/// The value of a size operator, and where its operand's last token begins in the preprocessed text.
struct SizeValue {
    std::uint64_t value;
    std::size_t end;
    bool operator==(const SizeValue&) const = default;
};
/// By the operator's offset in the preprocessed text.
using SizeValues = std::map<std::size_t, SizeValue>;

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
    std::map<std::size_t, SizeUse> size_operators; ///< by the offset of their sizeof
    bool has_early_sizes = false;                  ///< some in layouts, in brackets or outside functions
    std::set<std::size_t> size_brackets;           ///< around a size operator and its value
    int threads = 0;                               ///< 0: any number
    std::uint64_t any_threads = 0;                 ///< what THREADS is during parsing, if any number
    std::vector<Problem> problems;

    /// Whether an unqualified access at this offset is strict, by the preceding pragmas.
    [[nodiscard]] bool strict_at(std::size_t offset) const;
    /// Whether a constant of the parse is a multiple of THREADS, which is none.
    [[nodiscard]] bool times_threads(std::uint64_t value) const {
        return threads == 0 && value != 0 && value % any_threads == 0;
    }
    /// What THREADS is during parsing.
    [[nodiscard]] std::uint64_t threads_of_parse() const {
        return threads == 0 ? any_threads : static_cast<std::uint64_t>(threads);
    }
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
inline constexpr std::size_t layout_one = 2; // [1] as written

/// During parsing of a program for any number of threads, THREADS is one of these primes: a constant that it divides is
/// a multiple of THREADS. There are several, since the program may have such a constant itself.
inline constexpr std::array<std::uint64_t, 3> primes_for_threads{1183337, 1274353, 1365361};

/// How a program is to be parsed.
struct Parse {
    std::string_view prelude; ///< C that precedes it
    int threads = 0;          ///< for a program with a fixed number; 0: any
    std::uint64_t any_threads = primes_for_threads[0];
    SizeValues sizes = {};    ///< the values that are known
    bool finds_sizes = false; ///< the others have any value, but different ones: equal case labels are an error
    std::set<std::size_t> lost_sizes = {}; ///< of the known ones those that an error hid from the last such parse
};

[[nodiscard]] Prepared prepare(std::string_view preprocessed, const Parse& parse);

/// The first of the primes that divides no number in the text.
[[nodiscard]] std::uint64_t prime_for_threads(std::string_view preprocessed);

/// Headers of Berkeley's extensions and of UPC's libraries that it includes too late, or not at all.
[[nodiscard]] std::vector<std::string> headers_missed(std::string_view preprocessed);

/// Functions of the C library whose names it uses, but neither declares nor calls, for variables such as `int index;`,
/// which Clang refuses as long as it knows the function; and those that it defines by itself, whose calls Clang would
/// evaluate.
[[nodiscard]] std::vector<std::string> library_names_taken(std::string_view preprocessed);

class TokenList;
/// Declarations of functions without a result that are called before they are declared, for which C before 1999
/// assumes an int.
[[nodiscard]] std::string declarations_missed(const TokenList& tokens);

/// Definitions of types in upc.h, such as `ulong`, which the program defines otherwise: their first tokens and their
/// semicolons.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> types_redefined(const TokenList& tokens);

/// With the keywords of UPC 1.0, `forall` and the like, as those of today.
[[nodiscard]] std::string with_old_keywords(const std::string& preprocessed);

/// Whether it is UPC: uses a keyword or a header of UPC.
[[nodiscard]] bool is_upc(std::string_view preprocessed);

} // namespace upcc
