#include "main_function.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace upcc {

namespace {

/// One parameter, from its first token to after its last one.
struct Parameter {
    std::size_t first, last;
};

[[nodiscard]] std::vector<Parameter> parameters(const TokenList& tokens, std::size_t open, std::size_t close) {
    std::vector<Parameter> found;
    std::size_t first = tokens.next(open);
    if (first == close) return found;
    for (std::size_t k = first; k < close; k = tokens.next(k)) {
        if (tokens.opens(k)) k = tokens.closing(k);
        if (!tokens.is_sign(k, ',')) continue;
        found.push_back({first, k});
        first = tokens.next(k);
    }
    found.push_back({first, close});
    return found;
}

[[nodiscard]] bool is_type_of_c(std::string_view word) {
    static const std::set<std::string_view> types{"char",   "short",    "int",  "long",  "float", "double",
                                                  "signed", "unsigned", "void", "_Bool", "struct"};
    return types.contains(word);
}

/// `int argc`
[[nodiscard]] bool is_count(const TokenList& tokens, const Parameter& one) {
    bool is_int = false;
    for (std::size_t k = one.first; k < one.last; k = tokens.next(k)) {
        if (!tokens.is_name(k)) return false;
        if (tokens.word(k) == "int") is_int = true;
        else if (is_type_of_c(tokens.word(k))) return false;
    }
    return is_int;
}

/// `char** argv`, `const char *argv[]`, or of a type with a name of its own, which Clang judges.
[[nodiscard]] bool is_list(const TokenList& tokens, const Parameter& one) {
    int levels = 0;
    bool is_char = false, of_c = false;
    for (std::size_t k = one.first; k < one.last; k = tokens.next(k)) {
        if (tokens.is_sign(k, '*') || tokens.is_sign(k, '[')) ++levels;
        if (tokens.is_sign(k, '(') || tokens.word(k) == "shared") return false;
        is_char = is_char || tokens.word(k) == "char";
        of_c = of_c || (is_type_of_c(tokens.word(k)) && tokens.word(k) != "char");
    }
    return of_c ? false : !is_char || levels == 2;
}

/// `int argc; char **argv, **environment;` of a K&R definition.
[[nodiscard]] bool are_usual_declarations(const TokenList& tokens, std::size_t first, std::size_t body) {
    int levels = 0;
    bool is_char = false, usual = true;
    for (std::size_t k = first; k < body; k = tokens.next(k)) {
        if (tokens.is_sign(k, '*') || tokens.is_sign(k, '[')) ++levels;
        if (tokens.word(k) == "char") is_char = true;
        else if (is_type_of_c(tokens.word(k)) && tokens.word(k) != "int") return false;
        if (!tokens.is_sign(k, ',') && !tokens.is_sign(k, ';')) continue;
        usual = usual && levels == (is_char ? 2 : 0);
        levels = 0;
        is_char = is_char && tokens.is_sign(k, ',');
    }
    return usual;
}

[[nodiscard]] bool are_usual(const TokenList& tokens, std::size_t open, std::size_t close, std::size_t body) {
    const std::vector<Parameter> all = parameters(tokens, open, close);
    if (all.empty() || (all.size() == 1 && tokens.word(all[0].first) == "void" && tokens.next(all[0].first) == close))
        return true;
    // Of a K&R definition names alone, or a prototype's `...` at the end.
    const auto one_token = [&](const Parameter& one) { return tokens.next(one.first) == one.last; };
    if (std::all_of(all.begin(), all.end(),
                    [&](const Parameter& one) { return one_token(one) && !is_type_of_c(tokens.word(one.first)); }))
        return are_usual_declarations(tokens, tokens.next(close), body);
    if (!is_count(tokens, all[0])) return false;
    return std::all_of(all.begin() + 1, all.end(),
                       [&](const Parameter& one) { return tokens.is_sign(one.first, '.') || is_list(tokens, one); });
}

} // namespace

std::optional<OddMain> odd_main(const TokenList& tokens) {
    OddMain found{{}, 0, true};
    bool odd = false;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        // Of bodies and members only the names count.
        if (!tokens.is_name(k) || tokens.word(k) != "main" || tokens[k].system) continue;
        const std::size_t before = k == 0 ? k : tokens.previous(k);
        if (tokens.is_sign(before, '.') || (tokens.is_sign(before, '>') && tokens.is_sign(before - 1, '-'))) continue;
        found.names.push_back(k);
        const std::size_t open = tokens.next(k);
        if (!tokens.is_sign(open, '(') || found.end != 0) continue;
        const std::size_t close = tokens.closing(open);
        // Declarations of K&R parameters may precede the body.
        std::size_t body = tokens.next(close);
        if (!tokens.is_sign(body, '{')) {
            if (!tokens.is_name(body)) continue;
            while (body < tokens.size() && !tokens.is_sign(body, '{') && !tokens.is_sign(body, '=') &&
                   !tokens.is_sign(body, ')'))
                body = tokens.next(body);
            if (!tokens.is_sign(body, '{') || !tokens.is_sign(tokens.previous(body), ';')) continue;
        }
        found.end = tokens.closing(body);
        odd = !are_usual(tokens, open, close, body);
        for (std::size_t word = k; word > 0;) {
            word = tokens.previous(word);
            if (!tokens.is_name(word) && !tokens.is_sign(word, '*')) break;
            if (tokens.word(word) == "void") odd = true, found.returns = false;
            if (tokens.word(word) == "static" || tokens.word(word) == "inline") odd = true;
        }
    }
    return odd && found.end != 0 && found.end < tokens.size() ? std::optional{found} : std::nullopt;
}

std::string caller_of(const OddMain& odd) {
    // Without a prototype: it takes as many of the arguments as it has parameters.
    const std::string call =
        std::string{"(("} + (odd.returns ? "int" : "void") + " (*)())" + odd_main_name + ")(argc, argv, environment);";
    return "int main(int argc, char** argv, char** environment) { " +
           (odd.returns ? "return " + call : call + " return 0;") + " }\n";
}

} // namespace upcc
