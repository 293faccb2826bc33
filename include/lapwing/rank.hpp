// Room: support
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace lapwing {

/// Integers as programs count with them, signed or not.
template <class I>
concept Integer = std::integral<I> && !std::same_as<std::remove_cv_t<I>, bool>;

/// A process of a team, numbered from 0. Every call that takes a rank takes an integer as well, of any type:
/// `window.put(1, 0, x)`. What Lapwing gives is a Rank, which is a type of its own, so that it is never taken for a
/// count or an offset: it compares with numbers (`if (runtime.rank() == 0)`), and becomes one by `value` only.
struct Rank {
    int value = 0; ///< below 0: no rank

    constexpr Rank() = default;
    /// A number that an int cannot hold is no rank of any team, and becomes one that is none: -1.
    template <Integer I>
    constexpr Rank(I rank) : value{std::in_range<int>(+rank) ? static_cast<int>(rank) : -1} {}

    friend constexpr auto operator<=>(Rank, Rank) = default;
    friend constexpr bool operator==(Rank, Rank) = default;
    template <Integer I>
    friend constexpr bool operator==(Rank rank, I number) {
        return std::cmp_equal(rank.value, +number);
    }
    template <Integer I>
    friend constexpr std::strong_ordering operator<=>(Rank rank, I number) {
        if (std::cmp_less(rank.value, +number)) return std::strong_ordering::less;
        return std::cmp_equal(rank.value, +number) ? std::strong_ordering::equal : std::strong_ordering::greater;
    }
};

/// A distance in bytes from the start of a rank's part of a window. Every call that takes one takes an integer as well,
/// which counts bytes: `Offset::of<double>(i)` is that of an element. No Rank becomes an Offset.
struct Offset {
    std::uint64_t bytes = 0; ///< from the start of the part

    constexpr Offset() = default;
    /// A negative number lies outside of every window, as it should, and is told as it was written.
    template <Integer I>
    constexpr Offset(I offset_bytes) : bytes{static_cast<std::uint64_t>(offset_bytes)} {}

    /// The offset of element `index` of an array of T that starts at offset 0. An index whose offset 64 bits cannot
    /// hold gives the largest one, which lies outside of every window, and a negative index one that does, too.
    template <class T, Integer I>
    [[nodiscard]] static constexpr Offset of(I index) {
        constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
        if constexpr (std::is_signed_v<I>) {
            constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
            if (index < 0) {
                const auto wide = static_cast<std::int64_t>(index);
                return Offset{wide >= lowest / static_cast<std::int64_t>(sizeof(T))
                                  ? wide * static_cast<std::int64_t>(sizeof(T))
                                  : lowest};
            }
        }
        const auto place = static_cast<std::uint64_t>(index);
        return Offset{place <= largest / sizeof(T) ? place * sizeof(T) : largest};
    }

    friend constexpr auto operator<=>(Offset, Offset) = default;
};

} // namespace lapwing
