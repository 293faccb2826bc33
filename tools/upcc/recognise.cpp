// Which sources are UPC, and need what headers.
#include "prepass.hpp"

#include "token_list.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

namespace upcc {

namespace {

struct Header {
    std::string_view file;
    std::string_view type; ///< that no other header declares
    bool known = false;
    bool missed = false;
};

[[nodiscard]] bool is_function_of_upc(std::string_view name) {
    static const std::set<std::string_view> functions{
        "upc_all_alloc", "upc_global_alloc", "upc_alloc",     "upc_local_alloc", "upc_free",
        "upc_threadof",  "upc_phaseof",      "upc_addrfield", "upc_memcpy",      "upc_memget",
        "upc_memput",    "upc_memset",       "upc_lock",      "upc_unlock",      "upc_global_exit"};
    return functions.contains(name);
}

/// The headers that a source includes, and those whose names it uses without.
class HeadersUsed {
public:
    void include(std::string_view file) {
        for_c_ = for_c_ || file.ends_with("/bupc_extern.h");
        const bool integers = file.ends_with("/stdint.h") || file.ends_with("/stdint-uintn.h");
        for (Header& header : headers_)
            header.known = header.known || file.ends_with("/" + std::string{header.file}) ||
                           (integers && header.type == "uint64_t");
    }

    /// `defines`: the name is that of a typedef; `outside`: of braces and parentheses.
    void use(std::string_view name, bool defines, bool outside) {
        const bool declares_function = outside && is_function_of_upc(name);
        for (Header& header : headers_) {
            if (header.known || own_.contains(name) || !declares(header, name)) continue;
            // `typedef long upc_tick_t;` is the program's own, and says nothing about Berkeley's other names.
            if (defines && !declares_function && header.type.empty()) {
                own_.insert(name);
                continue;
            }
            header.known = true;
            header.missed = !defines && !declares_function;
        }
    }

    [[nodiscard]] std::vector<std::string> missed() const {
        std::vector<std::string> missed;
        for (const Header& header : headers_)
            if (header.missed) missed.emplace_back(header.file);
        return missed;
    }

private:
    [[nodiscard]] bool declares(const Header& header, std::string_view name) const {
        if (header.type == "uint64_t")
            return name == "uint8_t" || name == "uint16_t" || name == "uint32_t" || name == header.type;
        if (header.file == "upc.h" && is_function_of_upc(name)) return true;
        if (!header.type.empty()) return name == header.type;
        const bool of_c = name.starts_with("bupc_extern_") || name.starts_with("bupc_init") || name == "bupc_exit";
        const bool collective = name.starts_with("bupc_all_reduce_all"); // of upc_collective.h
        return (name.starts_with("bupc_") || name.starts_with("BUPC_")) && !(of_c && for_c_) && !collective;
    }

    // Berkeley's comes first, whose names are functions and macros too.
    std::array<Header, 8> headers_{{{"bupc_extensions.h", {}},
                                    {"upc_atomic.h", "upc_atomicdomain_t"},
                                    {"upc_tick.h", "upc_tick_t"},
                                    {"upc_nb.h", "upc_handle_t"},
                                    {"upc_io.h", "upc_file_t"},
                                    {"upc_castable.h", "upc_thread_info_t"},
                                    {"upc.h", "upc_lock_t"},
                                    {"lapwing_upcc_integers.h", "uint64_t"}}};
    std::set<std::string_view> own_; ///< of Berkeley's names: types of the program's
    bool for_c_ = false;             ///< includes bupc_extern.h, which is for C, and declares some of them
};

} // namespace

std::vector<std::string> headers_missed(std::string_view preprocessed) {
    if (preprocessed.find("upc_") == preprocessed.npos && preprocessed.find("BUPC_") == preprocessed.npos) return {};
    HeadersUsed headers;
    bool in_typedef = false;
    int depth = 0; // of braces and parentheses
    const std::vector<Token> tokens = tokens_of(preprocessed);
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        const std::string_view text = preprocessed.substr(tokens[k].begin, tokens[k].end - tokens[k].begin);
        LineMarker marker;
        if (tokens[k].kind == TokenKind::directive && read_line_marker(text, marker)) headers.include(marker.file);
        else if (tokens[k].kind == TokenKind::name) {
            in_typedef = in_typedef || text == "typedef";
            const char after = k + 1 < tokens.size() ? preprocessed[tokens[k + 1].begin] : '\0';
            headers.use(text, in_typedef && depth == 0 && (after == ';' || after == ',' || after == '['), depth == 0);
        } else if (text == "{" || text == "(") ++depth;
        else if (text == "}" || text == ")") --depth;
        else if (text == ";" && depth == 0) in_typedef = false;
    }
    return headers.missed();
}

std::vector<std::string> library_names_taken(std::string_view preprocessed) {
    // Functions that Clang knows without a declaration, and whose names suit variables.
    static const std::set<std::string_view> functions{
        "abs",  "alloca", "bcmp",  "bcopy", "bzero",  "cbrt",      "ceil",   "conj", "cos",   "cosh",
        "erf",  "exit",   "exp",   "exp2",  "fabs",   "fdim",      "floor",  "fma",  "fmax",  "fmin",
        "fmod", "frexp",  "hypot", "index", "labs",   "ldexp",     "lgamma", "log",  "log10", "log2",
        "logb", "lrint",  "modf",  "nan",   "pow",    "remainder", "rindex", "rint", "round", "sin",
        "sinh", "sqrt",   "tan",   "tanh",  "tgamma", "trunc"};
    std::set<std::string_view> used, called, defined;
    const TokenList tokens{preprocessed};
    int braces = 0;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        if (tokens.is_sign(k, '{')) ++braces;
        if (tokens.is_sign(k, '}')) --braces;
        const std::string_view text = tokens.word(k);
        if (!tokens.is_name(k) || !functions.contains(text)) continue;
        const std::size_t after = tokens.next(k);
        const bool call = tokens.is_sign(after, '(');
        if (braces == 0 && call && !tokens[k].system && tokens.is_sign(tokens.next(tokens.closing(after)), '{'))
            defined.insert(text);
        if (tokens[k].system || call) called.insert(text);
        else used.insert(text);
    }
    std::vector<std::string> taken;
    for (const std::string_view name : functions)
        if (defined.contains(name) || (used.contains(name) && !called.contains(name))) taken.emplace_back(name);
    return taken;
}

std::string declarations_missed(const TokenList& tokens) {
    std::set<std::string_view> declared, called;
    std::map<std::string_view, bool> missed; // whether it is static
    int braces = 0, parentheses = 0;
    bool is_static = false; // of the declaration at file scope
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        if (tokens.is_sign(k, '{')) ++braces;
        if (tokens.is_sign(k, '}')) --braces;
        if (tokens.is_sign(k, '(')) ++parentheses;
        if (tokens.is_sign(k, ')')) --parentheses;
        if (braces == 0 && (tokens.is_sign(k, ';') || tokens.is_sign(k, '}'))) is_static = false;
        if (!tokens.is_name(k)) continue;
        const std::string_view name = tokens.word(k);
        if (braces == 0 && name == "static") is_static = true;
        if (k == 0 || !tokens.is_sign(tokens.next(k), '(') || declared.contains(name)) continue;
        const std::string_view before = tokens.word(tokens.previous(k));
        const bool at_file_scope = braces == 0 && parentheses == 0;
        const bool declares = at_file_scope || (tokens.is_name(tokens.previous(k)) && before != "return" &&
                                                before != "else" && before != "do" && before != "case");
        if (!declares) {
            called.insert(name);
            continue;
        }
        declared.insert(name);
        if (at_file_scope && before == "void" && called.contains(name)) missed.emplace(name, is_static);
    }
    std::string text;
    for (const auto& [name, is_static_one] : missed)
        text += (is_static_one ? "static void " : "void ") + std::string{name} + "();\n";
    return text;
}

std::vector<std::pair<std::size_t, std::size_t>> types_redefined(const TokenList& tokens) {
    struct Definition {
        std::size_t first, last;
        std::string text;
    };
    std::map<std::string_view, Definition> in_upc_h;
    std::map<std::string_view, std::string> own;
    std::vector<std::pair<std::size_t, std::size_t>> redefined;
    bool here = false; // in upc.h
    int depth = 0;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        LineMarker marker;
        if (tokens[k].kind == TokenKind::directive && read_line_marker(tokens.word(k), marker))
            here = marker.file.ends_with("/upc.h");
        if (tokens.opens(k)) ++depth;
        if (tokens.closes(k)) --depth;
        if (depth != 0 || (tokens[k].system && !here) || tokens.word(k) != "typedef") continue;
        Definition one{k, k, {}};
        for (; one.last < tokens.size() && !tokens.is_sign(one.last, ';'); one.last = tokens.next(one.last)) {
            if (tokens.opens(one.last)) one.last = tokens.closing(one.last);
            one.text.append(tokens.word(one.last)) += ' ';
        }
        if (one.last >= tokens.size()) break;
        const std::string_view name = tokens.word(tokens.previous(one.last));
        if (!here) own.emplace(name, one.text);
        else if (!name.starts_with("upc_")) in_upc_h.emplace(name, one);
    }
    for (const auto& [name, one] : in_upc_h)
        if (const auto other = own.find(name); other != own.end() && other->second != one.text)
            redefined.emplace_back(one.first, one.last);
    return redefined;
}

namespace {

/// What a source says about the names that are keywords in UPC and may be a program's own names in C.
class Keywords {
public:
    explicit Keywords(const TokenList& tokens) : tokens_{tokens} {}

    void see(std::size_t name) {
        if (tokens_.word(name) == "shared") shared(name);
        if (tokens_.word(name) == "THREADS") threads(name);
    }
    /// `shared int`, `shared [4] int`: in C no type follows.
    [[nodiscard]] bool certain() const { return certain_; }
    [[nodiscard]] bool likely() const { return (qualifies_ && !names_) || (uses_threads_ && !declares_threads_); }

private:
    [[nodiscard]] static bool is_type(std::string_view word) {
        static const std::set<std::string_view> types{"char",   "short",  "int",   "long",    "float",
                                                      "double", "signed", "void",  "struct",  "unsigned",
                                                      "strict", "union",  "const", "volatile"};
        return types.contains(word);
    }
    [[nodiscard]] bool is_one_of(std::size_t token, std::string_view signs) const {
        return std::any_of(signs.begin(), signs.end(), [&](char sign) { return tokens_.is_sign(token, sign); });
    }
    void shared(std::size_t k) {
        static const std::set<std::string_view> tags{"struct", "union", "enum", "goto"};
        const std::size_t before = k == 0 ? tokens_.size() : tokens_.previous(k), next = tokens_.next(k);
        const bool bracket = tokens_.is_sign(next, '[');
        const std::size_t after = bracket ? tokens_.next(tokens_.closing(next)) : next;
        certain_ = certain_ || (tokens_.is_name(after) && is_type(tokens_.word(after)));
        const bool tag = before < tokens_.size() && tags.contains(tokens_.word(before));
        names_ = names_ || tag || is_one_of(next, ";,=)");
        // `shared word x`, `int shared *p`: also of types with names of their own.
        const bool of_type = before < tokens_.size() && is_type(tokens_.word(before)) && tokens_.is_sign(after, '*');
        qualifies_ = qualifies_ || tokens_.is_name(after) || of_type;
    }
    /// Whether the name before a `*` is a type, in a declaration.
    [[nodiscard]] bool declares_pointer(std::size_t type) const {
        if (is_type(tokens_.word(type))) return true;
        if (!tokens_.is_name(type)) return false;
        if (type == 0) return true;
        const std::size_t before = tokens_.previous(type);
        return is_one_of(before, ";{}") || tokens_.word(before) == "extern" || tokens_.word(before) == "static";
    }
    /// Whether the innermost braces around a token are those of an enumeration.
    [[nodiscard]] bool is_in_enum(std::size_t k) const {
        for (int depth = 0; k > 0;) {
            k = tokens_.previous(k);
            if (tokens_.is_sign(k, '}')) ++depth;
            if (!tokens_.is_sign(k, '{') || depth-- > 0) continue;
            if (k == 0) return false;
            const std::size_t name = tokens_.previous(k);
            return tokens_.word(name) == "enum" || (name > 0 && tokens_.word(tokens_.previous(name)) == "enum");
        }
        return false;
    }
    void threads(std::size_t k) {
        static const std::set<std::string_view> not_types{"return", "case", "else", "do", "sizeof"};
        if (k == 0) return;
        const std::size_t before = tokens_.previous(k), next = tokens_.next(k);
        const bool assigned = tokens_.is_sign(next, '=') && !tokens_.is_sign(tokens_.next(next), '=');
        const bool typed = tokens_.is_name(before) && !not_types.contains(tokens_.word(before));
        const bool pointer = tokens_.is_sign(before, '*') && before > 0 && declares_pointer(tokens_.previous(before));
        const bool listed = tokens_.is_sign(before, ',') && is_one_of(next, ";[");
        const bool member = tokens_.is_sign(before, '.') ||
                            (tokens_.is_sign(before, '>') && tokens_.is_sign(tokens_.previous(before), '-'));
        const bool enumerator = is_one_of(before, "{,") && is_one_of(next, ",}") && is_in_enum(k);
        if (assigned || typed || pointer || listed || enumerator) declares_threads_ = true;
        else if (!member && !is_one_of(before, "{,")) uses_threads_ = true;
    }

    const TokenList& tokens_;
    bool certain_ = false, qualifies_ = false, names_ = false;
    bool uses_threads_ = false, declares_threads_ = false;
};

} // namespace

std::string with_old_keywords(const std::string& preprocessed) {
    static const std::set<std::string_view> old{"forall", "barrier", "notify", "wait", "fence"};
    const TokenList tokens{preprocessed};
    std::string out;
    std::size_t done = 0;
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        const std::size_t before = k == 0 ? tokens.size() : tokens.previous(k);
        const bool member = tokens.is_sign(before, '.') || tokens.is_sign(before, '>');
        if (!tokens.is_name(k) || tokens[k].system || member || !old.contains(tokens.word(k))) continue;
        out.append(preprocessed, done, tokens[k].begin - done).append("upc_");
        done = tokens[k].begin;
    }
    return out.append(preprocessed, done, preprocessed.npos);
}

bool is_upc(std::string_view preprocessed) {
    static const std::set<std::string_view> words{"upc_forall", "upc_barrier",     "upc_notify",      "upc_wait",
                                                  "upc_fence",  "upc_localsizeof", "upc_blocksizeof", "upc_elemsizeof",
                                                  "MYTHREAD",   "upc_lock_t"};
    static const std::set<std::string_view> headers{"upc.h", "upc_relaxed.h", "upc_strict.h", "upc_collective.h"};
    const TokenList tokens{preprocessed};
    Keywords keywords{tokens};
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        if (tokens.is_name(k) && !tokens[k].system) {
            if (words.contains(tokens.word(k))) return true;
            keywords.see(k);
        }
        LineMarker marker;
        if (tokens[k].kind == TokenKind::directive && read_line_marker(tokens.word(k), marker) &&
            headers.contains(marker.file.substr(marker.file.rfind('/') + 1)))
            return true;
    }
    return keywords.certain() || keywords.likely();
}

std::uint64_t prime_for_threads(std::string_view preprocessed) {
    std::set<std::uint64_t> taken;
    for (const Token& token : tokens_of(preprocessed)) {
        if (token.kind != TokenKind::number || token.end - token.begin < 6) continue;
        const std::string text{preprocessed.substr(token.begin, token.end - token.begin)};
        const std::uint64_t value = std::strtoull(text.c_str(), nullptr, 0);
        for (const std::uint64_t prime : primes_for_threads)
            if (value != 0 && value % prime == 0) taken.insert(prime);
    }
    for (const std::uint64_t prime : primes_for_threads)
        if (!taken.contains(prime)) return prime;
    return primes_for_threads[0];
}

} // namespace upcc
