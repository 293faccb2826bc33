#include "check_map.hpp"
#include "random_maps.hpp"

#include <lapwing/blocks.hpp>
#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace lapwing;

namespace {

/// Blocks of random lengths, many of them 0, that make up an extent.
std::vector<std::int64_t> random_lengths(test::Random& random, std::int64_t extent, int blocks) {
    std::vector<std::int64_t> ends{0, extent};
    for (int k = 1; k < blocks; ++k) ends.push_back(random.number(0, extent));
    std::ranges::sort(ends);
    std::adjacent_difference(ends.begin(), ends.end(), ends.begin());
    return {ends.begin() + 1, ends.end()};
}

template <std::size_t N>
void check_random_maps() {
    for (unsigned seed = 0; seed < 200; ++seed) {
        test::Random random{seed};
        constexpr std::array<int, 5> counts{1, 2, 5, 6, 7};
        const int ranks = counts[static_cast<std::size_t>(random.number(0, 4))];
        const Extents<N> extents = test::random_extents<N>(random);
        std::vector<int> grid = test::random_grid<N>(random, ranks);
        if (grid.empty()) grid.assign(1, ranks); // one list: the other dimensions are not divided
        std::vector<std::vector<std::int64_t>> lengths;
        for (std::size_t d = 0; d < grid.size(); ++d)
            lengths.push_back(grid[d] == 1 && random.number(0, 1) == 0 ? std::vector<std::int64_t>{}
                                                                       : random_lengths(random, extents[d], grid[d]));
        grid.resize(N, 1);
        INFO("seed " << seed);
        const auto map = Blocks{lengths}.map(extents, ranks);
        const auto places = test::check_map(map, extents, ranks);
        CHECK(places.size() == Domain<N>{extents}.size());
        // The definition: rank by rank, the last dimension of the grid fastest, rows of each part after each other.
        lengths.resize(N);
        std::uint64_t largest = 0;
        Index<N> process{};
        for (int rank = 0; rank < ranks; ++rank) {
            std::array<Range, N> ranges;
            Index<N> own{};
            for (std::size_t d = 0; d < N; ++d) {
                const auto p = static_cast<std::size_t>(process[d]);
                const std::vector<std::int64_t>& all = lengths[d];
                own[d] = all.empty() ? extents[d] : all[p];
                const std::int64_t first =
                    std::accumulate(all.begin(), all.empty() ? all.end() : all.begin() + process[d], std::int64_t{0});
                ranges[d] = Range{first, first + own[d]};
            }
            REQUIRE(map.local_extents(Rank{rank}) == Extents<N>{own});
            std::uint64_t next = 0;
            for (const Index<N>& index : Domain<N>{ranges}) REQUIRE(places.at(index) == std::pair{rank, next++});
            largest = std::max(largest, next);
            for (std::size_t d = N; d-- > 0 && ++process[d] == grid[d];) process[d] = 0;
        }
        CHECK(map.local_capacity() >= largest);
    }
}

} // namespace

TEST_CASE("blocks of given lengths are where their definition says") {
    check_random_maps<1>();
    check_random_maps<2>();
    check_random_maps<3>();
}

TEST_CASE("blocks of given lengths are given in several ways") {
    const std::vector<unsigned> lengths{3, 0, 4};
    CHECK(Blocks{lengths}.total() == 7);
    CHECK(Blocks{{3, 0, 4}}.total() == 7);
    CHECK(Blocks{{7}}.total() == 7);
    CHECK(Blocks{{3, 0}, {2, 5, 1}}.total(1) == 8);
    CHECK(Blocks{std::vector<std::int64_t>{1, 2}}.total() == 3);
    CHECK(Blocks{{3, 4}}.total(1) == 0);
    CHECK(Blocks{{}, {3, 4}}.map(Extents<2>{5, 7}, 2).locate({4, 3}).owner == Rank{1});
}

TEST_CASE("lengths that are no distribution are refused with their values") {
    const auto make = [](const Blocks& blocks, int ranks) { (void)blocks.map(Extents<1>{10}, ranks); };
    using Catch::Contains;
    CHECK_THROWS_WITH(make(Blocks{{3, 4}}, 2), Contains("2 blocks of dimension 0 have 7 indices") && Contains("is 10"));
    CHECK_THROWS_WITH(make(Blocks{{13, -3}}, 2), Contains("block 1 of dimension 0 has the length -3"));
    CHECK_THROWS_WITH(make(Blocks{{5, 5, 0}}, 2), Contains("3 blocks for 2 ranks"));
    CHECK_THROWS_WITH(make(Blocks{{5, 5}}, 3), Contains("2 blocks for 3 ranks") && Contains("length 0"));
    CHECK_THROWS_WITH(make(Blocks{{10}, {1}}, 1), Contains("lengths for 2 dimensions, and the array has 1"));
    constexpr std::int64_t most = INT64_MAX;
    CHECK_THROWS_WITH(make(Blocks{{most, most, 12}}, 3), Contains("more than 2^63 - 1"));
}
