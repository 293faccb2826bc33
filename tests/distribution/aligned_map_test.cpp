// Parts of a distributed index space, against a count of every position.
#include "examples/triangular.hpp"
#include "tests/distribution/random_maps.hpp"

#include <lapwing/aligned.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

using namespace lapwing;

namespace {

/// Every position is where the space has its index, at a place of its own, and in one domain. `dense`: no more room
/// than the fullest rank needs.
template <std::size_t N, class D>
void check(const Domain<N>& space, const D& distribution, const Domain<N>& domain, int ranks, bool dense = true) {
    const Aligned<N, D> aligned{space, distribution};
    Index<N> of_space;
    Index<N> of_domain;
    for (std::size_t d = 0; d < N; ++d) {
        of_space[d] = static_cast<std::int64_t>(space.range(d).size());
        of_domain[d] = static_cast<std::int64_t>(domain.range(d).size());
    }
    const auto whole = distribution.map(Extents<N>{of_space}, ranks);
    const auto map = aligned.part(domain).map(Extents<N>{of_domain}, ranks);
    std::map<int, std::set<std::uint64_t>> places;
    for (const Index<N>& position : Domain<N>{Extents<N>{of_domain}}) {
        Index<N> in_space;
        for (std::size_t d = 0; d < N; ++d)
            in_space[d] = (domain.range(d)[static_cast<std::uint64_t>(position[d])] - space.range(d).first()) /
                          space.range(d).stride();
        const Location found = map.locate(position);
        REQUIRE(found.owner == whole.locate(in_space).owner);
        if (found.owner.value < 0) continue;
        REQUIRE(found.offset < map.local_capacity());
        REQUIRE(places[found.owner.value].insert(found.offset).second);
        for (std::uint64_t k = 1; k < found.contiguous; ++k) {
            Index<N> next = position;
            next[N - 1] += static_cast<std::int64_t>(k);
            REQUIRE(next[N - 1] < of_domain[N - 1]);
            REQUIRE(map.locate(next).owner == found.owner);
            REQUIRE(map.locate(next).offset == found.offset + k);
        }
    }
    std::uint64_t most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        std::uint64_t listed = 0;
        for (std::uint64_t k = 0; k < map.domain_count(Rank{rank}); ++k)
            for (const Index<N>& position : map.domain(Rank{rank}, k)) {
                REQUIRE(map.locate(position).owner == Rank{rank});
                ++listed;
            }
        REQUIRE(listed == places[rank].size());
        most = std::max(most, listed);
    }
    if (dense) REQUIRE(map.local_capacity() == most);
}

Range random_part(test::Random& random, const Range& whole) {
    const auto size = static_cast<std::int64_t>(whole.size());
    const std::int64_t begin = random.number(0, size);
    const std::int64_t step = random.number(1, random.number(0, 1) == 0 ? 1 : 9);
    std::vector<std::int64_t> kept;
    for (std::int64_t k = begin; k < random.number(begin, size); k += step) kept.push_back(k);
    if (kept.empty()) return {};
    return Range::strided(whole[static_cast<std::uint64_t>(begin)], kept.size(),
                          kept.size() == 1 ? 1 : step * whole.stride());
}

Range random_space(test::Random& random, std::int64_t most) {
    return Range::strided(random.number(-50, 50), static_cast<std::uint64_t>(random.number(0, most)),
                          random.number(1, 3));
}

} // namespace

TEST_CASE("elements of part of a space are where the space has their indices") {
    test::Random random{9};
    for (int round = 0; round < 1500; ++round) {
        const auto ranks = static_cast<int>(random.number(1, 9));
        const Domain<1> line{random_space(random, 90)};
        const Domain<1> part{random_part(random, line.range(0))};
        check(line, Block{}, part, ranks);
        check(line, Cyclic{}, part, ranks);
        check(line, BlockCyclic{{random.number(1, 7)}}, part, ranks);
        check(line, Replicated{}, part, 1);
        const Domain<2> plane{random_space(random, 14), random_space(random, 14)};
        const Domain<2> patch{random_part(random, plane.range(0)), random_part(random, plane.range(1))};
        check(plane, Block{}, patch, ranks);
        check(plane, Cyclic{}, patch, ranks);
        check(plane, BlockCyclic{{random.number(1, 4), random.number(1, 4)}}, patch, ranks);
        const Range side = random_space(random, 12);
        const Domain<2> square{side, side};
        check(square, example::Triangular{}, Domain<2>{random_part(random, side), random_part(random, side)}, ranks,
              false);
    }
}

TEST_CASE("positions are counted in closed form where there are very many") {
    constexpr std::int64_t n = std::int64_t{1} << 60;
    const Aligned<1, BlockCyclic> space{Domain<1>{Range{0, n}}, BlockCyclic{{4096}}};
    const Range every_third = Range{5, n}.by(3);
    const auto map = space.part(every_third).map(Extents<1>{static_cast<std::int64_t>(every_third.size())}, 1000);
    const std::uint64_t last = every_third.size() - 1;
    const std::uint64_t index = static_cast<std::uint64_t>(every_third.last());
    const Location found = map.locate({static_cast<std::int64_t>(last)});
    CHECK(found.owner == Rank{static_cast<int>(index / 4096 % 1000)});
    // A thousandth of all, to within the blocks of one round.
    CHECK(found.offset <= last / 1000 + 4096);
    CHECK(found.offset + 4096 >= last / 1000);
    CHECK(map.local_capacity() <= last / 1000 + 4096);
}

TEST_CASE("a domain that is not in the space is refused") {
    const Aligned<1> space{Domain<1>{Range{0, 100}.by(2)}};
    CHECK_THROWS_AS(space.part(Range{0, 101}.by(50)), RangeError);
    CHECK_THROWS_AS(space.part(Range{1, 9}.by(2)), RangeError);
    CHECK_THROWS_AS(space.part(Range{0, 102}.by(2)), RangeError);
    CHECK_THROWS_AS(space.part(Range{0, 100}.by(2)).map({49}, 3), RangeError);
    static_cast<void>(space.part(Range{0, 100}.by(4)).map({25}, 3));
}
