// Room: datatype
#pragma once

#include <lapwing/extents.hpp>
#include <lapwing/range.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

namespace lapwing {

namespace detail::datatype {
/// Product of the sizes of the ranges. Throws RangeError when it is above 2^64 - 1.
[[nodiscard]] std::uint64_t checked_size(const Range* ranges, std::size_t dimensions);
[[nodiscard]] std::string domain_text(const Range* ranges, std::size_t dimensions);
} // namespace detail::datatype

/// A rectangular set of N-dimensional indices: all combinations of one range per dimension, each with its own stride.
///
/// ```cpp
/// Domain<2> inner{{1, n - 1}, {1, m - 1}};
/// Domain black{Range{0, n}.by(2), Range{0, m}.by(2)};
/// for (auto [i, j] : inner.intersect(black)) …          // last dimension fastest
/// ```
template <std::size_t N>
class Domain {
    static_assert(N >= 1 && N <= max_dimensions);

public:
    /// The empty domain.
    constexpr Domain() noexcept = default;

    // One constructor a dimension, not a pack, so that `Domain<2>{{0, n}, {0, m}}` works: braces deduce no pack.

    /// One range a dimension.
    constexpr Domain(const Range& r0)
        requires(N == 1)
        : ranges_{r0} {}
    constexpr Domain(const Range& r0, const Range& r1)
        requires(N == 2)
        : ranges_{r0, r1} {}
    constexpr Domain(const Range& r0, const Range& r1, const Range& r2)
        requires(N == 3)
        : ranges_{r0, r1, r2} {}
    constexpr Domain(const Range& r0, const Range& r1, const Range& r2, const Range& r3)
        requires(N == 4)
        : ranges_{r0, r1, r2, r3} {}
    constexpr Domain(const Range& r0, const Range& r1, const Range& r2, const Range& r3, const Range& r4)
        requires(N == 5)
        : ranges_{r0, r1, r2, r3, r4} {}
    constexpr Domain(const Range& r0, const Range& r1, const Range& r2, const Range& r3, const Range& r4,
                     const Range& r5)
        requires(N == 6)
        : ranges_{r0, r1, r2, r3, r4, r5} {}
    constexpr Domain(const Range& r0, const Range& r1, const Range& r2, const Range& r3, const Range& r4,
                     const Range& r5, const Range& r6)
        requires(N == 7)
        : ranges_{r0, r1, r2, r3, r4, r5, r6} {}
    constexpr Domain(const Range& r0, const Range& r1, const Range& r2, const Range& r3, const Range& r4,
                     const Range& r5, const Range& r6, const Range& r7)
        requires(N == 8)
        : ranges_{r0, r1, r2, r3, r4, r5, r6, r7} {}
    constexpr explicit Domain(const std::array<Range, N>& ranges) : ranges_{ranges} {}

    /// Every index of an array of these extents: [0, extent) in each dimension.
    constexpr explicit Domain(const Extents<N>& extents) {
        for (std::size_t d = 0; d < N; ++d) ranges_[d] = Range{0, extents[d]};
    }

    /// Number of dimensions.
    [[nodiscard]] static constexpr std::size_t dimensions() noexcept { return N; }
    /// The same, as in std::mdspan; not a rank of a team.
    [[nodiscard]] static constexpr std::size_t rank() noexcept { return dimensions(); }
    /// The indices of one dimension, which must be less than dimensions(), and those of all.
    [[nodiscard]] constexpr const Range& range(std::size_t dimension) const { return ranges_[dimension]; }
    [[nodiscard]] constexpr const std::array<Range, N>& ranges() const noexcept { return ranges_; }

    /// Whether it holds no index.
    [[nodiscard]] constexpr bool empty() const noexcept {
        for (const Range& range : ranges_)
            if (range.empty()) return true;
        return false;
    }
    /// Number of indices. Throws RangeError if it is above 2^64 - 1.
    [[nodiscard]] std::uint64_t size() const { return detail::datatype::checked_size(ranges_.data(), N); }

    /// Smallest and largest index in each dimension. Only if it is not empty.
    [[nodiscard]] constexpr Index<N> first() const noexcept {
        Index<N> index{};
        for (std::size_t d = 0; d < N; ++d) index[d] = ranges_[d].first();
        return index;
    }
    [[nodiscard]] constexpr Index<N> last() const noexcept {
        Index<N> index{};
        for (std::size_t d = 0; d < N; ++d) index[d] = ranges_[d].last();
        return index;
    }

    /// Whether the index is in this domain.
    [[nodiscard]] constexpr bool contains(const Index<N>& index) const noexcept {
        for (std::size_t d = 0; d < N; ++d)
            if (!ranges_[d].contains(index[d])) return false;
        return true;
    }
    /// Whether every index of `other` is in this domain.
    [[nodiscard]] constexpr bool contains(const Domain& other) const noexcept {
        if (other.empty()) return true;
        for (std::size_t d = 0; d < N; ++d)
            if (!ranges_[d].contains(other.ranges_[d])) return false;
        return true;
    }

    /// The indices that are in both.
    [[nodiscard]] Domain intersect(const Domain& other) const noexcept {
        Domain result;
        for (std::size_t d = 0; d < N; ++d) result.ranges_[d] = ranges_[d].intersect(other.ranges_[d]);
        return result;
    }
    /// Every index moved by `distance`. Throws RangeError if one would not fit into 64 bits.
    [[nodiscard]] Domain shift(const Index<N>& distance) const {
        Domain result;
        for (std::size_t d = 0; d < N; ++d) result.ranges_[d] = ranges_[d].shift(distance[d]);
        return result;
    }
    /// `count` more indices (or -count fewer) at both ends of every dimension, as Range::expand: the halo of a block is
    /// `block.expand(depth).intersect(a.domain())`.
    [[nodiscard]] Domain expand(std::int64_t count) const {
        Domain result;
        for (std::size_t d = 0; d < N; ++d) result.ranges_[d] = ranges_[d].expand(count);
        return result;
    }

    /// Equal when they hold the same indices.
    friend constexpr bool operator==(const Domain& a, const Domain& b) noexcept {
        return a.ranges_ == b.ranges_ || (a.empty() && b.empty());
    }

    /// Iterates over the indices with the last dimension fastest, as the elements of a row-major array are stored.
    class iterator {
    public:
        using value_type = Index<N>;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        constexpr explicit iterator(const Domain& domain) noexcept : ranges_{domain.ranges_}, done_{domain.empty()} {
            if (done_) return;
            index_ = domain.first();
            for (std::size_t d = 0; d < N; ++d) last_[d] = ranges_[d].last();
        }

        constexpr const Index<N>& operator*() const noexcept { return index_; }
        constexpr iterator& operator++() noexcept {
            // The test for the end is in the carry only, so that the inner loop is one compare and one add.
            if (index_[N - 1] != last_[N - 1]) [[likely]] {
                index_[N - 1] += ranges_[N - 1].stride();
                return *this;
            }
            carry();
            return *this;
        }
        constexpr void operator++(int) noexcept { ++*this; }
        friend constexpr bool operator==(const iterator& position, std::default_sentinel_t) noexcept {
            return position.done_;
        }

    private:
        constexpr void carry() noexcept {
            for (std::size_t d = N - 1; d > 0; --d) {
                index_[d] = ranges_[d].first();
                if (index_[d - 1] != last_[d - 1]) {
                    index_[d - 1] += ranges_[d - 1].stride();
                    return;
                }
            }
            done_ = true;
        }

        // Copies, not a pointer to the domain: the loop's values then stay in registers.
        std::array<Range, N> ranges_;
        Index<N> index_{};
        Index<N> last_{};
        bool done_;
    };

    /// For loops over the indices, the last dimension fastest.
    [[nodiscard]] constexpr iterator begin() const noexcept { return iterator{*this}; }
    [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

private:
    std::array<Range, N> ranges_{};
};

/// The number of dimensions follows from the arguments: `Domain{Range{0, n}, Range{0, m}}`.
template <std::same_as<Range>... R>
Domain(R...) -> Domain<sizeof...(R)>;
template <std::size_t N>
Domain(std::array<Range, N>) -> Domain<N>;
template <std::size_t N>
Domain(Extents<N>) -> Domain<N>;

/// "[0, 8) x [2, 4) by 2".
template <std::size_t N>
[[nodiscard]] std::string to_string(const Domain<N>& domain) {
    return detail::datatype::domain_text(domain.ranges().data(), N);
}

} // namespace lapwing
