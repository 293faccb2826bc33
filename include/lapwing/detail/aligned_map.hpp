// Room: distribution
#pragma once

#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>
#include <lapwing/range.hpp>
#include <lapwing/rank.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail::distribution {

/// Every stride-th index of a dimension from `first` on, with the processes that a map of the whole dimension gives
/// them. A process keeps its own ones without gaps.
///
/// Position k is index first + k * stride. How many positions below k a process has is counted in closed form: none is
/// visited, and there is no table. Cost: a division where processes have one block each, else O(log(block * processes))
/// for the sum of a floor function.
struct AlignedDimension {
    DimensionMap map;
    std::uint64_t first = 0;
    std::uint64_t stride = 1;
    std::uint64_t extent = 0; ///< positions

    [[nodiscard]] int process_at(std::uint64_t position) const noexcept {
        return static_cast<int>(map.by_processes.divide(map.by_block.quotient(first + position * stride)).remainder);
    }
    /// Positions below `position` that a process has: the place of a position of its own. And all that it has.
    [[nodiscard]] std::uint64_t count_before(int process, std::uint64_t position) const noexcept;
    [[nodiscard]] std::uint64_t count(int process) const noexcept { return count_before(process, extent); }
    /// The most that any process has. Cost: a count for each process.
    [[nodiscard]] std::uint64_t capacity() const noexcept;
    /// Positions from this one on that lie in the same block.
    [[nodiscard]] std::uint64_t left_in_block(std::uint64_t position) const noexcept;
    /// What a process has as ranges of positions, some of which may be empty: how many, and the k-th.
    [[nodiscard]] std::uint64_t range_count(int process) const noexcept;
    [[nodiscard]] Range range(int process, std::uint64_t k) const noexcept;

private:
    /// Positions whose indices are in [begin, end).
    [[nodiscard]] Range positions_in(std::uint64_t begin, std::uint64_t end) const noexcept;
    /// The first block from that of index `first` on that a process has.
    [[nodiscard]] std::uint64_t first_block(int process) const noexcept;
};

/// Part of an index space under the distribution of the whole: what Aligned makes of the library's own distributions.
template <std::size_t N>
class AlignedMap {
public:
    /// `dimensions`: as many as N.
    explicit AlignedMap(const std::array<AlignedDimension, N>& dimensions) : dimensions_{dimensions} {
        capacity_ = 1;
        for (const AlignedDimension& dimension : dimensions_) capacity_ *= dimension.capacity();
    }

    [[nodiscard]] Location locate(const Index<N>& position) const noexcept {
        Location location{Rank{0}, 0};
        std::uint64_t stride = 1;
        for (std::size_t d = N; d-- > 0;) {
            const AlignedDimension& dimension = dimensions_[d];
            const auto k = static_cast<std::uint64_t>(position[d]);
            const int process = dimension.process_at(k);
            location.owner.value += process * dimension.map.rank_stride;
            location.offset += dimension.count_before(process, k) * stride;
            if (d == N - 1) location.contiguous = dimension.left_in_block(k);
            if (d > 0) stride *= dimension.count(process);
        }
        return location;
    }
    [[nodiscard]] std::uint64_t local_capacity() const noexcept { return capacity_; }
    [[nodiscard]] static constexpr bool is_programs() noexcept { return false; }
    [[nodiscard]] std::uint64_t domain_count(Rank rank) const noexcept {
        std::uint64_t product = 1;
        for (const AlignedDimension& dimension : dimensions_)
            product *= dimension.range_count(dimension.map.process_of(rank.value));
        return product;
    }
    [[nodiscard]] Domain<N> domain(Rank rank, std::uint64_t k) const noexcept {
        std::array<Range, N> ranges;
        for (std::size_t d = N; d-- > 0;) {
            const AlignedDimension& dimension = dimensions_[d];
            const int process = dimension.map.process_of(rank.value);
            const std::uint64_t count = dimension.range_count(process);
            if (count == 0) return {};
            ranges[d] = dimension.range(process, k % count);
            k /= count;
        }
        return Domain<N>{ranges};
    }

private:
    std::array<AlignedDimension, N> dimensions_;
    std::uint64_t capacity_ = 0;
};

} // namespace lapwing::detail::distribution
