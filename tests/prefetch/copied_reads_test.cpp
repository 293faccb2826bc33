// Element reads of cached arrays beside prefetched copies: what has a copy is read there, also where a loop reads
// its neighbours straight from the cache's pages. Each rank reads elements of the rank after it.
#include "tests/arrays/array_test.hpp"
#include "tests/prefetch/ragged_columns.hpp"

#include <lapwing/patterns.hpp>
#include <lapwing/prefetch.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace lapwing;

namespace {

constexpr std::int64_t rows = 3; ///< of each rank
constexpr std::int64_t columns = 300;

/// A cached matrix of which each rank has some rows. Its elements are `position * factor` for a factor that changes.
class Matrix {
public:
    explicit Matrix(Runtime& runtime, CacheMode mode = CacheMode::epoch, std::int64_t halo = 0)
        : runtime_{runtime},
          array{runtime,
                {rows * runtime.size(), columns},
                Block{.grid = {0, 1}},
                {.name = "read",
                 .cache = {.mode = mode, .bytes = 64 << 10, .page_bytes = 512, .adapt = false},
                 .halo = halo}} {
        set(1);
    }
    void set(std::int64_t factor) {
        array.for_each_local([&](const Index<2>& index, std::int64_t& element) { element = factor * position(index); });
        array.barrier();
    }
    /// What loops along the next rank's rows read wrongly, if elements have the factor `copied` where there is a copy,
    /// and `factor` where there is none. Read often enough that the cache has entered all rows, from both ends.
    [[nodiscard]] std::string wrong(std::int64_t copied, std::int64_t factor) {
        const Domain<2> next = array.local_domain(test::next(runtime_));
        test::Mismatches mismatches;
        for (int again = 0; again < 3; ++again) {
            const auto check = [&](const Index<2>& index) {
                const std::int64_t expected = (array.is_prefetched(index) ? copied : factor) * position(index);
                const std::int64_t value = array(index);
                mismatches.check(value == expected, index);
            };
            for (const Index<2>& index : next) check(index);
            for (std::int64_t i = next.first()[0]; i <= next.last()[0]; ++i)
                for (std::int64_t j = columns; j-- > 0;) check({i, j});
        }
        return mismatches.text();
    }
    /// The same of the copies alone.
    [[nodiscard]] std::string wrong_copies(std::int64_t copied) {
        test::Mismatches mismatches;
        for (const Index<2>& index : array.local_domain(test::next(runtime_))) {
            if (!array.is_prefetched(index)) continue;
            const std::int64_t value = array(index);
            mismatches.check(value == copied * position(index), index);
        }
        return mismatches.text();
    }
    void prefetch(const std::vector<Domain<2>>& domains, const PrefetchOptions& options) {
        array.prefetch([domains](const Domain<2>&) { return domains; }, options);
    }

private:
    [[nodiscard]] static std::int64_t position(const Index<2>& index) { return index[0] * columns + index[1] + 1; }

    Runtime& runtime_;

public:
    GlobalArray<std::int64_t, 2> array;
};

[[nodiscard]] std::vector<std::vector<Domain<2>>> patterns_of(std::int64_t height) {
    std::vector<Domain<2>> many;
    for (std::int64_t j = 30; j < 230; j += 20) many.push_back(Domain<2>{{0, height}, {j, j + 9}});
    return {{Domain<2>{{0, height}, {0, 40}}},
            {Domain<2>{{0, height}, {101, 203}}},
            {Domain<2>{{0, height}, {columns - 1, columns}}},
            {Domain<2>{{1, height}, {0, columns}}},
            {Domain<2>{{0, height}, {10, 30}}, Domain<2>{{0, height}, {200, 230}}},
            {Domain<2>{{0, height}, Range{60, 200}.by(3)}},
            many,
            test::ragged_columns(height, 20, 150, columns)};
}

} // namespace

TEST_CASE("what has a copy is read there, and its neighbours through the cache") {
    Runtime runtime;
    for (const auto& pattern : patterns_of(rows * runtime.size()))
        for (const bool consistent : {true, false}) {
            INFO("consistent " << consistent << ", first domain " << pattern.front().first()[1] << " of "
                               << pattern.size());
            Matrix matrix{runtime};
            CHECK(matrix.wrong(1, 1) == "none"); // the cache has entered the pages
            matrix.prefetch(pattern, {.consistent = consistent});
            CHECK(matrix.wrong(1, 1) == "none");
            matrix.array.barrier();
            matrix.set(2);
            CHECK(matrix.wrong(consistent ? 2 : 1, 2) == "none");
            matrix.array.barrier();
            matrix.set(3);
            if (!consistent) matrix.array.update();
            CHECK(matrix.wrong(3, 3) == "none");
            matrix.array.barrier();
            matrix.array.evict();
            matrix.set(4);
            CHECK(matrix.wrong(4, 4) == "none");
            matrix.array.barrier();
        }
}

TEST_CASE("pages that the cache entered before a prefetch hide none of its copies, though no acquire drops them") {
    Runtime runtime;
    const std::int64_t height = rows * runtime.size();
    for (const bool consistent : {true, false}) {
        INFO("consistent " << consistent);
        Matrix matrix{runtime, CacheMode::read_only};
        CHECK(matrix.wrong(1, 1) == "none");
        matrix.prefetch({Domain<2>{{0, height}, {10, 30}}, Domain<2>{{0, height}, {200, 230}}},
                        {.consistent = consistent});
        CHECK(matrix.wrong(1, 1) == "none");
        matrix.prefetch({Domain<2>{{0, height}, {60, 90}}}, {.consistent = consistent});
        CHECK(matrix.wrong(1, 1) == "none");
        matrix.array.barrier();
        matrix.set(2);
        if (!consistent) matrix.array.update();
        CHECK(matrix.wrong_copies(2) == "none");
        matrix.array.barrier();
    }
}

TEST_CASE("copies in the halo and pages in the cache are read beside each other") {
    Runtime runtime;
    for (const bool consistent : {true, false}) {
        INFO("consistent " << consistent);
        Matrix matrix{runtime, CacheMode::epoch, 1};
        matrix.array.prefetch(Stencil{1}, {.consistent = consistent, .storage = PrefetchStorage::halo});
        CHECK(matrix.wrong(1, 1) == "none");
        matrix.array.barrier();
        matrix.set(2);
        if (!consistent) matrix.array.update();
        CHECK(matrix.wrong(2, 2) == "none");
        matrix.array.barrier();
    }
}
