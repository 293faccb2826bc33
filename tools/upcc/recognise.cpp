// Which sources are UPC, and need what headers.
#include "prepass.hpp"

#include <cstdlib>
#include <set>

namespace upcc {

bool names_extensions(std::string_view preprocessed) {
    if (preprocessed.find("bupc_") == preprocessed.npos && preprocessed.find("BUPC_") == preprocessed.npos)
        return false;
    bool named = false;
    for (const Token& token : tokens_of(preprocessed)) {
        const std::string_view text = preprocessed.substr(token.begin, token.end - token.begin);
        LineMarker marker;
        if (token.kind == TokenKind::directive && read_line_marker(text, marker) &&
            marker.file.ends_with("/bupc_extensions.h"))
            return false;
        named = named || (token.kind == TokenKind::name && (text.starts_with("bupc_") || text.starts_with("BUPC_")));
    }
    return named;
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
