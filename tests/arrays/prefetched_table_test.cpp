// Copies that are read at random: a table finds them, and with them the local elements of a view.
#include "tests/arrays/array_test.hpp"

#include <lapwing/patterns.hpp>
#include <lapwing/prefetched_view.hpp>

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
                const auto view = array.view();
                for (const Domain<1>& one : some)
                    for (const Index<1>& index : one) {
                        const auto value = test::value_of<std::int32_t>(round + static_cast<std::uint64_t>(index[0]));
                        wrong.check(view(index) == value && std::as_const(array)(index) == value, index);
                    }
                for (const Index<1>& index : array.local_domain())
                    wrong.check(view(index) ==
                                    test::value_of<std::int32_t>(round + static_cast<std::uint64_t>(index[0])),
                                index);
                CHECK(wrong.text() == "none");
                CHECK_THROWS_AS((void)view(n), RangeError);
                CHECK_THROWS_AS((void)view(-1), RangeError);
                array.barrier();
            }
            check_blocks(plane, some_of_plane, 9);
            plane.barrier();
            array.close();
            plane.close();
        }
    runtime.close();
}

TEST_CASE(
    "the table of a view is made when a view is asked for, is counted, and takes no more than a few times the copies") {
    Runtime runtime;
    const std::int64_t block = 100'000;
    const int ranks = runtime.size();
    if (ranks > 1) {
        // The last rank has ten elements, and copies the first ones of all.
        GlobalArray<std::int32_t, 1> array{
            runtime, {block * (ranks - 1) + 10}, BlockCyclic{.block = {block}}, {.name = "small part"}};
        test::number_elements(array, 3);
        const bool last = runtime.rank().value == ranks - 1;
        const auto memory = [&] { return array.statistics()[Counter::prefetch_memory]; };
        const auto read = [&](std::int64_t count) {
            test::Mismatches wrong;
            const auto view = array.view();
            for (std::int64_t i = 0; i < (last ? count : 0); ++i)
                wrong.check(view(i) == test::value_of<std::int32_t>(3 + static_cast<std::uint64_t>(i)), Index<1>{i});
            CHECK(wrong.text() == "none");
        };
        const auto first = [last](std::int64_t count) {
            return [last, count](const Domain<1>&) { return Domain<1>{Range{0, last ? count : 0}}; };
        };
        array.prefetch(first(10), {.consistent = false});
        const std::uint64_t before = memory();
        read(10);
        CHECK(memory() == before); // no table: it would take 25 KB
        array.prefetch(first(2000), {.consistent = false});
        const std::uint64_t more = memory();
        read(2000);
        // 16 bytes for 64 elements, from the first to the last.
        const auto table = static_cast<std::uint64_t>(array.size()) / 4;
        if (last && ranks == 2) {
            CHECK(memory() - more >= table);
            CHECK(memory() - more <= table + 32);
        }
        const std::uint64_t with_table = memory();
        read(2000);
        array.prefetch(first(100), {.consistent = false}); // nothing new
        read(2000);
        CHECK(memory() == with_table); // once
        CHECK(array.statistics()[Counter::prefetch_memory_peak] == with_table);
        array.evict();
        CHECK(memory() == 0);
        array.barrier();
        array.close();
    }
    runtime.close();
}

TEST_CASE("a view that a loop holds is not disturbed by another prefetch") {
    Runtime runtime;
    const std::int64_t n = 1500;
    GlobalArray<std::int32_t, 1> array{runtime, {n}, Block{}, {.name = "held"}};
    test::number_elements(array, 7);
    const auto up_to = [](std::int64_t end) { return [end](const Domain<1>&) { return Domain<1>{Range{0, end}}; }; };
    array.prefetch(up_to(1499), {.consistent = false});
    const auto view = array.view();
    array.prefetch(up_to(n), {.consistent = false});
    const auto later = array.view();
    // Memory that was freed is in use again, and full of ones.
    std::vector<std::vector<std::byte>> used;
    for (std::size_t bytes = 16; bytes <= 1024; bytes += 16) used.emplace_back(bytes, std::byte{0xff});
    test::Mismatches wrong;
    for (std::int64_t i = 0; i < n; ++i) {
        const auto value = test::value_of<std::int32_t>(7 + static_cast<std::uint64_t>(i));
        wrong.check(view(i) == value && later(i) == value, Index<1>{i});
    }
    CHECK(wrong.text() == "none");
    array.barrier();
    array.close();
    runtime.close();
}
