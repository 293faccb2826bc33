// Which positions of two slices belong to a pair of processes, compared with a look at every position.
#include "src/distribution/matching.hpp"

#include "random_maps.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

using namespace lapwing;
using detail::distribution::DimensionMap;
using detail::distribution::IndexSequence;
using detail::distribution::Match;

namespace {

using Places = std::vector<std::pair<std::int64_t, std::int64_t>>;

Places places_of(const Match& match, std::int64_t here_step, std::int64_t there_step) {
    Places places;
    std::uint64_t seen = 0;
    for (std::uint64_t repeat = 0; repeat < match.repeats; ++repeat)
        for (const detail::distribution::MatchedRun& run : match.runs)
            for (std::uint64_t k = 0; k < run.count; ++k, ++seen) {
                if (seen < match.skip || seen >= match.skip + match.count) continue;
                const auto r = static_cast<std::int64_t>(repeat);
                const auto s = static_cast<std::int64_t>(k);
                places.emplace_back(run.here + r * match.here_stride + s * here_step,
                                    run.there + r * match.there_stride + s * there_step);
            }
    return places;
}

DimensionMap random_dimension(test::Random& random, std::int64_t extent, int processes) {
    const Extents extents{extent};
    switch (random.number(0, 3)) {
    case 0: return Block{}.map(extents, processes).dimensions()[0];
    case 1: return Cyclic{}.map(extents, processes).dimensions()[0];
    case 2: return BlockCyclic{{random.number(1, 8)}}.map(extents, processes).dimensions()[0];
    default: return BlockCyclic{{random.number(1, extent)}}.map(extents, processes).dimensions()[0];
    }
}

/// A sequence of `count` indices of an extent.
IndexSequence random_sequence(test::Random& random, std::int64_t extent, std::int64_t count) {
    const std::int64_t most = count > 1 ? (extent - 1) / (count - 1) : 1;
    const std::int64_t small = random.number(0, 3) == 0 ? 20 : 3; // also above the block
    const std::int64_t stride = random.number(
        1, std::max<std::int64_t>(1, std::min<std::int64_t>(most, random.number(0, 2) == 0 ? most : small)));
    const std::int64_t first = random.number(0, extent - 1 - (count - 1) * stride);
    if (random.number(0, 3) == 0) return {first + (count - 1) * stride, -stride, static_cast<std::uint64_t>(count)};
    return {first, stride, static_cast<std::uint64_t>(count)};
}

/// Process and place of an index, by definition.
std::pair<int, std::int64_t> locate(const DimensionMap& map, std::int64_t index) {
    const auto block = static_cast<std::int64_t>(map.block());
    const std::int64_t processes = map.processes();
    return {static_cast<int>(index / block % processes), index / block / processes * block + index % block};
}

std::size_t runs(const std::vector<Match>& matches) {
    std::size_t runs = 0;
    for (const Match& match : matches) runs += match.runs.size();
    return runs;
}

} // namespace

TEST_CASE("matches hold every position once, in order, at its place on both sides") {
    test::Random random{31};
    for (int round = 0; round < 6000; ++round) {
        const std::int64_t here_extent = random.number(1, random.number(0, 1) == 0 ? 30 : 300);
        const std::int64_t there_extent = random.number(1, random.number(0, 1) == 0 ? 30 : 300);
        const int here_processes = static_cast<int>(random.number(1, 5));
        const int there_processes = static_cast<int>(random.number(1, 5));
        const DimensionMap here = random_dimension(random, here_extent, here_processes);
        const DimensionMap there = random_dimension(random, there_extent, there_processes);
        const std::int64_t least = std::min(here_extent, there_extent);
        const std::int64_t count = random.number(0, 1) == 0 ? least : random.number(1, least);
        const IndexSequence a = random_sequence(random, here_extent, count);
        const IndexSequence b = random_sequence(random, there_extent, count);
        INFO(here.block() << " over " << here_processes << ", " << there.block() << " over " << there_processes << "; "
                          << a.first << " by " << a.stride << ", " << b.first << " by " << b.stride << ", " << count);
        for (int process = 0; process < here_processes; ++process) {
            std::map<int, Places> expected;
            for (std::int64_t k = 0; k < count; ++k) {
                const auto [p, x] = locate(here, a.first + k * a.stride);
                const auto [q, y] = locate(there, b.first + k * b.stride);
                if (p == process) expected[q].emplace_back(x, y);
            }
            std::map<int, Places> found;
            for (const Match& match : detail::distribution::match(here, process, a, there, b))
                REQUIRE(found.emplace(match.process, places_of(match, a.stride, b.stride)).second);
            REQUIRE(found == expected);
        }
    }
}

TEST_CASE("matches cost periods, not elements") {
    const std::int64_t n = std::int64_t{1} << 40;
    const Extents extents{n};
    const IndexSequence all{0, 1, static_cast<std::uint64_t>(n)};
    const DimensionMap block = Block{}.map(extents, 4).dimensions()[0];
    const DimensionMap cyclic = Cyclic{}.map(extents, 4).dimensions()[0];
    const DimensionMap blocks_of_64 = BlockCyclic{{64}}.map(extents, 4).dimensions()[0];
    const DimensionMap blocks_of_48 = BlockCyclic{{48}}.map(extents, 3).dimensions()[0];
    const DimensionMap whole = Block{}.map(extents, 1).dimensions()[0];
    CHECK(runs(detail::distribution::match(block, 1, all, block, all)) == 1);
    CHECK(runs(detail::distribution::match(whole, 0, all, whole, all)) == 1);
    CHECK(runs(detail::distribution::match(block, 1, all, cyclic, all)) == 4);
    CHECK(runs(detail::distribution::match(cyclic, 1, all, block, all)) == 4);
    CHECK(runs(detail::distribution::match(block, 1, all, blocks_of_64, all)) == 4);
    CHECK(runs(detail::distribution::match(blocks_of_64, 1, all, block, all)) == 4);
    CHECK(runs(detail::distribution::match(cyclic, 1, all, blocks_of_64, all)) == 4 * 16);
    CHECK(runs(detail::distribution::match(blocks_of_64, 1, all, blocks_of_48, all)) < 3 * 8);
    // A slice that begins inside of a block takes no more.
    const IndexSequence inside{5, 3, std::uint64_t{1} << 38};
    CHECK(runs(detail::distribution::match(block, 0, inside, cyclic, inside)) == 4);
    CHECK(runs(detail::distribution::match(block, 0, inside, blocks_of_64, inside)) <= 3 * 4);
    // Very many processes.
    const DimensionMap wide = Cyclic{}.map(extents, 100'000).dimensions()[0];
    CHECK(runs(detail::distribution::match(wide, 7, all, block, all)) == 4);
    CHECK(runs(detail::distribution::match(block, 0, all, wide, all)) == 100'000);
}

TEST_CASE("of a hundred thousand processes only a process' own part is looked at") {
    constexpr int processes = 100'000;
    const Extents extents{std::int64_t{100'000'000'000}};
    const auto n = static_cast<std::uint64_t>(extents[0]);
    const auto dealt = [&](std::int64_t block) { return BlockCyclic{{block}}.map(extents, processes).dimensions()[0]; };
    struct Case {
        DimensionMap here;
        IndexSequence here_indices;
        DimensionMap there;
        IndexSequence there_indices;
    };
    const std::vector<Case> cases{
        {dealt(999), {0, 1, n}, dealt(1000), {0, 1, n}},
        {dealt(1000), {0, 1, n}, dealt(999), {0, 1, n}},
        {dealt(64), {0, 70, n / 71}, dealt(65), {0, 71, n / 71}},
        {dealt(65), {5, 71, n / 72}, dealt(64), {static_cast<std::int64_t>(n) - 1, -70, n / 72}},
        {dealt(1), {0, 3, n / 3}, dealt(65), {0, 1, n / 3}},
        {dealt(64), {0, 6'400'001, n / 6'400'002}, dealt(1), {0, 6'400'001, n / 6'400'002}},
    };
    // A look at what the others have would take seconds for each process, and minutes for all of these.
    for (const Case& one : cases) {
        std::uint64_t wrong = 0;
        std::uint64_t count = 0;
        for (int process = 0; process < processes; process += 500) {
            for (const Match& match :
                 detail::distribution::match(one.here, process, one.here_indices, one.there, one.there_indices)) {
                count += match.count;
                if (match.repeats > 1 || !match.whole()) continue;
                for (const detail::distribution::MatchedRun& run : match.runs) {
                    // The index of a place, and from it the position: the same on both sides.
                    const auto position_of = [&](const DimensionMap& map, int owner, std::int64_t place,
                                                 const IndexSequence& indices) {
                        const auto block = static_cast<std::int64_t>(map.block());
                        const std::int64_t index = (place / block * processes + owner) * block + place % block;
                        return (index - indices.first) / indices.stride;
                    };
                    if (position_of(one.here, process, run.here, one.here_indices) !=
                        position_of(one.there, match.process, run.there, one.there_indices))
                        ++wrong;
                }
            }
        }
        CHECK(wrong == 0);
        // The processes have their share, but for the ends and the pattern of the stride.
        const double share = static_cast<double>(one.here_indices.count) / 500;
        CHECK(static_cast<double>(count) > 0.5 * share - 1000);
        CHECK(static_cast<double>(count) < 2 * share + 1000);
    }
}
