#include "check_map.hpp"
#include "random_maps.hpp"

#include "examples/triangular.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <map>
#include <utility>

using namespace lapwing;

namespace {

template <std::size_t N>
void check_against_definition(const char* name, const BlockCyclicMap<N>& map, const Extents<N>& extents, int ranks,
                              const Index<N>& blocks) {
    INFO(name);
    const auto places = test::check_map<N>(map, extents, ranks);
    REQUIRE(places.size() == Domain<N>{extents}.size());
    for (const auto& [index, place] : places) {
        int owner = 0;
        for (std::size_t d = 0; d < N; ++d) {
            const std::int64_t processes = map.dimensions()[d].processes();
            owner = owner * static_cast<int>(processes) + static_cast<int>(index[d] / blocks[d] % processes);
        }
        INFO("index " << to_string(index) << " of " << to_string(extents.values()) << " over " << ranks);
        REQUIRE(place.first == owner);
    }
}

template <std::size_t N>
void check_random_maps(unsigned seed, int rounds) {
    test::Random random{seed};
    for (int round = 0; round < rounds; ++round) {
        const int ranks = static_cast<int>(random.number(1, 12));
        const Extents<N> extents = test::random_extents<N>(random);
        const std::vector<int> grid = test::random_grid<N>(random, ranks);

        const BlockCyclicMap<N> block = Block{grid}.map(extents, ranks);
        Index<N> blocks{};
        for (std::size_t d = 0; d < N; ++d) {
            const std::int64_t processes = block.dimensions()[d].processes();
            blocks[d] = std::max<std::int64_t>(1, (extents[d] + processes - 1) / processes);
            if (!grid.empty()) REQUIRE(processes == grid[d]);
        }
        check_against_definition<N>("Block", block, extents, ranks, blocks);
        REQUIRE(block.one_round());
        for (int rank = 0; rank < ranks; ++rank) REQUIRE(block.domain_count(Rank{rank}) <= 1);

        blocks.fill(1);
        const BlockCyclicMap<N> cyclic = Cyclic{grid}.map(extents, ranks);
        check_against_definition<N>("Cyclic", cyclic, extents, ranks, blocks);
        for (int rank = 0; rank < ranks; ++rank) REQUIRE(cyclic.domain_count(Rank{rank}) <= 1);

        const std::vector<std::int64_t> sizes = test::random_blocks<N>(random);
        std::copy(sizes.begin(), sizes.end(), blocks.begin());
        check_against_definition<N>("BlockCyclic", BlockCyclic{sizes, grid}.map(extents, ranks), extents, ranks,
                                    blocks);
    }
}

} // namespace

static_assert(Distribution<Block, 1> && Distribution<Block, 4> && Distribution<Cyclic, 3>);
static_assert(Distribution<BlockCyclic, 2> && Distribution<Replicated, 2>);
static_assert(ReplicatedDistribution<Replicated> && !ReplicatedDistribution<Block>);
static_assert(Distribution<example::Triangular, 2> && !Distribution<example::Triangular, 1> && !Distribution<int, 1>);

TEST_CASE("maps of one dimension agree with the definition") { check_random_maps<1>(1, 300); }
TEST_CASE("maps of two dimensions agree with the definition") { check_random_maps<2>(2, 200); }
TEST_CASE("maps of three dimensions agree with the definition") { check_random_maps<3>(3, 100); }
TEST_CASE("maps of four dimensions agree with the definition") { check_random_maps<4>(4, 60); }

TEST_CASE("a replicated map is whole at rank 0") {
    const Extents extents{3, 5};
    const auto map = Replicated{}.map(extents, 7);
    CHECK(test::check_map<2>(map, extents, 1).size() == 15);
    CHECK(map.local_capacity() == 15);
    CHECK(map.domain(Rank{0}, 0) == Domain{extents});
}

TEST_CASE("a user-defined distribution: a triangle") {
    for (const int ranks : {1, 2, 3, 7})
        for (const int n : {0, 1, 2, 5, 16}) {
            const Extents extents{n, n};
            const auto map = example::Triangular{}.map(extents, ranks);
            const auto places = test::check_map<2>(map, extents, ranks);
            REQUIRE(places.size() == static_cast<std::size_t>(n * (n + 1) / 2));
            for (const auto& place : places) REQUIRE(place.first[0] >= place.first[1]);
        }
}

TEST_CASE("large extents: owners and places beyond 32 bits, without tables") {
    const std::int64_t n = 3'000'000'000'000;
    const int ranks = 100'000;
    const auto block = Block{}.map(Extents{n}, ranks);
    CHECK(block.locate({n - 1}).owner == Rank{ranks - 1});
    CHECK(block.local_capacity() == static_cast<std::uint64_t>(n / ranks));
    CHECK(block.domain(Rank{1}, 0) == Domain<1>{Range{n / ranks, 2 * (n / ranks)}});
    const auto cyclic = Cyclic{}.map(Extents{n}, ranks);
    CHECK(cyclic.locate({n - 1}).owner == Rank{ranks - 1});
    CHECK(cyclic.locate({n - 1}).offset == static_cast<std::uint64_t>(n / ranks) - 1);
    const auto dealt = BlockCyclic{{1'000'003}}.map(Extents{n}, ranks);
    const std::int64_t index = n - 12345;
    CHECK(dealt.locate({index}).owner.value == index / 1'000'003 % ranks);
    CHECK(dealt.locate({index}).offset ==
          static_cast<std::uint64_t>(index / 1'000'003 / ranks * 1'000'003 + index % 1'000'003));
    CHECK(sizeof(dealt) <= 128); // whatever the number of ranks
}

TEST_CASE("grids and blocks that do not fit are refused") {
    const Extents extents{10, 10};
    CHECK_THROWS_WITH(
        (Block{.grid = {2, 3}}.map(extents, 4)),
        "Block{.grid = {2, 3}}: the product of the processes must be the 4 ranks of the team; use 0 where the "
        "number may be chosen");
    CHECK_THROWS_WITH((Cyclic{.grid = {3, 0}}.map(extents, 4)), Catch::Contains("must divide the 4 ranks"));
    CHECK_THROWS_WITH((Block{.grid = {4}}.map(extents, 4)), Catch::Contains("1 numbers for 2 dimensions"));
    CHECK_THROWS_WITH((Block{.grid = {-2, -2}}.map(extents, 4)), Catch::Contains("-2 processes in dimension 0"));
    CHECK_THROWS_WITH((BlockCyclic{.block = {4, 0}}.map(extents, 4)),
                      "BlockCyclic{.block = {4, 0}}: the size 0 of dimension 1 must be at least 1");
    CHECK_THROWS_WITH((BlockCyclic{}.map(extents, 4)), Catch::Contains("0 sizes for 2 dimensions"));
    const std::int64_t large = std::int64_t{1} << 40;
    CHECK_THROWS_AS((Block{}.map(Extents{large, large}, 4)), RangeError);
    CHECK_NOTHROW(Block{}.map(Extents{large, std::int64_t{1} << 23}, 4));
}
