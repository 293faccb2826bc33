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

/// `#pragma upc word`.
[[nodiscard]] bool is_pragma_upc(std::string_view directive, std::string_view word) {
    for (const std::string_view expected :
         {std::string_view{"#"}, std::string_view{"pragma"}, std::string_view{"upc"}, word}) {
        directive.remove_prefix(std::min(directive.find_first_not_of(" \t"), directive.size()));
        if (!directive.starts_with(expected)) return false;
        directive.remove_prefix(expected.size());
    }
    return directive.empty() || std::isspace(static_cast<unsigned char>(directive[0])) != 0;
}

} // namespace

std::vector<Token> tokens_of(std::string_view text) {
    std::vector<Token> tokens;
    bool system = false, plain_c = false;
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
            const std::string_view directive = text.substr(begin, at - begin);
            if (read_line_marker(directive, marker)) system = marker.system;
            else if (is_pragma_upc(directive, "c_code")) plain_c = true;
            else if (is_pragma_upc(directive, "upc_code")) plain_c = false;
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
        tokens.push_back({kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at), system || plain_c});
    }
    return tokens;
}

std::string without_digraphs(std::string text) {
    static const std::map<std::string_view, char> usual{{"<:", '['}, {":>", ']'}, {"<%", '{'}, {"%>", '}'}};
    const bool none =
        std::none_of(usual.begin(), usual.end(), [&](const auto& one) { return text.find(one.first) != text.npos; });
    if (none) return text;
    const std::vector<Token> tokens = tokens_of(text);
    for (std::size_t k = 0; k + 1 < tokens.size(); ++k) {
        const std::size_t begin = tokens[k].begin;
        if (tokens[k].kind != TokenKind::sign || tokens[k + 1].begin != begin + 1) continue;
        const auto found = usual.find(std::string_view{text}.substr(begin, 2));
        if (found == usual.end()) continue;
        text[begin] = found->second;
        text[begin + 1] = ' ';
        ++k;
    }
    return text;
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

namespace {

/// A token of the source: the same one, or the macro that it comes from.
struct Origin {
    std::size_t token;
    bool same;
};

/// Of the token `wanted` of a preprocessed line, by the longest sequence of tokens that both lines have in common.
[[nodiscard]] Origin origin_of(std::size_t wanted, const std::vector<Token>& made, std::string_view here,
                               const std::vector<Token>& written, std::string_view original) {
    const std::size_t rows = made.size() + 1, columns = written.size() + 1;
    if (rows * columns > std::size_t{1} << 22) return {written.size(), false};
    const auto same = [&](std::size_t a, std::size_t b) {
        return here.substr(made[a].begin, made[a].end - made[a].begin) ==
               original.substr(written[b].begin, written[b].end - written[b].begin);
    };
    std::vector<std::uint32_t> common(rows * columns); // of what follows
    for (std::size_t a = made.size(); a-- > 0;)
        for (std::size_t b = written.size(); b-- > 0;)
            common[a * columns + b] = same(a, b) ? common[(a + 1) * columns + b + 1] + 1
                                                 : std::max(common[(a + 1) * columns + b], common[a * columns + b + 1]);
    std::size_t a = 0, b = 0;
    while (a < wanted && b < written.size()) {
        const bool both = same(a, b) && common[a * columns + b] == common[(a + 1) * columns + b + 1] + 1;
        const bool from_macro = !both && common[(a + 1) * columns + b] >= common[a * columns + b + 1];
        if (both || from_macro) ++a;
        if (!from_macro) ++b;
    }
    // What the source has more than the macro's name is before the token itself.
    const std::size_t first = b;
    while (b < written.size() && !same(wanted, b) &&
           common[(wanted + 1) * columns + b] < common[wanted * columns + b + 1])
        ++b;
    if (b < written.size() && same(wanted, b)) return {b, true};
    // Within the arguments of a macro: its name.
    int depth = 0;
    for (std::size_t k = std::min(first, written.size()); k-- > 1;) {
        const char sign = original[written[k].begin];
        if (sign == ')') ++depth;
        if (sign == '(' && depth-- == 0) return {written[k - 1].kind == TokenKind::name ? k - 1 : first, false};
    }
    return {first, false};
}

} // namespace

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
    auto found =
        std::find_if(made.begin(), made.end(), [&](const Token& token) { return line.offset + token.end > offset; });
    const bool at_end = found == made.end() && !made.empty(); // after the line's last token
    if (at_end) --found;
    if (found != made.end()) {
        const Origin origin = origin_of(static_cast<std::size_t>(found - made.begin()), made, here, written, original);
        if (origin.token < written.size()) {
            place.column = (at_end && origin.same ? written[origin.token].end : written[origin.token].begin) + 1;
            return place;
        }
    }
    place.column = static_cast<unsigned>(std::min(original.find_first_not_of(" \t"), original.size())) + 1;
    return place;
}

std::string source_line(const std::string& file, unsigned line) {
    static std::map<std::string, std::vector<std::string>> files;
    auto [place, is_new] = files.emplace(file, std::vector<std::string>{});
    if (is_new) {
        std::ifstream stream{file};
        for (std::string text; std::getline(stream, text);) {
            if (text.ends_with('\r')) text.pop_back();
            place->second.push_back(text);
        }
    }
    return line >= 1 && line <= place->second.size() ? place->second[line - 1] : std::string{};
}

} // namespace upcc
