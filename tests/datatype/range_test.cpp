#include <lapwing/error.hpp>
#include <lapwing/range.hpp>
#include <lapwing/triplet.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

using lapwing::Range;
using lapwing::Triplet;

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

std::set<std::int64_t> indices(const Range& range) {
    std::set<std::int64_t> result;
    for (const std::int64_t index : range) result.insert(index);
    return result;
}

/// A range of small numbers, by its definition.
Range random_range(std::mt19937& random) {
    const auto number = [&](int low, int high) {
        return std::uniform_int_distribution<std::int64_t>{low, high}(random);
    };
    const std::int64_t begin = number(-20, 20);
    return Range{begin, begin + number(-2, 40)}.by(number(1, 9));
}

} // namespace

static_assert(Range{2, 8}.size() == 6);
static_assert(Range{2, 8}.by(3).last() == 5);
static_assert(Range{8, 2}.empty());
static_assert(Range{0U, std::size_t{5}}.contains(4));

TEST_CASE("a range is half-open, and by() keeps its first index") {
    CHECK(indices(Range{2, 8}) == std::set<std::int64_t>{2, 3, 4, 5, 6, 7});
    CHECK(indices(Range{2, 8}.by(3)) == std::set<std::int64_t>{2, 5});
    CHECK(indices(Range{2, 9}.by(3)) == std::set<std::int64_t>{2, 5, 8});
    CHECK(indices(Range{-3, 20}.by(2).by(5)) == std::set<std::int64_t>{-3, 7, 17});
    CHECK(Range{2, 2}.empty());
    CHECK(Range{}.size() == 0);
    CHECK(indices(Range{7, 3}).empty());
    CHECK(Range{4, 5}.by(100) == Range{4, 5});
    CHECK(Range{2, 8}.by(3) == Range{2, 6}.by(3));
    CHECK(Range{2, 8} != Range{2, 9});
    CHECK(Range{9, 9} == Range{1, 0});
}

TEST_CASE("ranges at the ends of 64 bits") {
    const Range all{lowest, highest};
    CHECK(all.size() == std::numeric_limits<std::uint64_t>::max());
    CHECK(all.last() == highest - 1);
    CHECK(all.by(highest).last() == highest - 1);
    CHECK(indices(all.by(highest)) == std::set<std::int64_t>{lowest, -1, highest - 1});
    CHECK(all.contains(highest - 1));
    CHECK_FALSE(all.contains(highest));
    CHECK(all.intersect(Range{-2, highest}.by(highest - 1)) == Range{-2, highest}.by(highest - 1));
    CHECK(Range{highest - 2, highest}.shift(1).last() == highest);
    CHECK(indices(Range{highest - 2, highest}.shift(1)) == std::set<std::int64_t>{highest - 1, highest});
    CHECK_THROWS_AS((Range{highest - 2, highest}.shift(2)), lapwing::RangeError);
    CHECK_THROWS_AS((Range{lowest, 0}.shift(-1)), lapwing::RangeError);
    CHECK_THROWS_AS((Range{lowest, 0}.expand(1)), lapwing::RangeError);
    CHECK_THROWS_AS((Range{0, highest}.expand(highest)), lapwing::RangeError);
    CHECK_THROWS_WITH((Range{0, std::uint64_t{1} << 63}),
                      Catch::Contains("9223372036854775808 is above 2^63 - 1, the largest index"));
    CHECK_THROWS_AS(all.by(2).by(std::int64_t{1} << 62), lapwing::RangeError);
}

TEST_CASE("a stride is at least 1") {
    CHECK_THROWS_WITH((Range{0, 5}.by(0)), Catch::StartsWith("Range::by(0): the stride must be at least 1"));
    CHECK_THROWS_AS((Range{0, 5}.by(-2)), lapwing::RangeError);
}

TEST_CASE("operations on random ranges agree with sets of indices") {
    std::mt19937 random{20240501};
    for (int round = 0; round < 20000; ++round) {
        const Range a = random_range(random);
        const Range b = random_range(random);
        const std::set<std::int64_t> in_a = indices(a);
        const std::set<std::int64_t> in_b = indices(b);
        std::set<std::int64_t> in_both;
        for (const std::int64_t index : in_a)
            if (in_b.contains(index)) in_both.insert(index);
        INFO(to_string(a) << " and " << to_string(b));
        REQUIRE(in_a.size() == a.size());
        REQUIRE(indices(a.intersect(b)) == in_both);
        REQUIRE(a.intersect(b) == b.intersect(a));
        REQUIRE(a.contains(b) == (in_both == in_b));
        REQUIRE((a == b) == (in_a == in_b));
        for (std::int64_t index = -25; index < 65; ++index) REQUIRE(a.contains(index) == in_a.contains(index));
        std::set<std::int64_t> shifted;
        for (const std::int64_t index : in_a) shifted.insert(index + 3);
        REQUIRE(indices(a.shift(3)) == shifted);
        REQUIRE(a.expand(2).expand(-2) == a);
        if (!a.empty()) {
            REQUIRE(a.expand(1).first() == a.first() - a.stride());
            REQUIRE(a.expand(1).size() == a.size() + 2);
            REQUIRE(a[a.size() - 1] == *in_a.rbegin());
        }
    }
}

TEST_CASE("the intersection of large strides does not overflow") {
    // Two primes near 2^31: the common stride is near 2^62.
    const Range a = Range{1, highest}.by(2147483647LL);
    const Range b = Range{1, highest}.by(2147483629LL);
    const Range both = a.intersect(b);
    CHECK(both.first() == 1);
    CHECK(both.stride() == 2147483647LL * 2147483629LL);
    CHECK(both.size() == 3);
    // The first common index may be far from both starts.
    const Range c = Range{5, highest}.by(2147483629LL);
    const Range met = a.intersect(c);
    REQUIRE(!met.empty());
    CHECK(a.contains(met));
    CHECK(c.contains(met));
}

TEST_CASE("ranges as text") {
    CHECK(to_string(Range{0, 8}) == "[0, 8)");
    CHECK(to_string(Range{-4, -1}) == "[-4, -1)");
    CHECK(to_string(Range{0, 8}.by(3)) == "[0, 7) by 3");
    CHECK(to_string(Range{3, 3}) == "[)");
    CHECK(to_string(Range{0, highest}.shift(1)) == "[1, 9223372036854775808)");
}

TEST_CASE("a range that leaves 64 bits is refused, with the range, the call and the limit") {
    CHECK_THROWS_WITH(
        (Range{5, highest}.shift(7)),
        Catch::StartsWith("Range [5, 9223372036854775807).shift(7): the last index of the result is above "
                          "2^63 - 1") &&
            Catch::EndsWith("pass a smaller number"));
    CHECK_THROWS_WITH((Range{-highest, 0}.shift(-2)),
                      Catch::Contains(".shift(-2): the first index of the result is below -2^63") &&
                          Catch::EndsWith("pass a larger number"));
    CHECK_THROWS_WITH((Range{3, 9}.expand(highest)),
                      Catch::Contains("[3, 9).expand(9223372036854775807): the last index"));
    CHECK_THROWS_WITH((Range{0, ~std::uint64_t{0}}), Catch::Contains("18446744073709551615 is above 2^63 - 1"));
}

TEST_CASE("triplets go through indices in any order") {
    const auto indices = [](const Triplet& triplet) {
        std::vector<std::int64_t> result;
        for (std::uint64_t k = 0; k < triplet.size(); ++k) result.push_back(triplet[k]);
        return result;
    };
    using Indices = std::vector<std::int64_t>;
    CHECK(indices(Range{2, 6}) == Indices{2, 3, 4, 5});
    CHECK(indices(reversed(Range{2, 6})) == Indices{5, 4, 3, 2});
    CHECK(indices(Triplet{Range{0, 6}}.by(-2)) == Indices{5, 3, 1});
    CHECK(indices(Triplet{Range{0, 6}}.by(4)) == Indices{0, 4});
    CHECK(indices(reversed(Range{0, 6}).by(2)) == Indices{5, 3, 1});
    CHECK(indices(reversed(Range{0, 6}).by(-1)) == Indices{0, 1, 2, 3, 4, 5});
    CHECK(indices(Triplet{Range{}}.by(-3)).empty());
    CHECK(reversed(Range{1, 9}.by(3)).range() == Range{1, 9}.by(3));
    CHECK(Triplet{Range{5, 6}}.by(-7) == Triplet{Range{5, 6}});
    CHECK(to_string(reversed(Range{0, 6}.by(2))) == "4, 2, …, 0");
    CHECK(to_string(reversed(Range{0, 2})) == "1, 0");
    CHECK(to_string(Triplet{Range{3, 9}.by(2)}) == "[3, 8) by 2");
    CHECK_THROWS_AS((Triplet{Range{0, 9}}.by(0)), lapwing::RangeError);
    CHECK(indices(Triplet{Range{0, highest}}.by(lowest)) == Indices{highest - 1});
}
