// Room: distribution
#pragma once

#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>
#include <lapwing/rank.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing {

/// Where the elements of an array of given extents are, over a given number of ranks: what a distribution creates.
///
/// - `locate(index)`: the owner and place of an element; `Location{}` for an index that is not stored. Called for every
///   element access, so it should be a few arithmetic operations. The index is within the extents.
/// - `local_capacity()`: elements to allocate at each rank; the same on all, so that no rank needs a table of the
///   others.
/// - `domain_count(rank)` and `domain(rank, k)`: what `rank` owns, as disjoint rectangular domains.
///
/// Every index in a domain of some rank must be located at that rank, each at a different place below local_capacity().
/// Maps are copied; they should not hold anything that grows with the number of ranks.
///
/// A map may also have `local_extents(rank)`, an Extents<N>, if every part is one domain without strides whose elements
/// are at places 0, 1, … in row-major order: local_view() then works, and own elements are found without a call.
template <class M, std::size_t N>
concept DistributionMap =
    std::copy_constructible<M> && requires(const M& map, const Index<N>& index, Rank rank, std::uint64_t k) {
        { map.locate(index) } -> std::same_as<Location>;
        { map.local_capacity() } -> std::same_as<std::uint64_t>;
        { map.domain_count(rank) } -> std::same_as<std::uint64_t>;
        { map.domain(rank, k) } -> std::same_as<Domain<N>>;
    };

/// Says where the elements of an N-dimensional array go: anything with `map(extents, ranks)`, which returns a
/// DistributionMap. It is called on every rank with the same arguments and must return the same map on all. An array
/// keeps a copy of its distribution, and calls it again when its extents change. Block, Cyclic, BlockCyclic and
/// Replicated are in this header, Blocks in lapwing/blocks.hpp; examples/triangular.cpp defines another.
template <class D, std::size_t N>
concept Distribution =
    std::copy_constructible<D> && requires(const D& distribution, const Extents<N>& extents, int ranks) {
        { distribution.map(extents, ranks) } -> DistributionMap<N>;
    };

/// One block of ceil(extent / processes) indices for each process in each dimension. The last blocks may be shorter or
/// empty.
struct Block {
    /// Processes in each dimension; their product must be the number of ranks. Rank 0 is at the origin, and the last
    /// dimension varies fastest. 0 means: choose; so `{0, 1}` keeps rows whole. Empty: choose all, so that the largest
    /// part is smallest, and then the surface between parts is least.
    std::vector<int> grid = {};

    /// Throws RangeError if the grid does not fit.
    template <std::size_t N>
    [[nodiscard]] BlockCyclicMap<N> map(const Extents<N>& extents, int ranks) const {
        return BlockCyclicMap<N>{"Block", extents, ranks, grid, {}, detail::distribution::Dealing::one_block};
    }
};

/// With P processes in a dimension, index i belongs to process i mod P.
struct Cyclic {
    std::vector<int> grid = {}; ///< as in Block

    /// Throws RangeError if the grid does not fit.
    template <std::size_t N>
    [[nodiscard]] BlockCyclicMap<N> map(const Extents<N>& extents, int ranks) const {
        return BlockCyclicMap<N>{"Cyclic", extents, ranks, grid, {}, detail::distribution::Dealing::single_indices};
    }
};

/// Blocks of block[d] indices in each dimension, assigned to the processes in turn (as in ScaLAPACK).
struct BlockCyclic {
    std::vector<std::int64_t> block = {}; ///< one size per dimension, at least 1
    std::vector<int> grid = {};           ///< as in Block

    /// Throws RangeError if a block size is below 1, their number is not that of the dimensions, or the grid does not
    /// fit.
    template <std::size_t N>
    [[nodiscard]] BlockCyclicMap<N> map(const Extents<N>& extents, int ranks) const {
        return BlockCyclicMap<N>{"BlockCyclic", extents, ranks, grid, block, detail::distribution::Dealing::blocks};
    }
};

/// Every rank holds all elements.
///
/// Reads, and everything local, use the rank's own copy. An element write and a bulk put go to every copy (every rank
/// has its own, even where ranks share memory): a store for each rank of this node and a message for each other rank.
/// Other ranks see them after release() or a barrier, as for any put. Writes to the same element by two ranks without
/// synchronisation between them may leave copies that differ, since they arrive in any order. Element atomics throw
/// UsageError: there is no single place where they would be atomic. fill(), copy_from() and broadcast() are the cheap
/// ways to write. `local(…)` writes to the rank's own copy only, for programs in which every rank computes the same
/// values.
struct Replicated {
    static constexpr bool replicated = true; ///< see ReplicatedDistribution

    /// The same map for any number of ranks: all elements are at rank 0 of the map, which represents every rank.
    template <std::size_t N>
    [[nodiscard]] BlockCyclicMap<N> map(const Extents<N>& extents, int /*ranks*/) const {
        return BlockCyclicMap<N>{"Replicated", extents, 1, {}, {}, detail::distribution::Dealing::one_block};
    }
};

/// A distribution that sets `static constexpr bool replicated = true`: every rank holds what its map places on rank 0.
template <class D>
concept ReplicatedDistribution = requires {
    { D::replicated } -> std::convertible_to<bool>;
    requires D::replicated;
};

} // namespace lapwing
