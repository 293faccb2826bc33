// Room: support
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace lapwing {

/// Any integer type, signed or unsigned.
template <class I>
concept Integer = std::integral<I> && !std::same_as<std::remove_cv_t<I>, bool>;

/// A process of a team, numbered from 0. Every call that takes a rank also takes an integer of any type: `window.put(1,
/// 0, x)`. Lapwing returns ranks as a type of their own, so that a rank is never mistaken for a count or an offset. It
/// compares with numbers (`if (runtime.rank() == 0)`), and converts to one only by `value`.
struct Rank {
    int value = 0; ///< below 0: no rank

    constexpr Rank() = default;
    /// A number that does not fit into an int is not a rank of any team, and becomes -1.
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

/// A distance in bytes from the start of a rank's part of a window. Every call that takes an offset also takes an
/// integer, which counts bytes: `Offset::of<double>(i)` is the offset of an element. A Rank does not convert to an
/// Offset.
struct Offset {
    std::uint64_t bytes = 0; ///< from the start of the part

    constexpr Offset() = default;
    /// A negative number is outside of every window; error messages print it as it was written.
    template <Integer I>
    constexpr Offset(I offset_bytes) : bytes{static_cast<std::uint64_t>(offset_bytes)} {}

    /// The offset of element `index` of an array of T that starts at offset 0. If the offset does not fit into 64 bits,
    /// or the index is negative, the result is outside of every window.
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
