// Room: datatype
#pragma once

#include <lapwing/extents.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

namespace lapwing {

namespace detail::datatype {
[[noreturn]] void throw_stride(std::int64_t stride);
} // namespace detail::datatype

/// A set of indices of one dimension: first, first + stride, …, last; `size()` of them.
///
/// `Range{2, 8}` is half-open: 2, 3, 4, 5, 6, 7. `Range{2, 8}.by(3)` is 2, 5. Two ranges are equal when they hold the
/// same indices.
class Range {
public:
    /// The empty range.
    constexpr Range() noexcept = default;

    /// [begin, end); empty if end <= begin. Throws RangeError if a bound is above 2^63 - 1.
    template <IndexValue B, IndexValue E>
    constexpr Range(B begin, E end) {
        const std::int64_t low = detail::datatype::checked_index(begin);
        const std::int64_t high = detail::datatype::checked_index(end);
        // Unsigned, because the distance of two 64-bit indices may be above 2^63.
        if (low < high) *this = strided(low, static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low), 1);
    }

    /// `size` indices starting at `first`, `stride` (at least 1) apart. The last one must fit into 64 bits.
    [[nodiscard]] static constexpr Range strided(std::int64_t first, std::uint64_t size, std::int64_t stride) noexcept {
        Range range;
        if (size == 0) return range;
        range.first_ = first;
        range.size_ = size;
        range.stride_ = size == 1 ? 1 : stride;
        return range;
    }

    /// Every `stride`-th index of this range, starting with its first. Throws RangeError if stride < 1, or if the
    /// distance of neighbours would be above 2^63 - 1.
    template <IndexValue S>
    [[nodiscard]] constexpr Range by(S stride) const {
        const std::int64_t step = detail::datatype::checked_index(stride);
        if (step < 1) detail::datatype::throw_stride(step);
        const std::uint64_t size = size_ == 0 ? 0 : (size_ - 1) / static_cast<std::uint64_t>(step) + 1;
        if (size < 2) return strided(first_, size, 1);
        if (step > std::numeric_limits<std::int64_t>::max() / stride_) detail::datatype::throw_stride(step);
        return strided(first_, size, stride_ * step);
    }

    /// Whether it holds no index; and how many it holds.
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] constexpr std::uint64_t size() const noexcept { return size_; }
    /// Smallest and largest index. Only for ranges that are not empty.
    [[nodiscard]] constexpr std::int64_t first() const noexcept { return first_; }
    [[nodiscard]] constexpr std::int64_t last() const noexcept { return (*this)[size_ - 1]; }
    /// Distance between neighbours; 1 for ranges of fewer than two indices.
    [[nodiscard]] constexpr std::int64_t stride() const noexcept { return stride_; }

    /// The index at `position`, which must be below size().
    [[nodiscard]] constexpr std::int64_t operator[](std::uint64_t position) const noexcept {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(first_) +
                                         position * static_cast<std::uint64_t>(stride_));
    }

    /// Whether the index is in this range.
    [[nodiscard]] constexpr bool contains(std::int64_t index) const noexcept {
        if (size_ == 0 || index < first_) return false;
        const std::uint64_t distance = static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(first_);
        if (stride_ == 1) return distance < size_;
        const auto step = static_cast<std::uint64_t>(stride_);
        return distance % step == 0 && distance / step < size_;
    }
    /// Whether every index of `other` is in this range.
    [[nodiscard]] constexpr bool contains(const Range& other) const noexcept {
        if (other.empty()) return true;
        return contains(other.first()) && contains(other.last()) && (other.size() < 2 || other.stride_ % stride_ == 0);
    }

    /// The indices that are in both.
    [[nodiscard]] Range intersect(const Range& other) const noexcept;
    /// Every index moved by `distance`. Throws RangeError if one would not fit into 64 bits.
    [[nodiscard]] Range shift(std::int64_t distance) const;
    /// `count` more indices at both ends, stride() apart, or -count fewer: `Range{2, 8}.expand(1)` is [1, 9). An empty
    /// range stays empty. Throws RangeError if an index would not fit into 64 bits.
    [[nodiscard]] Range expand(std::int64_t count) const;

    friend constexpr bool operator==(const Range&, const Range&) = default;

    class iterator {
    public:
        using value_type = std::int64_t;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::forward_iterator_tag;

        constexpr iterator() noexcept = default;
        constexpr explicit iterator(const Range& range) noexcept
            : index_{range.first_}, stride_{range.stride_}, left_{range.size_} {}

        constexpr std::int64_t operator*() const noexcept { return index_; }
        constexpr iterator& operator++() noexcept {
            // Not past the last index, which may be the largest of 64 bits.
            if (--left_ != 0) index_ += stride_;
            return *this;
        }
        constexpr iterator operator++(int) noexcept {
            iterator before = *this;
            ++*this;
            return before;
        }
        friend constexpr bool operator==(const iterator&, const iterator&) noexcept = default;
        friend constexpr bool operator==(const iterator& position, std::default_sentinel_t) noexcept {
            return position.left_ == 0;
        }

    private:
        std::int64_t index_ = 0;
        std::int64_t stride_ = 1;
        std::uint64_t left_ = 0;
    };

    /// For loops: each index, in ascending order.
    [[nodiscard]] constexpr iterator begin() const noexcept { return iterator{*this}; }
    [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

private:
    std::int64_t first_ = 0;
    std::int64_t stride_ = 1;
    std::uint64_t size_ = 0;
};

/// "[2, 8)" or "[2, 8) by 3".
[[nodiscard]] std::string to_string(const Range& range);

} // namespace lapwing
