#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace upcc {

enum class TokenKind : std::uint8_t { name, number, text, sign, directive };

/// A token of preprocessed C, never white space.
struct Token {
    TokenKind kind;
    std::uint32_t begin; ///< offset of its first character
    std::uint32_t end;   ///< after its last
    bool system;         ///< in a system header, by the preprocessor's line markers, or after `#pragma upc c_code`
};

[[nodiscard]] std::vector<Token> tokens_of(std::string_view text);

/// With C's other spellings of brackets and braces (`<:`, `%>`) as the usual ones, at the same offsets.
[[nodiscard]] std::string without_digraphs(std::string text);

/// `# 12 "file" 3`, and `#line 12 "file"`.
struct LineMarker {
    unsigned line = 0;
    std::string file;
    bool system = false;
};
/// Whether the directive is a line marker, which is then stored in `marker`.
[[nodiscard]] bool read_line_marker(std::string_view directive, LineMarker& marker);

/// Where a token was before preprocessing.
struct Place {
    std::string file;
    unsigned line = 0;
    unsigned column = 0; ///< from 1; 0: unknown
};

/// Positions in preprocessed text, in terms of the original source.
class Positions {
public:
    explicit Positions(std::string_view preprocessed);
    /// The file and line from the last marker, and the column by finding the token in the file's line.
    [[nodiscard]] Place at(std::size_t offset) const;

private:
    struct Line {
        std::size_t offset; ///< of its first character
        unsigned number;
        unsigned file; ///< index of files_
    };
    std::string_view text_;
    std::vector<Line> lines_;
    std::vector<std::string> files_;
};

/// The line of a file, without its end; empty if there is none.
[[nodiscard]] std::string source_line(const std::string& file, unsigned line);

} // namespace upcc
