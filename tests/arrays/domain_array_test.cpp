// Arrays over domains: lower bounds, strides, slices by index, and alignment.
#include "tests/arrays/array_test.hpp"

#include <lapwing/domain_array.hpp>

#include <numeric>
#include <vector>

using namespace lapwing;

namespace {

[[nodiscard]] double value_at(const Index<2>& index) { return static_cast<double>(100 * index[0] + index[1]); }

template <std::size_t N>
void fill_by_index(DomainArray<double, N>& array) {
    array.for_each_local([](const Index<N>& index, double& element) {
        if constexpr (N == 1) element = static_cast<double>(index[0]);
        else element = value_at(index);
    });
    array.barrier();
}

} // namespace

TEST_CASE("elements are read and written by the indices of the domain") {
    Runtime runtime;
    const Domain<2> domain{{-3, 8}, Range{1, 30}.by(4)};
    for (const auto& make :
         {+[](Runtime& all, const Domain<2>& of) { return DomainArray<double, 2>{all, of, Block{}, {.name = "d"}}; },
          +[](Runtime& all, const Domain<2>& of) {
              return DomainArray<double, 2>{all, of, Cyclic{}, {.name = "d"}};
          }}) {
        DomainArray<double, 2> array = make(runtime, domain);
        CHECK(array.size() == 11 * 8);
        fill_by_index(array);
        test::Mismatches mismatches;
        for (const Index<2>& index : domain) {
            mismatches.check(std::as_const(array)(index) == value_at(index), index);
            mismatches.check(array.is_local(index) == (array.owner(index) == runtime.rank()), index);
            if (array.is_local(index)) mismatches.check(array.local(index[0], index[1]) == value_at(index), index);
        }
        CHECK(mismatches.text() == "none");
        array.barrier();
        if (runtime.rank() == Rank{0}) array(-3, 29) = 7;
        if (runtime.rank() == Rank{0}) array(7, 1) += 1;
        array.barrier();
        CHECK(array(-3, 29) == 7);
        CHECK(array(7, 1) == value_at({7, 1}) + 1);
        CHECK_THAT(test::message_of<RangeError>([&] { static_cast<void>(array(-4, 1)); }),
                   test::says({"GlobalArray(\"d\")", "(-4, 1)", "[-3, 8)", "[1, 30) by 4"}));
        CHECK_THROWS_AS(array(0, 2), RangeError);
        CHECK_THROWS_AS(array(0, -3), RangeError);
        CHECK_THROWS_AS(array(0, 33), RangeError);
        CHECK_THROWS_AS(array.owner(8, 1), RangeError);
        array.barrier();
        CHECK_FALSE(array.closed());
        array.close();
        CHECK(array.closed());
        CHECK_THROWS_AS(array(0, 1), UsageError);
    }
    DomainArray<double, 2> closed;
    CHECK(closed.closed());
    CHECK_THROWS_AS(closed(0, 1), UsageError);
}

TEST_CASE("slices are taken by index") {
    Runtime runtime;
    DomainArray<double, 2> array{runtime, {{1, 21}, Range{-10, 30}.by(2)}, BlockCyclic{{3, 2}}, {.name = "source"}};
    DomainArray<double, 1> every_fourth{runtime, Range{1, 21}.by(4), Cyclic{}};
    fill_by_index(array);
    every_fourth.slice() = array(Range{1, 21}.by(4), 6);
    for (const std::int64_t i : every_fourth.domain().range(0)) CHECK(every_fourth(i) == value_at({i, 6}));
    every_fourth.barrier();

    std::vector<double> block(3 * 4);
    array(Range{5, 8}, reversed(Range{0, 16}.by(4))).get(block);
    for (std::size_t k = 0; k < block.size(); ++k)
        CHECK(block[k] == value_at({5 + static_cast<std::int64_t>(k / 4), 12 - 4 * static_cast<std::int64_t>(k % 4)}));
    std::vector<double> row(20);
    std::as_const(array)(20, all).get(row);
    CHECK(row[19] == value_at({20, 28}));

    array.barrier();
    array(Domain<2>{{1, 3}, Range{-10, -5}.by(2)}).fill(1);
    CHECK(array(2, -6) == 1);
    CHECK(array(2, -4) == value_at({2, -4}));
    CHECK_THAT(test::message_of<RangeError>([&] { static_cast<void>(array(all, Range{-10, 30})); }),
               test::says({"GlobalArray(\"source\")(…)", "dimension 1", "[-10, 29) by 2"}));
    CHECK_THROWS_AS(array(Range{0, 3}, all), RangeError);
    CHECK_THROWS_AS(array(Range{1, 22}, all), RangeError);
    CHECK_THROWS_AS(array(all, 7), RangeError);
    CHECK(array(all, Range{5, 5}).extent(1) == 0);
    array.barrier();
    array.close();
    every_fourth.close();
}

TEST_CASE("arrays over parts of a space have an index at the same rank") {
    Runtime runtime;
    const Domain<2> space{{0, 17}, {-4, 19}};
    const std::vector<Domain<2>> parts{
        space, {{1, 16}, {-3, 18}}, {Range{0, 17}.by(4), Range{-4, 19}.by(3)}, {{5, 6}, {0, 19}}, {{4, 4}, {0, 19}}};
    const auto check = [&](const auto& distribution) {
        const Aligned aligned{space, distribution};
        DomainArray<double, 2> whole{runtime, space, aligned};
        fill_by_index(whole);
        for (const Domain<2>& domain : parts) {
            DomainArray<double, 2> part{runtime, domain, aligned, {.name = "part"}};
            test::Mismatches mismatches;
            for (const Index<2>& index : domain) mismatches.check(part.owner(index) == whole.owner(index), index);
            part.slice() = whole(domain);
            part.for_each_local([&](const Index<2>& index, double& element) {
                mismatches.check(element == value_at(index), index);
                element = -whole.local(index[0], index[1]);
            });
            whole(domain) = part.slice();
            for (const Index<2>& index : space)
                mismatches.check(whole(index) == (domain.contains(index) ? -value_at(index) : value_at(index)), index);
            CHECK(mismatches.text() == "none");
            whole.barrier();
            fill_by_index(whole);
            part.close();
        }
        whole.close();
    };
    check(Block{});
    check(Cyclic{});
    check(BlockCyclic{{3, 4}});
    check(Block{.grid = {runtime.size(), 1}});
    check(test::Reversed{{3, 4}});
    CHECK_THAT(test::message_of<RangeError>([&] {
                   DomainArray<double, 2>(runtime, {{0, 18}, {0, 3}}, Aligned{space, Block{}}, {.name = "out"});
               }),
               test::says({"GlobalArray(\"out\")", "[0, 18)", "[0, 17)"}));
    DomainArray<double, 2> kept{runtime, parts[1], Aligned{space, Block{}}};
    CHECK_THROWS_AS(kept.array().resize({3, 3}), RangeError);
    kept.close();
}

TEST_CASE("an aligned array gets another distribution, copies of its neighbours, and a file") {
    Runtime runtime;
    const Aligned space{Domain<1>{Range{0, 64}}, Block{}};
    DomainArray<double, 1> array{runtime, Range{1, 63}, space};
    fill_by_index(array);
    array.array().prefetch(Stencil{.depth = 1}, {.consistent = false});
    test::Mismatches mismatches;
    array.for_each_local([&](const Index<1>& index, double&) {
        const auto [i] = index;
        if (i > 1) mismatches.check(array(i - 1) == static_cast<double>(i - 1), index);
        if (i < 62) mismatches.check(array(i + 1) == static_cast<double>(i + 1), index);
    });
    CHECK(mismatches.text() == "none");
    array.array().redistribute(Cyclic{});
    CHECK(array.array().sum() == 62.0 * 63 / 2);
    CHECK(array(5) == 5);
    CHECK(array.owner(1) == Rank{0});
    array.barrier();
    array.close();
}
