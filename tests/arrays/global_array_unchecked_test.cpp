// Assertion level 0: element accesses check nothing, at() and bulk patches still do.
#define LAPWING_ASSERTION_LEVEL 0
#include "tests/arrays/array_test.hpp"

using namespace lapwing;

TEST_CASE("at() and bulk patches are checked at every level") {
    Runtime runtime;
    test::for_every_maker<double, 2>(runtime.size(), [&](const test::Maker<double, 2>& maker) {
        GlobalArray<double, 2> array = maker.make(runtime, {9, 9});
        test::number_elements(array);
        CHECK(test::misnumbered(array, maker.lower_triangle) == "none");
        CHECK_THROWS_AS(array.at(9, 0), RangeError);
        CHECK_THROWS_AS(array.at(0, -1), RangeError);
        CHECK_THROWS_AS(array.owner(0, 9), RangeError);
        std::vector<double> buffer(10);
        CHECK_THROWS_AS(array({{0, 1}, {0, 10}}).get(buffer), RangeError);
        CHECK_THROWS_AS(array({{8, 9}, {0, 9}}).get(std::span{buffer}.first(8)), RangeError);
        runtime.barrier();
    });
}
