// Shared by tests of global arrays: arrays under every distribution, types of several sizes, a value for each place.
#pragma once

#include "examples/triangular.hpp"
#include "tests/distribution/random_maps.hpp"
#include "tests/team/team_test.hpp"

#include <lapwing/blocks.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace test {

struct Colour {
    std::uint8_t red, green, blue;
    friend bool operator==(const Colour&, const Colour&) = default;
};
static_assert(sizeof(Colour) == 3);

struct Particle {
    double x, y, z;
    friend bool operator==(const Particle&, const Particle&) = default;
};
static_assert(sizeof(Particle) == 24);

/// Whether the distribution of an array is the program's own.
template <class T, std::size_t N>
[[nodiscard]] bool has_own_distribution(const lapwing::GlobalArray<T, N>& array) {
    const auto geometry = array.slice().array().lock();
    return geometry->user_map != nullptr && geometry->user_map->is_programs();
}

/// A distribution of a program's own that stores everything, of any dimensions: BlockCyclic with the ranks in reverse.
struct Reversed {
    std::vector<std::int64_t> block;
    std::vector<int> grid = {};

    template <std::size_t N>
    class Map {
    public:
        Map(const lapwing::BlockCyclicMap<N>& map, int ranks) : map_{map}, ranks_{ranks} {}

        [[nodiscard]] lapwing::Location locate(const lapwing::Index<N>& index) const {
            lapwing::Location location = map_.locate(index);
            location.owner = reverse(location.owner);
            return location;
        }
        [[nodiscard]] std::uint64_t local_capacity() const { return map_.local_capacity(); }
        [[nodiscard]] std::uint64_t domain_count(lapwing::Rank rank) const { return map_.domain_count(reverse(rank)); }
        [[nodiscard]] lapwing::Domain<N> domain(lapwing::Rank rank, std::uint64_t k) const {
            return map_.domain(reverse(rank), k);
        }

    private:
        [[nodiscard]] lapwing::Rank reverse(lapwing::Rank rank) const { return lapwing::Rank{ranks_ - 1 - rank.value}; }

        lapwing::BlockCyclicMap<N> map_;
        int ranks_;
    };

    template <std::size_t N>
    [[nodiscard]] Map<N> map(const lapwing::Extents<N>& extents, int ranks) const {
        return {lapwing::BlockCyclic{block, grid}.map(extents, ranks), ranks};
    }
};

/// A value of T that distinguishes `number` from most others, so that a misplaced element is noticed.
template <class T>
[[nodiscard]] T value_of(std::uint64_t number) {
    std::uint64_t mixed = number * 0x9E3779B97F4A7C15U;
    mixed ^= mixed >> 29;
    if constexpr (std::is_same_v<T, Colour>) {
        return {static_cast<std::uint8_t>(mixed), static_cast<std::uint8_t>(mixed >> 8),
                static_cast<std::uint8_t>(mixed >> 16)};
    } else if constexpr (std::is_same_v<T, Particle>) {
        const auto base = static_cast<double>(number);
        return {base, -base, base + 0.5};
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(number) + T{0.5};
    } else {
        return static_cast<T>(mixed);
    }
}

/// Place of an index in a row-major array.
template <std::size_t N>
[[nodiscard]] std::uint64_t position_of(const lapwing::Extents<N>& extents, const lapwing::Index<N>& index) {
    std::uint64_t position = 0;
    for (std::size_t d = 0; d < N; ++d)
        position = position * static_cast<std::uint64_t>(extents[d]) + static_cast<std::uint64_t>(index[d]);
    return position;
}

/// A way to make an array.
template <class T, std::size_t N>
struct Maker {
    std::string name;
    std::function<lapwing::GlobalArray<T, N>(lapwing::Team&, const lapwing::Extents<N>&)> make;
    bool replicated = false;
    bool lower_triangle = false; ///< square extents only, and nothing is stored above the diagonal
    bool user_defined = false;   ///< a user-defined distribution
    bool blocks = false;   ///< Blocks: reached as such a one, but with a local view, and of extents that are given
    std::int64_t halo = 0; ///< of the array's options
};

template <std::size_t N>
[[nodiscard]] bool stored(bool lower_triangle, const lapwing::Index<N>& index) {
    if constexpr (N == 2) return !lower_triangle || index[1] <= index[0];
    return true;
}

/// Lengths for so many blocks that make up an extent: long and short ones in turn, and none for every third rank.
[[nodiscard]] inline std::vector<std::int64_t> uneven_lengths(std::int64_t extent, int ranks) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(ranks));
    std::int64_t left = extent;
    for (std::size_t rank = 1; rank < lengths.size(); ++rank) {
        lengths[rank] = rank % 3 == 2 ? 0 : std::min<std::int64_t>(left, rank % 3 == 0 ? extent / 2 : 1);
        left -= lengths[rank];
    }
    lengths.front() = left;
    return lengths;
}

/// Every distribution that the library has, with grids chosen and given, and one of a program's own for matrices.
template <class T, std::size_t N>
[[nodiscard]] std::vector<Maker<T, N>> every_maker(int ranks) {
    std::vector<Maker<T, N>> makers;
    const auto add = [&]<class D>(std::string name, D distribution, std::int64_t halo = 0) {
        makers.push_back({.name = std::move(name),
                          .make =
                              [distribution, halo](lapwing::Team& team, const lapwing::Extents<N>& extents) {
                                  return lapwing::GlobalArray<T, N>{
                                      team, extents, distribution, {.name = "tested", .halo = halo}};
                              },
                          .replicated = lapwing::ReplicatedDistribution<D>,
                          .lower_triangle = std::is_same_v<D, example::Triangular>,
                          .user_defined = std::is_same_v<D, example::Triangular> || std::is_same_v<D, Reversed>,
                          .halo = halo});
    };
    // Two sizes of blocks, neither a divisor of the other, in turn.
    std::vector<std::int64_t> blocks;
    for (std::size_t d = 0; d < N; ++d) blocks.push_back(d % 2 == 0 ? 3 : 2);
    std::vector<int> first(N, 1);
    first.front() = ranks;
    std::vector<int> last(N, 1);
    last.back() = ranks;
    add("Block", lapwing::Block{});
    add("Block with a halo of 2", lapwing::Block{}, 2);
    add("Cyclic", lapwing::Cyclic{});
    add("BlockCyclic", lapwing::BlockCyclic{.block = blocks});
    add("Replicated", lapwing::Replicated{});
    add("Reversed", Reversed{blocks});
    // Needs the extents, which the lengths make up.
    const auto add_uneven = [&](std::string name, std::size_t dimension) {
        makers.push_back({.name = std::move(name),
                          .make =
                              [dimension](lapwing::Team& team, const lapwing::Extents<N>& extents) {
                                  std::vector<std::vector<std::int64_t>> lengths(dimension + 1);
                                  lengths[dimension] = uneven_lengths(extents[dimension], team.size());
                                  return lapwing::GlobalArray<T, N>{
                                      team, extents, lapwing::Blocks{lengths}, {.name = "tested"}};
                              },
                          .user_defined = true,
                          .blocks = true});
    };
    add_uneven("Blocks", 0);
    if constexpr (N > 1) add_uneven("Blocks in the last dimension", N - 1);
    if constexpr (N > 1) {
        add("Block with all ranks in the first dimension", lapwing::Block{.grid = first});
        add("Block with all ranks in the last dimension", lapwing::Block{.grid = last});
        add("Cyclic with all ranks in the last dimension", lapwing::Cyclic{.grid = last});
        add("BlockCyclic with all ranks in the last dimension", lapwing::BlockCyclic{.block = blocks, .grid = last});
    }
    if constexpr (N == 2) add("Triangular", example::Triangular{});
    return makers;
}

/// Extents that do not divide by most numbers of ranks.
template <std::size_t N>
[[nodiscard]] lapwing::Extents<N> odd_extents() {
    if constexpr (N == 1) return {61};
    else if constexpr (N == 2) return {11, 11};
    else if constexpr (N == 3) return {5, 4, 7};
    else return {3, 5, 2, 4};
}

/// Calls `body(maker)` for each way to make an array, with its name in the messages.
template <class T, std::size_t N, class Body>
void for_every_maker(int ranks, Body body) {
    for (const Maker<T, N>& maker : every_maker<T, N>(ranks)) {
        INFO(maker.name << ", " << N << " dimensions, " << sizeof(T) << " bytes");
        body(maker);
    }
}

/// Counts wrong results and shows the first: one assertion for thousands of elements.
class Mismatches {
public:
    template <std::size_t N>
    void check(bool equal, const lapwing::Index<N>& index) {
        if (equal) return;
        if (count_++ == 0) first_ = lapwing::to_string(index);
    }
    /// "none", or how many and where.
    [[nodiscard]] std::string text() const {
        return count_ == 0 ? "none" : std::to_string(count_) + ", the first at " + first_;
    }

private:
    std::uint64_t count_ = 0;
    std::string first_;
};

/// Sets every stored element to value_of(first + its position), through local memory. Collective.
template <class T, std::size_t N>
void number_elements(lapwing::GlobalArray<T, N>& array, std::uint64_t first = 0) {
    array.barrier();
    array.for_each_local([&](const lapwing::Index<N>& index, T& element) {
        element = value_of<T>(first + position_of(array.extents(), index));
    });
    array.barrier();
}

/// Compares every stored element with value_of(first + its position), read one by one.
template <class T, std::size_t N>
[[nodiscard]] std::string misnumbered(const lapwing::GlobalArray<T, N>& array, bool lower_triangle,
                                      std::uint64_t first = 0) {
    Mismatches mismatches;
    for (const lapwing::Index<N>& index : array.domain())
        if (stored(lower_triangle, index))
            mismatches.check(array(index) == value_of<T>(first + position_of(array.extents(), index)), index);
    return mismatches.text();
}

} // namespace test
