#include "lexer.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>

namespace upcc {

namespace {

[[nodiscard]] bool begins_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
}
[[nodiscard]] bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
[[nodiscard]] bool in_name(char c) { return begins_name(c) || is_digit(c); }

/// After the closing quote, or at the end of the line if there is none.
[[nodiscard]] std::size_t end_of_text(std::string_view text, std::size_t at) {
    const char quote = text[at++];
    while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
}

[[nodiscard]] std::size_t end_of_number(std::string_view text, std::size_t at) {
    while (at < text.size() && (in_name(text[at]) || text[at] == '.')) {
        const char c = text[at++];
        const bool exponent = c == 'e' || c == 'E' || c == 'p' || c == 'P';
        if (exponent && at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    }
    return at;
}

/// A directive extends to the end of its line.
[[nodiscard]] bool begins_directive(std::string_view text, std::size_t at) {
    if (text[at] != '#') return false;
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) --at;
    return at == 0 || text[at - 1] == '\n';
}

} // namespace

std::vector<Token> tokens_of(std::string_view text) {
    std::vector<Token> tokens;
    bool system = false;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        TokenKind kind = TokenKind::sign;
        if (begins_directive(text, at)) {
            kind = TokenKind::directive;
            at = std::min(text.find('\n', at), text.size());
            LineMarker marker;
            if (read_line_marker(text.substr(begin, at - begin), marker)) system = marker.system;
        } else if (begins_name(c)) {
            kind = TokenKind::name;
            while (at < text.size() && in_name(text[at])) ++at;
            if (at < text.size() && (text[at] == '"' || text[at] == '\'') && at - begin <= 2) { // L"…", u8"…"
                kind = TokenKind::text;
                at = end_of_text(text, at);
            }
        } else if (is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
            kind = TokenKind::number;
            at = end_of_number(text, at);
        } else if (c == '"' || c == '\'') {
            kind = TokenKind::text;
            at = end_of_text(text, at);
        } else {
            ++at;
        }
        tokens.push_back({kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at), system});
    }
    return tokens;
}

bool read_line_marker(std::string_view directive, LineMarker& marker) {
    std::size_t at = directive.find('#');
    if (at == directive.npos) return false;
    at = directive.find_first_not_of(" \t", at + 1);
    if (at == directive.npos) return false;
    if (directive.substr(at, 4) == "line") at = directive.find_first_not_of(" \t", at + 4);
    if (at == directive.npos || !is_digit(directive[at])) return false;
    marker.line = 0;
    while (at < directive.size() && is_digit(directive[at]))
        marker.line = marker.line * 10 + static_cast<unsigned>(directive[at++] - '0');
    const std::size_t quote = directive.find('"', at);
    if (quote == directive.npos) return false;
    const std::size_t end = end_of_text(directive, quote);
    marker.file.clear();
    for (std::size_t k = quote + 1; k + 1 < end; ++k) {
        if (directive[k] == '\\') ++k;
        marker.file += directive[k];
    }
    marker.system = directive.find('3', end) != directive.npos;
    return true;
}

Positions::Positions(std::string_view preprocessed) : text_{preprocessed} {
    std::map<std::string, unsigned> known;
    unsigned file = 0;
    unsigned number = 1;
    files_.emplace_back("<text>");
    for (std::size_t at = 0; at < text_.size();) {
        const std::size_t end = std::min(text_.find('\n', at), text_.size());
        LineMarker marker;
        if (text_[at] == '#' && read_line_marker(text_.substr(at, end - at), marker)) {
            const auto [place, is_new] = known.emplace(marker.file, static_cast<unsigned>(files_.size()));
            if (is_new) files_.push_back(marker.file);
            file = place->second;
            number = marker.line;
        } else {
            lines_.push_back({at, number++, file});
        }
        at = end + 1;
    }
}

Place Positions::at(std::size_t offset) const {
    const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset,
                                        [](std::size_t value, const Line& line) { return value < line.offset; });
    if (after == lines_.begin()) return {};
    const Line& line = *(after - 1);
    Place place{files_[line.file], line.number, 0};
    const std::string original = source_line(place.file, place.line);
    if (original.empty()) return place;
    // The same occurrence of the same token. A token from a macro is not there: then the start of the line.
    const std::size_t end = std::min(text_.find('\n', line.offset), text_.size());
    const std::string_view here = text_.substr(line.offset, end - line.offset);
    const std::vector<Token> made = tokens_of(here);
    const std::vector<Token> written = tokens_of(original);
    std::size_t turn = 0;
    std::string_view wanted;
    for (const Token& token : made) {
        if (line.offset + token.end <= offset) continue;
        wanted = here.substr(token.begin, token.end - token.begin);
        for (const Token& other : made)
            if (other.begin < token.begin && here.substr(other.begin, other.end - other.begin) == wanted) ++turn;
        break;
    }
    for (const Token& token : written)
        if (std::string_view{original}.substr(token.begin, token.end - token.begin) == wanted && turn-- == 0) {
            place.column = token.begin + 1;
            return place;
        }
    place.column = static_cast<unsigned>(std::min(original.find_first_not_of(" \t"), original.size())) + 1;
    return place;
}

std::string source_line(const std::string& file, unsigned line) {
    static std::map<std::string, std::vector<std::string>> files;
    auto [place, is_new] = files.emplace(file, std::vector<std::string>{});
    if (is_new) {
        std::ifstream stream{file};
        for (std::string text; std::getline(stream, text);) place->second.push_back(text);
    }
    return line >= 1 && line <= place->second.size() ? place->second[line - 1] : std::string{};
}

} // namespace upcc
