// Copies that are read at random: a table finds them.
#include "tests/arrays/array_test.hpp"

#include <lapwing/patterns.hpp>

#include <algorithm>
#include <utility>
#include <vector>

using namespace lapwing;

namespace {

/// What is read of the blocks is the round's.
void check_blocks(const GlobalArray<double, 2>& array, const std::vector<Domain<2>>& blocks, std::uint64_t round) {
    test::Mismatches wrong;
    for (const Domain<2>& block : blocks)
        for (const Index<2>& index : block)
            wrong.check(array(index) == test::value_of<double>(round + test::position_of(array.extents(), index)),
                        index);
    CHECK(wrong.text() == "none");
}

} // namespace

TEST_CASE("elements that are read at random are found by a table, whether all are copied or scattered ones") {
    Runtime runtime;
    const std::int64_t n = 1500;
    for (const bool consistent : {true, false})
        for (const std::int64_t step : {1, 3, 40, 700}) { // all; many in each group of a table; some; too few
            INFO("consistent " << consistent << ", every " << step);
            GlobalArray<std::int32_t, 1> array{runtime, {n}, Block{}, {.name = "scattered"}};
            GlobalArray<double, 2> plane{runtime, {50, n / 50}, Cyclic{}, {.name = "plane"}};
            test::number_elements(array, 7);
            test::number_elements(plane, 9);
            const PrefetchOptions options{.consistent = consistent};
            std::vector<Domain<1>> some;
            std::vector<Domain<2>> some_of_plane;
            for (std::int64_t i = 0; i < n; i += step) {
                // Runs of one and of two; the plane's lie in all of its rows.
                some.push_back(Domain<1>{Range{i, std::min(n, i + 1 + i % 2)}});
                some_of_plane.push_back(
                    Domain<2>{Range{i / (n / 50), i / (n / 50) + 1}, Range{i % (n / 50), i % (n / 50) + 1}});
            }
            if (step == 1) array.prefetch(AllToAll{}, options);
            else array.prefetch([some](const Domain<1>&) { return some; }, options);
            plane.prefetch([some_of_plane](const Domain<2>&) { return some_of_plane; }, options);
            for (const std::uint64_t round : {7U, 30U}) {
                if (round == 30) {
                    test::number_elements(array, round);
                    if (!consistent) array.update();
                }
                test::Mismatches wrong;
                for (const Domain<1>& one : some)
                    for (const Index<1>& index : one) {
                        const auto value = test::value_of<std::int32_t>(round + static_cast<std::uint64_t>(index[0]));
                        wrong.check(std::as_const(array)(index) == value, index);
                    }
                CHECK(wrong.text() == "none");
                array.barrier();
            }
            check_blocks(plane, some_of_plane, 9);
            plane.barrier();
            array.close();
            plane.close();
        }
    runtime.close();
}
