#pragma once

#include "lexer.hpp"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace upcc {

/// The tokens of a preprocessed source, and ways through them. Line markers and pragmas are passed over.
class TokenList {
public:
    explicit TokenList(std::string_view source) : source_{source}, tokens_{tokens_of(source)} {}

    [[nodiscard]] std::string_view source() const { return source_; }
    [[nodiscard]] std::size_t size() const { return tokens_.size(); }
    [[nodiscard]] const Token& operator[](std::size_t token) const { return tokens_[token]; }
    /// Empty after the last one.
    [[nodiscard]] std::string_view word(std::size_t token) const {
        return token < tokens_.size() ? source_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin)
                                      : std::string_view{};
    }
    [[nodiscard]] bool is_sign(std::size_t token, char sign) const {
        return token < tokens_.size() && tokens_[token].kind == TokenKind::sign &&
               source_[tokens_[token].begin] == sign;
    }
    [[nodiscard]] bool is_name(std::size_t token) const {
        return token < tokens_.size() && tokens_[token].kind == TokenKind::name;
    }
    [[nodiscard]] bool opens(std::size_t token) const {
        return is_sign(token, '(') || is_sign(token, '[') || is_sign(token, '{');
    }
    [[nodiscard]] bool closes(std::size_t token) const {
        return is_sign(token, ')') || is_sign(token, ']') || is_sign(token, '}');
    }
    [[nodiscard]] std::size_t next(std::size_t token) const;
    /// The first one if there is none before.
    [[nodiscard]] std::size_t previous(std::size_t token) const;
    /// The closing bracket of an opening one; the end where there is none.
    [[nodiscard]] std::size_t closing(std::size_t token) const;
    /// The opening bracket of a closing one; the first token where there is none.
    [[nodiscard]] std::size_t opening(std::size_t token) const;
    /// The opening brace around a token; the first token where there is none.
    [[nodiscard]] std::size_t brace_around(std::size_t token) const;
    /// Whether a brace opens the members of a structure or a union.
    [[nodiscard]] bool opens_members(std::size_t brace) const;
    /// Whether a brace opens statements, not members or initial values.
    [[nodiscard]] bool opens_block(std::size_t brace) const;
    /// The width of a bit-field that contains the token: its first token, and the one after it; twice the end if the
    /// token is in none.
    [[nodiscard]] std::pair<std::size_t, std::size_t> width_around(std::size_t token) const;
    /// The first token of the statement of a block that contains the token, before which a declaration can stand; the
    /// end if the token is in no statement.
    [[nodiscard]] std::size_t statement_of(std::size_t token) const;
    /// The token that begins at an offset of the source, or the next one.
    [[nodiscard]] std::size_t at_offset(std::size_t offset) const;

private:
    [[nodiscard]] bool continues(std::size_t end, std::size_t first) const;

    std::string_view source_;
    std::vector<Token> tokens_;
};

/// Of words before parentheses that are not a function's.
[[nodiscard]] bool is_attribute(std::string_view word);

} // namespace upcc
