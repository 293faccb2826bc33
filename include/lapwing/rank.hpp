// Room: support
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace lapwing {

/// A process of a team, numbered from 0. A type of its own, so that a rank is never mistaken for a count or an offset.
struct Rank {
    int value = 0;

    constexpr Rank() = default;
    constexpr explicit Rank(int rank) : value{rank} {}

    friend constexpr auto operator<=>(Rank, Rank) = default;
};

/// A distance in bytes from the start of a rank's part of a window.
struct Offset {
    std::uint64_t bytes = 0;

    constexpr Offset() = default;
    constexpr explicit Offset(std::uint64_t offset_bytes) : bytes{offset_bytes} {}

    /// The offset of element `index` of an array of T that starts at offset 0. An index whose offset 64 bits cannot hold
    /// gives the largest one, which lies outside of every window.
    template <class T>
    [[nodiscard]] static constexpr Offset of(std::uint64_t index) {
        constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
        return Offset{index <= largest / sizeof(T) ? index * sizeof(T) : largest};
    }

    friend constexpr auto operator<=>(Offset, Offset) = default;
};

} // namespace lapwing
