#pragma once

#include "../scattered.hpp"

#include <bit>
#include <cstdint>

/// Random numbers by their place in a stream: each rank makes those of its part of an input, and a check makes them
/// again anywhere.
namespace lapwing::bench::irregular {

/// Number `i` of a stream.
[[nodiscard]] constexpr std::uint64_t random_number(std::uint64_t stream, std::uint64_t i) {
    return scattered(scattered(stream) + i);
}

/// The same, below `bound`.
[[nodiscard]] constexpr std::uint32_t random_below(std::uint32_t bound, std::uint64_t stream, std::uint64_t i) {
    return static_cast<std::uint32_t>((random_number(stream, i) >> 32) * bound >> 32);
}

/// A permutation of the numbers below `n`, at `i`: a Feistel network of four rounds, repeated until the value is below
/// n (Black, Rogaway, Ciphers with Arbitrary Finite Domains, 2002).
[[nodiscard]] constexpr std::uint32_t shuffled(std::uint32_t n, std::uint64_t stream, std::uint32_t i) {
    const int half = (std::bit_width(n - 1) + 1) / 2;
    const std::uint32_t mask = (1U << half) - 1;
    do {
        std::uint32_t left = i >> half;
        std::uint32_t right = i & mask;
        for (std::uint64_t round = 0; round < 4; ++round) {
            const std::uint32_t next =
                left ^ (static_cast<std::uint32_t>(random_number(4 * stream + round, right)) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

} // namespace lapwing::bench::irregular
