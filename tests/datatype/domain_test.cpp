#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

using lapwing::Domain;
using lapwing::Extents;
using lapwing::Index;
using lapwing::Range;

namespace {

template <std::size_t N>
std::vector<Index<N>> indices(const Domain<N>& domain) {
    std::vector<Index<N>> result;
    for (const Index<N>& index : domain) result.push_back(index);
    return result;
}

} // namespace

TEST_CASE("a domain goes through its indices with the last dimension fastest") {
    const Domain<2> domain{{1, 3}, {0, 3}};
    CHECK(indices(domain) == std::vector<Index<2>>{{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}});
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (auto [i, j] : Domain{Range{0, 4}.by(3), Range{5, 10}.by(2)}) pairs.emplace_back(i, j);
    CHECK(pairs == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 5}, {0, 7}, {0, 9}, {3, 5}, {3, 7}, {3, 9}});
    CHECK(indices(Domain<1>{Range{2, 4}}) == std::vector<Index<1>>{{2}, {3}});
    CHECK(indices(Domain<3>{{0, 2}, {0, 0}, {0, 2}}).empty());
    CHECK(indices(Domain<2>{}).empty());
    const std::int64_t highest = std::numeric_limits<std::int64_t>::max();
    CHECK(indices(Domain<2>{Range{highest - 1, highest}.shift(1), Range{highest - 1, highest}.shift(1)}) ==
          std::vector<Index<2>>{{highest, highest}});
}

TEST_CASE("iteration, contains and size agree for random domains") {
    std::mt19937 random{7};
    const auto range = [&] {
        const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>{low, high}(random); };
        const int begin = number(-4, 4);
        return Range{begin, begin + number(0, 6)}.by(number(1, 3));
    };
    for (int round = 0; round < 500; ++round) {
        const Domain<3> a{range(), range(), range()};
        const Domain<3> b{range(), range(), range()};
        const std::vector<Index<3>> list = indices(a);
        REQUIRE(std::is_sorted(list.begin(), list.end()));
        REQUIRE(list.size() == a.size());
        const std::set<Index<3>> in_a(list.begin(), list.end());
        REQUIRE(in_a.size() == list.size());
        std::vector<Index<3>> both;
        for (const Index<3>& index : Domain<3>{{-6, 12}, {-6, 12}, {-6, 12}}) {
            REQUIRE(a.contains(index) == in_a.contains(index));
            if (a.contains(index) && b.contains(index)) both.push_back(index);
        }
        REQUIRE(indices(a.intersect(b)) == both);
        REQUIRE(a.contains(b) == (both.size() == b.size()));
        REQUIRE(a.contains(a.intersect(b)));
        if (!a.empty()) {
            REQUIRE(a.first() == list.front());
            REQUIRE(a.last() == list.back());
            REQUIRE(a.shift({1, -2, 3}).first() ==
                    Index<3>{list.front()[0] + 1, list.front()[1] - 2, list.front()[2] + 3});
        }
    }
}

TEST_CASE("a domain says how many dimensions it has, by either name") {
    STATIC_REQUIRE(Domain<3>::dimensions() == 3);
    STATIC_REQUIRE(Domain<3>::rank() == Domain<3>::dimensions());
}

TEST_CASE("the size of a domain is checked") {
    const std::int64_t large = std::int64_t{1} << 32;
    CHECK(Domain<2>{{0, large - 1}, {0, large + 1}}.size() == std::numeric_limits<std::uint64_t>::max());
    CHECK_THROWS_AS((Domain<2>{{0, large}, {0, large}}.size()), lapwing::RangeError);
    CHECK_THROWS_WITH((Domain<2>{{0, large}, {0, large}}.size()),
                      "Domain [0, 4294967296) x [0, 4294967296): the number of indices is above 2^64 - 1");
    CHECK(Domain<3>{{0, large}, {0, large}, {0, 0}}.size() == 0);
}

TEST_CASE("domains are written in braces up to the largest number of dimensions") {
    static_assert(lapwing::max_dimensions == 8);
    CHECK(Domain<5>{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}}.size() == 120);
    CHECK(Domain<6>{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}}.size() == 720);
    CHECK(Domain<7>{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {0, 7}}.size() == 5040);
    const Domain<8> domain{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {0, 7}, {4, 12}};
    CHECK(domain.size() == 40320);
    CHECK(domain.last() == Index<8>{0, 1, 2, 3, 4, 5, 6, 11});
}

TEST_CASE("domains as text, from extents, and grown") {
    CHECK(to_string(Domain<2>{{0, 8}, {2, 4}}) == "[0, 8) x [2, 4)");
    CHECK(Domain{Extents{3, 4U}} == Domain<2>{{0, 3}, {0, 4}});
    CHECK(Domain<2>{{1, 3}, {2, 4}}.expand(1) == Domain<2>{{0, 4}, {1, 5}});
    CHECK(Domain<2>{{1, 1}, {2, 4}} == Domain<2>{});
    CHECK(lapwing::to_string(Index<2>{3, -9}) == "(3, -9)");
    CHECK(Extents{3, -4}[1] == -4); // what uses it refuses it
}
