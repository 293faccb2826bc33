// Room: distribution
#pragma once

#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>
#include <lapwing/rank.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing {

namespace detail::distribution {

/// How the blocks of a dimension go to its processes.
enum class Dealing : std::uint8_t { one_block, single_indices, blocks };

/// One dimension of a block-cyclic map. Index i is in block q = i / block, which is the (q / processes)-th block of
/// process q mod processes; its place there is (q / processes) * block + i mod block. Dimensions that a single process
/// has are one block.
struct DimensionMap {
    std::uint64_t extent = 0;
    Reciprocal by_block;
    Reciprocal by_processes;
    int rank_stride = 1; ///< distance in ranks between neighbour processes of this dimension
    /// Places that a process keeps for its indices: `many` the first `split` ones, `few` the others (see room()).
    std::uint64_t split = 0;
    std::uint64_t many = 0;
    std::uint64_t few = 0;
    std::uint64_t margin = 0; ///< places before and after those of the indices, for copies of others'

    [[nodiscard]] std::uint64_t block() const noexcept { return by_block.divisor(); }
    [[nodiscard]] int processes() const noexcept { return static_cast<int>(by_processes.divisor()); }
    [[nodiscard]] std::uint64_t blocks() const noexcept { return extent == 0 ? 0 : (extent - 1) / block() + 1; }
    /// Whether no process has more than one block.
    [[nodiscard]] bool one_round() const noexcept { return blocks() <= by_processes.divisor(); }
    /// Most indices that a process has.
    [[nodiscard]] std::uint64_t capacity() const noexcept;
    /// Places of `process` in this dimension, which the strides of the dimensions before it are made of: as many as it
    /// has indices, so that its segment has no gaps. Only where blocks of several indices are dealt in several rounds,
    /// and processes have one of three numbers of them, all keep those of the largest segment; so they do in maps with
    /// margins.
    [[nodiscard]] std::uint64_t room(std::uint64_t process) const noexcept { return process < split ? many : few; }
    /// Whether some process keeps more places than it has indices.
    [[nodiscard]] bool has_gaps() const noexcept;
    /// Indices that `process` has.
    [[nodiscard]] std::uint64_t count(int process) const noexcept;
    /// What `process` has as ranges: how many, and the k-th. Single dealt indices are one range with a stride.
    [[nodiscard]] std::uint64_t range_count(int process) const noexcept;
    [[nodiscard]] Range range(int process, std::uint64_t k) const noexcept;
    [[nodiscard]] int process_of(int rank) const noexcept { return rank / rank_stride % processes(); }

    friend bool operator==(const DimensionMap&, const DimensionMap&) = default;
};

/// Fills `dimensions` (as many as extents). `blocks` is read for Dealing::blocks only. Throws RangeError; `name` is the
/// distribution's, for its text. Returns the capacity of a segment in elements.
std::uint64_t make_dimensions(std::span<DimensionMap> dimensions, const char* name,
                              std::span<const std::int64_t> extents, int ranks, std::span<const int> grid,
                              std::span<const std::int64_t> blocks, Dealing dealing);

/// Gives dimensions that several processes share margins of `depth` places; all must be of one round. Returns the
/// capacity of a segment in elements, margins included; `origin` becomes the place of its first element. Throws
/// RangeError.
std::uint64_t add_margins(std::span<DimensionMap> dimensions, std::uint64_t depth, std::uint64_t& origin);

} // namespace detail::distribution

/// The map of Block, Cyclic, BlockCyclic and Replicated: each dimension by itself is dealt in blocks to the
/// processes of one dimension of a grid.
///
/// A rank stores its segment as a row-major N-dimensional array: of exactly its own elements, so that rows follow each
/// other without gaps, wherever a process has one of two numbers of indices (one block each, single indices dealt, or
/// one process). The place of an element then follows from its index and one comparison a dimension, and still needs no
/// table. Where blocks of several indices are dealt in several rounds there are three numbers, and that arithmetic
/// would cost each access to an element of this node a third more: there all segments have the shape of the largest
/// one, as ScaLAPACK's have with their leading dimension, and smaller ones unused elements at the end of a row. So it
/// is where segments have margins, for copies of what lies around a rank's block: the place of the first element is
/// then the same in all segments.
template <std::size_t N>
class BlockCyclicMap {
public:
    /// Everything at rank 0, of extents 0.
    BlockCyclicMap() noexcept = default;

    /// Throws RangeError.
    BlockCyclicMap(const char* name, const Extents<N>& extents, int ranks, std::span<const int> grid,
                   std::span<const std::int64_t> blocks, detail::distribution::Dealing dealing) {
        capacity_ =
            detail::distribution::make_dimensions(dimensions_, name, extents.values(), ranks, grid, blocks, dealing);
    }

    /// The index must be within the extents.
    [[nodiscard]] Location locate(const Index<N>& index) const noexcept {
        int owner = 0; // numbers of their own stay in registers
        std::uint64_t offset = origin_;
        std::uint64_t contiguous = 1;
        std::uint64_t stride = 1; // of the owner's segment, whose rows are as long as what it has of them
        for (std::size_t d = N; d-- > 0;) {
            const detail::distribution::DimensionMap& dimension = dimensions_[d];
            const auto i = static_cast<std::uint64_t>(index[d]);
            const auto [block, in_block] = dimension.by_block.divide(i);
            const auto [round, process] = dimension.by_processes.divide(block);
            owner += static_cast<int>(process) * dimension.rank_stride;
            offset += (round * dimension.block() + in_block) * stride;
            stride *= dimension.room(process);
            if (d == N - 1) contiguous = std::min(dimension.block() - in_block, dimension.extent - i);
        }
        return {Rank{owner}, offset, contiguous};
    }
    [[nodiscard]] std::uint64_t local_capacity() const noexcept { return capacity_; }
    /// Elements of the segment of `rank` between neighbours in each dimension.
    [[nodiscard]] std::array<std::uint64_t, N> strides(Rank rank) const noexcept {
        std::array<std::uint64_t, N> strides;
        std::uint64_t stride = 1;
        for (std::size_t d = N; d-- > 0;) {
            strides[d] = stride;
            stride *= dimensions_[d].room(static_cast<std::uint64_t>(dimensions_[d].process_of(rank.value)));
        }
        return strides;
    }
    /// Segments get room for copies, `depth` elements deep, on the sides where other ranks are
    /// (detail::distribution::add_margins).
    void add_margins(std::uint64_t depth) {
        capacity_ = detail::distribution::add_margins(dimensions_, depth, origin_);
    }
    /// Place of a segment's first element.
    [[nodiscard]] std::uint64_t origin() const noexcept { return origin_; }
    /// Whether rows of some segment have unused elements at their ends.
    [[nodiscard]] bool has_gaps() const noexcept {
        return std::any_of(dimensions_.begin() + 1, dimensions_.end(),
                           [](const auto& dimension) { return dimension.has_gaps(); });
    }

    [[nodiscard]] std::uint64_t domain_count(Rank rank) const noexcept {
        std::uint64_t product = 1;
        for (const detail::distribution::DimensionMap& dimension : dimensions_)
            product *= dimension.range_count(dimension.process_of(rank.value));
        return product;
    }
    [[nodiscard]] Domain<N> domain(Rank rank, std::uint64_t k) const noexcept {
        std::array<Range, N> ranges;
        for (std::size_t d = N; d-- > 0;) {
            const detail::distribution::DimensionMap& dimension = dimensions_[d];
            const int process = dimension.process_of(rank.value);
            const std::uint64_t count = dimension.range_count(process);
            if (count == 0) return {};
            ranges[d] = dimension.range(process, k % count);
            k /= count;
        }
        return Domain<N>{ranges};
    }

    [[nodiscard]] const std::array<detail::distribution::DimensionMap, N>& dimensions() const noexcept {
        return dimensions_;
    }
    /// Whether no process has more than one block in any dimension, so that every segment is one dense box of indices.
    [[nodiscard]] bool one_round() const noexcept {
        return std::ranges::all_of(dimensions_, &detail::distribution::DimensionMap::one_round);
    }

    friend bool operator==(const BlockCyclicMap&, const BlockCyclicMap&) = default;

private:
    std::array<detail::distribution::DimensionMap, N> dimensions_{};
    std::uint64_t capacity_ = 0;
    std::uint64_t origin_ = 0;
};

} // namespace lapwing
