// Which sources are UPC, and need what headers.
#include "prepass.hpp"

#include <array>
#include <cstdlib>
#include <set>

namespace upcc {

std::vector<std::string> headers_missed(std::string_view preprocessed) {
    struct Header {
        std::string_view file;
        std::string_view type; ///< that no other header declares
        bool known = false;
        bool missed = false;
    };
    // Berkeley's comes first, whose names are functions and macros too.
    std::array headers{Header{"bupc_extensions.h", {}},    Header{"upc_atomic.h", "upc_atomicdomain_t"},
                       Header{"upc_tick.h", "upc_tick_t"}, Header{"upc_nb.h", "upc_handle_t"},
                       Header{"upc_io.h", "upc_file_t"},   Header{"upc_castable.h", "upc_thread_info_t"},
                       Header{"upc.h", "upc_lock_t"}};
    if (preprocessed.find("upc_") == preprocessed.npos && preprocessed.find("BUPC_") == preprocessed.npos) return {};
    // bupc_extern.h is for C, and declares some of them.
    bool for_c = false;
    const auto declares = [&](const Header& header, std::string_view name) {
        if (!header.type.empty()) return name == header.type;
        const bool of_c = name.starts_with("bupc_extern_") || name.starts_with("bupc_init") || name == "bupc_exit";
        const bool collective = name.starts_with("bupc_all_reduce_all"); // of upc_collective.h
        return (name.starts_with("bupc_") || name.starts_with("BUPC_")) && !(of_c && for_c) && !collective;
    };
    bool in_typedef = false;
    int depth = 0;                  // of braces and parentheses
    std::set<std::string_view> own; // of Berkeley's names: types of the program's
    const std::vector<Token> tokens = tokens_of(preprocessed);
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        const std::string_view text = preprocessed.substr(tokens[k].begin, tokens[k].end - tokens[k].begin);
        LineMarker marker;
        if (tokens[k].kind == TokenKind::directive && read_line_marker(text, marker)) {
            for_c = for_c || marker.file.ends_with("/bupc_extern.h");
            for (Header& header : headers)
                header.known = header.known || marker.file.ends_with("/" + std::string{header.file});
        } else if (tokens[k].kind == TokenKind::name) {
            in_typedef = in_typedef || text == "typedef";
            // `typedef long upc_tick_t;` is the program's own, and says nothing about Berkeley's other names.
            const char after = k + 1 < tokens.size() ? preprocessed[tokens[k + 1].begin] : '\0';
            const bool defines = in_typedef && depth == 0 && (after == ';' || after == ',' || after == '[');
            for (Header& header : headers)
                if (!header.known && !own.contains(text) && declares(header, text)) {
                    if (!defines) header.missed = true;
                    else if (header.type.empty()) own.insert(text);
                    else header.known = true;
                }
        } else if (text == "{" || text == "(") ++depth;
        else if (text == "}" || text == ")") --depth;
        else if (text == ";" && depth == 0) in_typedef = false;
        for (Header& header : headers) header.known = header.known || header.missed;
    }
    std::vector<std::string> missed;
    for (const Header& header : headers)
        if (header.missed) missed.emplace_back(header.file);
    return missed;
}

std::vector<std::string> library_names_taken(std::string_view preprocessed) {
    // Functions that Clang knows without a declaration, and whose names suit variables.
    static const std::set<std::string_view> functions{
        "abs",  "alloca", "bcmp",  "bcopy", "bzero",  "cbrt",      "ceil",   "conj", "cos",   "cosh",
        "erf",  "exit",   "exp",   "exp2",  "fabs",   "fdim",      "floor",  "fma",  "fmax",  "fmin",
        "fmod", "frexp",  "hypot", "index", "labs",   "ldexp",     "lgamma", "log",  "log10", "log2",
        "logb", "lrint",  "modf",  "nan",   "pow",    "remainder", "rindex", "rint", "round", "sin",
        "sinh", "sqrt",   "tan",   "tanh",  "tgamma", "trunc"};
    std::set<std::string_view> used, called;
    const std::vector<Token> tokens = tokens_of(preprocessed);
    for (std::size_t k = 0; k < tokens.size(); ++k) {
        const std::string_view text = preprocessed.substr(tokens[k].begin, tokens[k].end - tokens[k].begin);
        if (tokens[k].kind != TokenKind::name || !functions.contains(text)) continue;
        const bool call = k + 1 < tokens.size() && preprocessed[tokens[k + 1].begin] == '(';
        if (tokens[k].system || call) called.insert(text);
        else used.insert(text);
    }
    std::vector<std::string> taken;
    for (const std::string_view name : used)
        if (!called.contains(name)) taken.emplace_back(name);
    return taken;
}

bool is_upc(std::string_view preprocessed) {
    static const std::set<std::string_view> words{"upc_forall", "upc_barrier",     "upc_notify",      "upc_wait",
                                                  "upc_fence",  "upc_localsizeof", "upc_blocksizeof", "upc_elemsizeof",
                                                  "MYTHREAD",   "upc_lock_t"};
    static const std::set<std::string_view> headers{"upc.h", "upc_relaxed.h", "upc_strict.h", "upc_collective.h"};
    static const std::set<std::string_view> types{"char",   "short",  "int",   "long",    "float",
                                                  "double", "signed", "void",  "struct",  "unsigned",
                                                  "strict", "union",  "const", "volatile"};
    enum class Behind { other, shared, bracket } behind = Behind::other;
    for (const Token& token : tokens_of(preprocessed)) {
        const std::string_view text = preprocessed.substr(token.begin, token.end - token.begin);
        if (token.kind == TokenKind::name && !token.system && words.contains(text)) return true;
        // `shared int`, `shared [4] int`: in C, where it may be a name, no type follows.
        if (behind != Behind::other && token.kind == TokenKind::name && types.contains(text)) return true;
        if (token.kind == TokenKind::name && !token.system && text == "shared") behind = Behind::shared;
        else if (behind == Behind::shared && text == "[") behind = Behind::bracket;
        else if (behind == Behind::bracket && text == "]") behind = Behind::shared;
        else if (behind != Behind::bracket) behind = Behind::other;
        LineMarker marker;
        if (token.kind == TokenKind::directive && read_line_marker(text, marker) &&
            headers.contains(marker.file.substr(marker.file.rfind('/') + 1)))
            return true;
    }
    return false;
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
