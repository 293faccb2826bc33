#include "token_list.hpp"

#include <algorithm>

namespace upcc {

std::size_t TokenList::next(std::size_t token) const {
    for (++token; token < tokens_.size() && tokens_[token].kind == TokenKind::directive;) ++token;
    return token;
}

std::size_t TokenList::previous(std::size_t token) const {
    while (token > 0 && tokens_[--token].kind == TokenKind::directive) {
    }
    return token;
}

std::size_t TokenList::closing(std::size_t token) const {
    int depth = 0;
    for (; token < tokens_.size(); ++token) {
        if (opens(token)) ++depth;
        if (closes(token) && --depth == 0) return token;
    }
    return token;
}

std::size_t TokenList::opening(std::size_t token) const {
    int depth = 0;
    for (;; --token) {
        if (closes(token)) ++depth;
        if (opens(token) && --depth == 0) return token;
        if (token == 0) return 0;
    }
}

std::size_t TokenList::brace_around(std::size_t token) const {
    while (token > 0) {
        token = previous(token);
        if (is_sign(token, '{')) return token;
        if (closes(token)) token = opening(token);
    }
    return 0;
}

bool TokenList::opens_members(std::size_t brace) const {
    for (std::size_t k = brace; k > 0;) {
        k = previous(k);
        if (word(k) == "struct" || word(k) == "union") return true;
        if (is_sign(k, ')')) k = opening(k);
        else if (!is_name(k)) return false;
        if (is_sign(k, '(') && (k == 0 || !is_attribute(word(previous(k))))) return false;
    }
    return false;
}

bool TokenList::opens_block(std::size_t brace) const {
    if (brace == 0 || opens_members(brace)) return false;
    const std::size_t before = previous(brace);
    if (is_sign(before, ')')) {
        // Else a compound literal: `= (struct s){1, 2}`.
        const std::size_t name = previous(opening(before));
        return is_sign(name, ')') || (is_name(name) && word(name) != "return" && word(name) != "sizeof");
    }
    return is_sign(before, ';') || is_sign(before, '{') || is_sign(before, '}') || is_sign(before, ':') ||
           is_sign(before, '(') || word(before) == "else" || word(before) == "do";
}

std::pair<std::size_t, std::size_t> TokenList::width_around(std::size_t token) const {
    const std::pair none{tokens_.size(), tokens_.size()};
    const std::size_t brace = brace_around(token);
    if (!opens_members(brace)) return none;
    std::size_t colon = brace; // of this member
    const auto ends = [&](std::size_t k) { return is_sign(k, ';') || is_sign(k, ',') || is_sign(k, '}'); };
    for (std::size_t k = next(brace); k < token; k = next(k)) {
        if (ends(k)) colon = brace;
        else if (is_sign(k, ':') && colon == brace) colon = k;
        else if (opens(k) && closing(k) < token) k = closing(k);
        else if (opens(k)) break;
    }
    if (colon == brace) return none;
    std::size_t end = next(colon);
    while (end < tokens_.size() && !ends(end)) end = next(opens(end) ? closing(end) : end);
    return {next(colon), end};
}

/// Whether what begins at `first` belongs to the statement that ends before it.
bool TokenList::continues(std::size_t end, std::size_t first) const {
    if (word(first) == "else") return true;
    if (!is_sign(end, '}')) return false;
    const std::size_t open = opening(end);
    return !opens_block(open) || (word(first) == "while" && word(previous(open)) == "do");
}

std::size_t TokenList::statement_of(std::size_t token) const {
    // A semicolon in brackets that are open here belongs to a for: the statement begins before it. How many are open is
    // known at the next brace.
    std::size_t first = token;
    std::size_t found = tokens_.size();
    for (std::size_t k = token; k > 0;) {
        k = previous(k);
        const bool ends = is_sign(k, ';') || is_sign(k, '}');
        if (ends && found == tokens_.size() && !continues(k, first)) found = first;
        if (is_sign(k, '(') || is_sign(k, '[')) found = tokens_.size();
        if (is_sign(k, '{')) {
            if (opens_block(k)) return found == tokens_.size() ? first : found;
            found = tokens_.size();
        } else if (closes(k)) {
            k = opening(k);
        }
        first = k;
    }
    return tokens_.size();
}

bool is_attribute(std::string_view word) {
    return word == "__attribute__" || word == "__attribute" || word == "_Alignas" || word == "__asm__" ||
           word == "__asm" || word == "asm" || word == "__declspec" || word == "typeof" || word == "__typeof__" ||
           word == "__typeof" || word == "_Atomic";
}

std::size_t TokenList::at_offset(std::size_t offset) const {
    const auto at = std::lower_bound(tokens_.begin(), tokens_.end(), offset,
                                     [](const Token& token, std::size_t value) { return token.begin < value; });
    return static_cast<std::size_t>(at - tokens_.begin());
}

} // namespace upcc
