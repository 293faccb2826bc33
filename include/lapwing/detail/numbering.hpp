// Room: arrays
#pragma once

#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/range.hpp>
#include <lapwing/triplet.hpp>

#include <cstdint>

namespace lapwing::detail::arrays {

/// Maps indices of one dimension to positions starting at 0, and back.
class Numbering {
public:
    Numbering() noexcept = default;
    /// For these indices, in ascending order.
    explicit Numbering(const Range& indices) noexcept
        : first_{indices.empty() ? 0 : indices.first()},
          by_stride_{static_cast<std::uint64_t>(indices.stride())},
          size_{indices.size()} {}

    /// The position of an index; size() or more if the index is not in the range.
    [[nodiscard]] std::uint64_t position(std::int64_t index) const noexcept {
        const std::uint64_t distance = static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(first_);
        if (by_stride_.divisor() == 1) [[likely]]
            return distance;
        if (static_cast<std::int64_t>(distance) < 0) return nowhere;
        const auto [position, rest] = by_stride_.divide(distance);
        return rest == 0 ? position : nowhere;
    }
    [[nodiscard]] std::int64_t index(std::int64_t position) const noexcept {
        return first_ + position * static_cast<std::int64_t>(by_stride_.divisor());
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// The indices at the given positions.
    [[nodiscard]] Range indices(const Range& positions) const noexcept {
        if (positions.empty()) return {};
        return Range::strided(
            index(positions.first()), positions.size(),
            positions.size() == 1 ? 1 : positions.stride() * static_cast<std::int64_t>(by_stride_.divisor()));
    }
    /// The positions of indices that are all in the range.
    [[nodiscard]] Range positions(const Range& indices) const noexcept {
        if (indices.empty()) return {};
        return Range::strided(static_cast<std::int64_t>(position(indices.first())), indices.size(),
                              indices.size() == 1 ? 1
                                                  : indices.stride() / static_cast<std::int64_t>(by_stride_.divisor()));
    }
    /// The positions of the given indices. False if one of them is not in the range.
    [[nodiscard]] bool find(const Triplet& indices, Triplet& positions) const noexcept {
        positions = {};
        if (indices.empty()) return true;
        const std::uint64_t first = position(indices.first());
        const std::uint64_t last = position(indices.last());
        if (first >= size_ || last >= size_) return false;
        if (indices.size() > 1 && indices.stride() % static_cast<std::int64_t>(by_stride_.divisor()) != 0) return false;
        positions = Triplet::strided(static_cast<std::int64_t>(first), indices.size(),
                                     indices.stride() / static_cast<std::int64_t>(by_stride_.divisor()));
        return true;
    }

private:
    static constexpr std::uint64_t nowhere = UINT64_MAX;

    std::int64_t first_ = 0;
    distribution::Reciprocal by_stride_;
    std::uint64_t size_ = 0;
};

} // namespace lapwing::detail::arrays
