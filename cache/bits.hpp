#pragma once

#include <bit>
#include <cstdint>
#include <span>

/// Ranges of bits in arrays of words.
namespace lapwing::detail::cache {

namespace bits {

/// The bits [first, last) of one word.
[[nodiscard]] constexpr std::uint64_t word_mask(unsigned first, unsigned last) noexcept {
    return (last >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << last) - 1) & ~((std::uint64_t{1} << first) - 1);
}

/// Calls `visit(word_index, mask)` for the words that hold bits [begin, end).
template <class Visit>
constexpr void for_each_word(std::uint64_t begin, std::uint64_t end, Visit visit) {
    while (begin < end) {
        const std::uint64_t word = begin / 64;
        const std::uint64_t stop = end < (word + 1) * 64 ? end : (word + 1) * 64;
        visit(word, word_mask(static_cast<unsigned>(begin % 64), static_cast<unsigned>(stop - word * 64)));
        begin = stop;
    }
}

constexpr void set(std::span<std::uint64_t> words, std::uint64_t begin, std::uint64_t end) {
    for_each_word(begin, end, [&](std::uint64_t word, std::uint64_t mask) { words[word] |= mask; });
}
constexpr void clear(std::span<std::uint64_t> words, std::uint64_t begin, std::uint64_t end) {
    for_each_word(begin, end, [&](std::uint64_t word, std::uint64_t mask) { words[word] &= ~mask; });
}
[[nodiscard]] constexpr bool all(std::span<const std::uint64_t> words, std::uint64_t begin, std::uint64_t end) {
    bool result = true;
    for_each_word(begin, end,
                  [&](std::uint64_t word, std::uint64_t mask) { result = result && (words[word] & mask) == mask; });
    return result;
}
[[nodiscard]] constexpr bool any(std::span<const std::uint64_t> words, std::uint64_t begin, std::uint64_t end) {
    bool result = false;
    for_each_word(begin, end,
                  [&](std::uint64_t word, std::uint64_t mask) { result = result || (words[word] & mask) != 0; });
    return result;
}

/// Whether the set bits are one run, or none. (Without a bit count, which is a function call on many baseline targets.)
[[nodiscard]] constexpr bool at_most_one_run(std::span<const std::uint64_t> words) {
    std::uint64_t last = 0; // bit before the word
    bool begun = false;
    for (const std::uint64_t word : words) {
        const std::uint64_t begins = word & ~(word << 1 | last);
        last = word >> 63;
        if (begins == 0) continue;
        if (begun || (begins & (begins - 1)) != 0) return false;
        begun = true;
    }
    return true;
}

/// Calls `visit(begin, end)` for each maximal run of set bits, in order.
template <class Visit>
constexpr void for_each_run(std::span<const std::uint64_t> words, Visit visit) {
    std::uint64_t begin = 0;
    bool inside = false;
    for (std::uint64_t w = 0; w < words.size(); ++w) {
        const std::uint64_t word = words[w];
        if (word == (inside ? ~std::uint64_t{0} : 0)) continue; // no run begins or ends here
        for (unsigned at = 0; at < 64;) {
            const std::uint64_t rest = (inside ? ~word : word) >> at;
            if (rest == 0) break;
            at += static_cast<unsigned>(std::countr_zero(rest));
            if (inside) visit(begin, w * 64 + at);
            else begin = w * 64 + at;
            inside = !inside;
        }
    }
    if (inside) visit(begin, words.size() * 64);
}

} // namespace bits
} // namespace lapwing::detail::cache
