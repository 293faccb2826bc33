#pragma once

#include <cstdint>

namespace lapwing::bench {

/// A bijection of 64-bit numbers whose values look random and are the same everywhere (SplitMix64, Steele, Lea, Flood,
/// OOPSLA 2014).
[[nodiscard]] constexpr std::uint64_t scattered(std::uint64_t i) {
    std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

} // namespace lapwing::bench
