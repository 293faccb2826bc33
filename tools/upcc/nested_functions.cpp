#include "nested_functions.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace upcc {

namespace {

[[nodiscard]] bool is_storage(std::string_view word) {
    return word == "auto" || word == "static" || word == "inline" || word == "__inline" || word == "__inline__" ||
           word == "register" || word == "extern";
}

/// A definition in a function: its tokens.
struct Nested {
    std::size_t first; ///< of its specifiers
    std::size_t name;
    std::size_t open, close; ///< around the parameters
    std::size_t body, end;   ///< its braces
};

/// The first token of what precedes a declarator's name in its declaration; the name where there is no type.
[[nodiscard]] std::size_t specifiers_of(const TokenList& tokens, std::size_t name) {
    static const std::set<std::string_view> statements{"return", "else", "do", "case", "goto", "default", "sizeof"};
    std::size_t first = name;
    for (std::size_t k = name; k > 0;) {
        k = tokens.previous(k);
        if (tokens.is_sign(k, ']')) k = tokens.opening(k); // of `shared [4]`
        else if (!tokens.is_sign(k, '*') && (!tokens.is_name(k) || statements.contains(tokens.word(k)))) break;
        first = k;
    }
    return first;
}

[[nodiscard]] bool begins_statement(const TokenList& tokens, std::size_t token) {
    const std::size_t before = tokens.previous(token);
    return tokens.is_sign(before, ';') || tokens.is_sign(before, '{') || tokens.is_sign(before, '}') ||
           tokens.is_sign(before, ':');
}

[[nodiscard]] std::vector<Nested> nested_functions(const TokenList& tokens) {
    static const std::set<std::string_view> statements{"if",         "for",    "while",         "switch",
                                                       "upc_forall", "sizeof", "__attribute__", "return"};
    std::vector<Nested> found;
    std::size_t function_end = 0; // of the one at file scope
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        if (!tokens.is_sign(k, '{') || k == 0 || tokens[k].system) continue;
        if (k > function_end) {
            const std::size_t before = tokens.previous(k);
            // After K&R parameters a semicolon.
            if (tokens.is_sign(before, ')') || tokens.is_sign(before, ';')) function_end = tokens.closing(k);
            else k = tokens.closing(k);
            continue;
        }
        const std::size_t close = tokens.previous(k);
        if (!tokens.is_sign(close, ')')) continue;
        const std::size_t open = tokens.opening(close), name = tokens.previous(open);
        if (!tokens.is_name(name) || statements.contains(tokens.word(name))) continue;
        const std::size_t first = specifiers_of(tokens, name);
        const std::size_t end = tokens.closing(k);
        if (first != name && begins_statement(tokens, first) && end < tokens.size())
            found.push_back({first, name, open, close, k, end});
    }
    return found;
}

class Rewriting {
public:
    Rewriting(const TokenList& tokens, Rewrites& rewrites) : tokens_{tokens}, rewrites_{rewrites} {}

    void one(const Nested& nested, std::size_t number) {
        const std::string result = result_prefix + std::to_string(number);
        rename(nested, nested_prefix + std::to_string(number) + "_" + std::string{tokens_.word(nested.name)});
        std::string stars;
        bool is_void = true;
        for (std::size_t k = nested.first; k != nested.name; k = tokens_.next(k)) {
            if (tokens_.is_sign(k, '*')) stars += '*';
            else if (is_storage(tokens_.word(k))) rewrites_.replace(k, "");
            else if (tokens_.word(k) != "void") is_void = false;
        }
        is_void = is_void && stars.empty();
        const std::string with_result = is_void ? "" : ", " + stars + result + " __attribute__((unused))";
        rewrites_.replace(nested.open, "()" + with_result + "; if (" + nested_marker + "(" + name_ + ")) { ");
        parameters(nested);
        rewrites_.replace(nested.close, "; ");
        returns(nested, is_void ? "" : result);
        rewrites_.replace(nested.end, "} }");
    }

private:
    /// Several functions may have functions of one name.
    void rename(const Nested& nested, std::string name) {
        name_ = std::move(name);
        const std::size_t block = tokens_.brace_around(nested.first);
        const std::size_t last = std::min(tokens_.closing(block), tokens_.size() - 1);
        for (std::size_t k = block; k <= last; ++k) {
            if (tokens_.word(k) == "register") rewrites_.replace(k, ""); // its address is taken
            if (!tokens_.is_name(k) || tokens_.word(k) != tokens_.word(nested.name)) continue;
            const std::size_t before = tokens_.previous(k);
            if (tokens_.is_sign(before, '.') || (tokens_.is_sign(before, '>') && tokens_.is_sign(before - 1, '-')))
                continue;
            rewrites_.replace(k, name_);
            // GNU C declares it by `auto int f(int);`.
            for (std::size_t word = before; word > 0 && (tokens_.is_name(word) || tokens_.is_sign(word, '*'));
                 word = tokens_.previous(word))
                if (tokens_.word(word) == "auto") rewrites_.replace(word, "");
        }
    }

    /// Declarations of variables.
    void parameters(const Nested& nested) {
        const std::size_t only = tokens_.next(nested.open);
        if (tokens_.word(only) == "void" && tokens_.next(only) == nested.close) return rewrites_.replace(only, "");
        for (std::size_t k = only; k < nested.close; k = tokens_.next(k)) {
            if (tokens_.is_sign(k, ',')) rewrites_.replace(k, ";");
            const std::size_t name = tokens_.previous(k);
            if (tokens_.is_sign(k, '[') && tokens_.is_name(name) && tokens_.word(name) != "shared" &&
                !rewrites_.is_replaced(k)) {
                const std::size_t last = std::min(tokens_.closing(k), nested.close - 1);
                for (std::size_t inside = k; inside <= last; ++inside) rewrites_.replace(inside, "");
                rewrites_.replace(name, "(*" + std::string{tokens_.word(name)} + ")");
            }
            if (tokens_.opens(k)) k = tokens_.closing(k);
        }
    }

    void returns(const Nested& nested, const std::string& result) {
        for (std::size_t k = nested.body; k < nested.end; ++k) {
            if (tokens_.word(k) != "return" || rewrites_.is_replaced(k)) continue; // else of a function in this one
            std::size_t end = tokens_.next(k);
            const bool has_value = !tokens_.is_sign(end, ';');
            while (end < nested.end && !tokens_.is_sign(end, ';'))
                end = std::min(tokens_.next(tokens_.opens(end) ? tokens_.closing(end) : end), nested.end);
            std::string text = return_marker;
            if (has_value) {
                text += result.empty() ? ", (" : ", " + result + " = (";
                rewrites_.before(end) += ")";
            }
            rewrites_.replace(k, text);
        }
    }

    const TokenList& tokens_;
    Rewrites& rewrites_;
    std::string name_;
};

} // namespace

void rewrite_nested_functions(const TokenList& tokens, Rewrites& rewrites) {
    const std::vector<Nested> found = nested_functions(tokens);
    // From the inside out.
    for (std::size_t k = found.size(); k-- > 0;) Rewriting{tokens, rewrites}.one(found[k], k);
}

} // namespace upcc
