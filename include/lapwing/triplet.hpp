// Room: datatype
#pragma once

#include <lapwing/extents.hpp>
#include <lapwing/range.hpp>

#include <cstdint>
#include <string>

namespace lapwing {

namespace detail::datatype {
[[noreturn]] void throw_zero_stride();
} // namespace detail::datatype

/// Indices of one dimension, in order: first, first + stride, first + 2 * stride, …, with a positive or negative
/// stride; Fortran calls it a subscript triplet. A Range, which is a set, converts to the triplet in ascending order.
///
/// ```cpp
/// Triplet{Range{0, 6}}                  // 0 1 2 3 4 5
/// Triplet{Range{0, 6}}.by(-2)           // 5 3 1
/// reversed(Range{0, 6}.by(2))           // 4 2 0
/// ```
class Triplet {
public:
    /// No index.
    constexpr Triplet() noexcept = default;
    /// The indices of a range in ascending order.
    constexpr Triplet(const Range& range) noexcept
        : first_{range.empty() ? 0 : range.first()}, stride_{range.stride()}, size_{range.size()} {}

    /// `size` indices starting at `first`, `stride` apart, which may be negative but not 0. The last one must fit into
    /// 64 bits.
    [[nodiscard]] static constexpr Triplet strided(std::int64_t first, std::uint64_t size,
                                                   std::int64_t stride) noexcept {
        Triplet triplet;
        if (size == 0) return triplet;
        triplet.first_ = first;
        triplet.size_ = size;
        triplet.stride_ = size == 1 ? 1 : stride;
        return triplet;
    }

    /// Every `step`-th index starting with the first; for a negative step from the last back to the first. Throws
    /// RangeError for 0, and if the distance of neighbours would not fit into 64 bits.
    [[nodiscard]] constexpr Triplet by(std::int64_t step) const {
        if (step == 0) detail::datatype::throw_zero_stride();
        if (size_ == 0) return *this;
        const std::uint64_t distance =
            step < 0 ? 0 - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
        const std::uint64_t size = (size_ - 1) / distance + 1;
        const std::int64_t first = step > 0 ? first_ : last();
        if (size == 1) return strided(first, 1, 1);
        std::int64_t stride = 0;
        if (__builtin_mul_overflow(stride_, step, &stride)) detail::datatype::throw_stride(step);
        return strided(first, size, stride);
    }
    /// The same indices from the last to the first.
    [[nodiscard]] constexpr Triplet reversed() const noexcept {
        return size_ == 0 ? *this : strided(last(), size_, -stride_);
    }

    /// Whether there is no index; and how many there are.
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] constexpr std::uint64_t size() const noexcept { return size_; }
    /// The first and the last index. Only if it is not empty.
    [[nodiscard]] constexpr std::int64_t first() const noexcept { return first_; }
    [[nodiscard]] constexpr std::int64_t last() const noexcept { return (*this)[size_ - 1]; }
    /// Distance from one index to the next; 1 if there are fewer than two.
    [[nodiscard]] constexpr std::int64_t stride() const noexcept { return stride_; }
    /// The index at `position`, which must be below size().
    [[nodiscard]] constexpr std::int64_t operator[](std::uint64_t position) const noexcept {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(first_) +
                                         position * static_cast<std::uint64_t>(stride_));
    }
    /// The set of its indices.
    [[nodiscard]] constexpr Range range() const noexcept {
        if (size_ == 0) return {};
        return stride_ > 0 ? Range::strided(first_, size_, stride_) : Range::strided(last(), size_, -stride_);
    }

    friend constexpr bool operator==(const Triplet&, const Triplet&) = default;

private:
    std::int64_t first_ = 0;
    std::int64_t stride_ = 1;
    std::uint64_t size_ = 0;
};

/// The indices of a range in descending order.
[[nodiscard]] constexpr Triplet reversed(const Range& range) noexcept { return Triplet{range}.reversed(); }

/// "[2, 8) by 3", as for a range; "5, 3, …, 1" if it descends.
[[nodiscard]] std::string to_string(const Triplet& triplet);

} // namespace lapwing
