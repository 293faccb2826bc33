// Lists of elements of any owners: gather, scatter and atomics.
#include "tests/arrays/array_test.hpp"

#include <lapwing/error.hpp>

#include <algorithm>
#include <numeric>
#include <random>

using namespace lapwing;

namespace {

template <std::size_t N>
std::vector<Index<N>> random_indices(const Extents<N>& extents, bool lower_triangle, std::size_t count, unsigned seed) {
    std::minstd_rand random{seed};
    std::vector<Index<N>> indices;
    while (indices.size() < count) {
        Index<N> index{};
        for (std::size_t d = 0; d < N; ++d)
            index[d] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extents[d]));
        if (test::stored(lower_triangle, index)) indices.push_back(index);
    }
    return indices;
}

template <class T, std::size_t N>
void gather_and_scatter() {
    Runtime runtime;
    const Extents<N> extents = test::odd_extents<N>();
    test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
        GlobalArray<T, N> array = maker.make(runtime, extents);
        test::number_elements(array);
        const auto own = static_cast<unsigned>(runtime.rank().value);
        // Some come more than once.
        const auto indices = random_indices<N>(extents, maker.lower_triangle, 150, 7 + own);
        std::vector<T> values(indices.size());
        const auto check = [&] {
            test::Mismatches mismatches;
            for (std::size_t k = 0; k < indices.size(); ++k)
                mismatches.check(values[k] == test::value_of<T>(test::position_of(extents, indices[k])), indices[k]);
            CHECK(mismatches.text() == "none");
        };
        array.gather(indices, values);
        check();
        std::ranges::fill(values, T{});
        Completion completion = array.start_gather(indices, values);
        while (!completion.test()) runtime.progress();
        check();
        runtime.barrier();
        if (runtime.rank() == 0) {
            // The first value for an index is overwritten.
            std::vector<Index<N>> twice{indices};
            twice.insert(twice.end(), indices.begin(), indices.end());
            std::vector<T> written(twice.size(), test::value_of<T>(999));
            for (std::size_t k = 0; k < indices.size(); ++k)
                written[indices.size() + k] = test::value_of<T>(5000 + test::position_of(extents, indices[k]));
            array.scatter(twice, written);
            array.start_scatter(twice, written).wait();
            array.flush();
        }
        runtime.barrier();
        const auto changed = random_indices<N>(extents, maker.lower_triangle, 150, 7);
        test::Mismatches mismatches;
        for (const Index<N>& index : array.domain()) {
            if (!test::stored(maker.lower_triangle, index)) continue;
            const bool was_written = std::ranges::find(changed, index) != changed.end();
            const std::uint64_t number = test::position_of(extents, index) + (was_written ? 5000 : 0);
            mismatches.check(array(index) == test::value_of<T>(number), index);
        }
        CHECK(mismatches.text() == "none");
        runtime.barrier();
    });
}

} // namespace

TEST_CASE("lists of elements are gathered and scattered under every distribution") {
    gather_and_scatter<std::int64_t, 1>();
    gather_and_scatter<double, 2>();
    gather_and_scatter<test::Colour, 2>();
    gather_and_scatter<test::Particle, 3>();
}

TEST_CASE("a list of elements is a message an owner") {
    Runtime runtime;
    const std::int64_t n = 20'000;
    GlobalArray<double, 1> array{runtime, {n * runtime.size()}, Block{}};
    test::number_elements(array);
    std::vector<int> indices; // of any integer type
    indices.reserve(3000);
    std::minstd_rand random{3};
    const std::uint64_t far_owners = static_cast<std::uint64_t>(std::ranges::count_if(
        std::vector<int>(static_cast<std::size_t>(runtime.size())),
        [owner = 0, &array](int) mutable { return array.window().reachable(Rank{owner++}).empty(); }));
    for (int k = 0; k < 3000; ++k)
        indices.push_back(static_cast<int>(random() % static_cast<unsigned>(n * runtime.size())));
    std::vector<double> values(indices.size());
    const auto transfers = [&] {
        const StatisticsValues counted = array.statistics();
        return counted[Counter::service_gets] + counted[Counter::rma_gets] + counted[Counter::service_puts] +
               counted[Counter::rma_puts];
    };
    if (runtime.progress_mode() == ProgressMode::thread || runtime.network_path() == Path::service) {
        const std::uint64_t before = transfers();
        array.gather(indices, values);
        CHECK(transfers() - before <= 2 * far_owners); // 3000 distances may need a second one
        for (std::size_t k = 0; k < values.size(); ++k)
            if (values[k] != static_cast<double>(indices[k]) + 0.5)
                FAIL_CHECK("element " << indices[k] << " is " << values[k]);
        runtime.barrier();
        if (runtime.rank() == 0) {
            std::ranges::fill(values, -1.0);
            const std::uint64_t between = transfers();
            array.scatter(indices, values);
            CHECK(transfers() - between <= 2 * far_owners);
        }
    }
    runtime.barrier();
}

TEST_CASE("atomics on lists of elements, of all ranks at once") {
    Runtime runtime;
    const auto ranks = static_cast<std::int64_t>(runtime.size());
    for (const bool dealt : {false, true}) {
        const auto make = [&] {
            return dealt ? GlobalArray<std::int64_t, 1>{runtime, {97}, Cyclic{}}
                         : GlobalArray<std::int64_t, 1>{runtime, {97}, Block{}};
        };
        GlobalArray<std::int64_t, 1> array = make();
        std::vector<std::int64_t> indices(97 * 20);
        for (std::size_t k = 0; k < indices.size(); ++k) indices[k] = static_cast<std::int64_t>(k * 31 % 97);
        std::vector<std::int64_t> before(indices.size());
        array.fetch(Atomic::add, indices, 1, before);
        // In the list's order: what this rank has added to an element itself, it finds there again.
        for (std::size_t k = 97; k < indices.size(); ++k) CHECK(before[k] > before[k - 97]);
        runtime.barrier();
        CHECK(array.min() == 20 * ranks);
        CHECK(array.max() == 20 * ranks);

        // Claims: every element has one winner, and all others see it.
        array.fill(-1);
        const std::int64_t own = runtime.rank().value;
        std::vector<std::int64_t> all(97);
        std::iota(all.begin(), all.end(), 0);
        std::vector<std::int64_t> found(all.size());
        array.start_compare_swap(all, -1, own, found).wait();
        const auto won = static_cast<std::int64_t>(std::ranges::count(found, -1));
        CHECK(runtime.sum(won) == 97);
        runtime.barrier();
        for (std::size_t k = 0; k < all.size(); ++k) CHECK(array(all[k]) == (found[k] == -1 ? own : found[k]));
        runtime.barrier();

        std::vector<std::int64_t> operands(all.size());
        for (std::size_t k = 0; k < all.size(); ++k) operands[k] = 1000 * own + static_cast<std::int64_t>(k);
        array.fill(0);
        array.fetch(Atomic::max, all, operands, found);
        runtime.barrier();
        for (std::size_t k = 0; k < all.size(); ++k)
            CHECK(array(all[k]) == 1000 * (ranks - 1) + static_cast<std::int64_t>(k));
        runtime.barrier();
    }
}

TEST_CASE("wrong lists of elements are refused before anything moves") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {4, 5}, Block{}, {.name = "listed"}};
    const std::vector<Index<2>> indices{{0, 0}, {3, 5}};
    std::vector<double> values{1, 2};
    for (const bool writes : {false, true})
        CHECK_THAT(test::message_of<RangeError>([&] {
                       if (writes) array.scatter(indices, values);
                       else array.gather(indices, values);
                   }),
                   test::says({runtime.who(), "listed", writes ? ".scatter" : ".gather", "(3, 5)", "[0, 5)"}));
    std::vector<double> three(3);
    CHECK_THAT(test::message_of<RangeError>([&] { array.gather(std::vector{Index<2>{0, 0}}, three); }),
               test::says({"listed", "1 indices with 3 values"}));
    runtime.barrier();
    CHECK(array(0, 0) == 0);
    GlobalArray<double, 1> copies{runtime, {4}, Replicated{}, {.name = "copies"}};
    CHECK_THROWS_AS(copies.fetch(Atomic::add, std::vector{1}, 1.0, std::span{values}.first(1)), UsageError);
    runtime.barrier();
}
