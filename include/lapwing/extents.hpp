// Room: datatype
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace lapwing {

/// The largest number of dimensions that domains and arrays can have.
inline constexpr std::size_t max_dimensions = 8;

/// One index per dimension, dimension 0 first. Signed, so that `i - 1` at the edge of an array is an index outside of
/// it, not a huge one.
template <std::size_t N>
using Index = std::array<std::int64_t, N>;

/// What other templates accept as an index.
template <class I>
concept IndexValue = std::integral<I> && !std::same_as<I, bool>;

/// What names an element of N dimensions: N integers, or one Index<N>.
template <std::size_t N, class... I>
concept IndexArguments = (sizeof...(I) == N && (IndexValue<I> && ...)) ||
                         (sizeof...(I) == 1 && (std::convertible_to<const I&, Index<N>> && ...));

namespace detail::datatype {

[[noreturn]] void throw_value_too_large(std::uint64_t value);

/// `value` as an index. Throws RangeError if it is above 2^63 - 1.
template <IndexValue I>
[[nodiscard]] constexpr std::int64_t checked_index(I value) {
    if constexpr (std::unsigned_integral<I> && sizeof(I) >= sizeof(std::int64_t)) {
        if (value > static_cast<I>(std::numeric_limits<std::int64_t>::max())) [[unlikely]]
            throw_value_too_large(static_cast<std::uint64_t>(value));
    }
    return static_cast<std::int64_t>(value);
}

/// The index that such arguments mean. An unsigned value above 2^63 becomes negative, which every check rejects, too.
template <std::size_t N, class... I>
    requires IndexArguments<N, I...>
[[nodiscard, gnu::always_inline]] constexpr Index<N> index_of(const I&... index) noexcept {
    if constexpr (sizeof...(I) == N && (IndexValue<I> && ...)) return {static_cast<std::int64_t>(index)...};
    else return (index, ...); // the only one
}

/// "(3, 9)".
[[nodiscard]] std::string index_text(const std::int64_t* index, std::size_t dimensions);

} // namespace detail::datatype

/// "(3, 9)".
template <std::size_t N>
[[nodiscard]] std::string to_string(const Index<N>& index) {
    return detail::datatype::index_text(index.data(), N);
}

/// The number of elements in each dimension: `{n, m}` of any integer types. Zero is allowed. Invalid values (negative
/// ones and, for unsigned types, those above 2^63 - 1, which become negative) are rejected where they are used: an
/// array knows the rank and the name for the message.
template <std::size_t N>
class Extents {
    static_assert(N >= 1 && N <= max_dimensions);

public:
    constexpr Extents() noexcept = default;

    /// One number a dimension.
    template <IndexValue... I>
        requires(sizeof...(I) == N)
    constexpr Extents(I... extents) noexcept : values_{static_cast<std::int64_t>(extents)...} {}

    /// The same in an array.
    template <IndexValue I>
    constexpr Extents(const std::array<I, N>& extents) noexcept {
        for (std::size_t d = 0; d < N; ++d) values_[d] = static_cast<std::int64_t>(extents[d]);
    }

    /// Elements in one dimension, which must be less than N, and in all.
    [[nodiscard]] constexpr std::int64_t operator[](std::size_t dimension) const { return values_[dimension]; }
    [[nodiscard]] constexpr const Index<N>& values() const noexcept { return values_; }

    friend constexpr bool operator==(const Extents&, const Extents&) = default;

private:
    Index<N> values_{};
};

/// The number of dimensions follows from the arguments: `Extents{n, m}`.
template <IndexValue... I>
Extents(I...) -> Extents<sizeof...(I)>;

} // namespace lapwing
