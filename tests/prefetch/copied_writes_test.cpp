// Element writes of cached arrays beside prefetched copies: they go to the copies, too, also where a loop along a row
// writes straight into the cache's pages. Each rank writes elements of the rank after it.
#include "src/support/process_fence.hpp"
#include "tests/arrays/array_test.hpp"
#include "tests/prefetch/ragged_columns.hpp"

#include <lapwing/patterns.hpp>
#include <lapwing/prefetch.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using namespace lapwing;

namespace {

constexpr std::int64_t rows = 4; ///< of each rank
constexpr std::int64_t columns = 300;

[[nodiscard]] CacheOptions pages_of(std::uint64_t bytes) {
    return {.mode = CacheMode::epoch, .bytes = 48 * bytes, .page_bytes = bytes, .dirty_pages = 16, .adapt = false};
}

/// Whether loops over elements of `target` can write into pages.
[[nodiscard]] bool has_pages(const Window& window, Rank target) {
    return test::uses_page_tables(window, target) && detail::support::can_fence_all_threads();
}

[[nodiscard]] std::vector<Domain<2>> columns_of(std::int64_t height, std::int64_t first, std::int64_t last) {
    return {Domain<2>{{0, height}, {first, last}}};
}

/// A matrix of which each rank has some rows, and what it holds.
template <class T>
class Written {
public:
    Written(Runtime& runtime, const CacheOptions& cache, const std::string& name = "written")
        : runtime_{runtime},
          array{runtime, {rows * runtime.size(), columns}, Block{.grid = {0, 1}}, {.name = name, .cache = cache}},
          expected_(static_cast<std::size_t>(rows * runtime.size() * columns)) {
        array.fill(T{});
    }
    void prefetch(const std::vector<Domain<2>>& domains, const PrefetchOptions& options) {
        array.prefetch([domains](const Domain<2>&) { return domains; }, options);
        fill();
    }
    /// Automatic copies, so that no read after the writes fills them. Own elements have none, and may be written by
    /// others by now.
    void fill() {
        for (const Index<2>& index : array.domain())
            if (!array.is_local(index)) (void)array(index).get();
    }
    [[nodiscard]] std::int64_t first_row(Rank of) const { return of.value * rows; }

    /// All ranks write; each keeps what it may know before the next barrier: its own writes. Returns how many of those
    /// had a copy.
    template <class Indices>
    std::uint64_t write(Indices indices) {
        ++round_;
        std::uint64_t copied = 0;
        indices(first_row(test::next(runtime_)), [&](const Index<2>& index) {
            array(index) = value(index);
            at(index) = value(index);
            copied += array.is_prefetched(index) ? 1 : 0;
        });
        return copied;
    }
    /// After a barrier.
    template <class Indices>
    void learn(Indices indices) {
        for (int owner = 0; owner < runtime_.size(); ++owner)
            indices(first_row(Rank{owner}), [&](const Index<2>& index) { at(index) = value(index); });
    }
    /// What of the next rank's rows is not as expected.
    [[nodiscard]] std::string wrong_next() {
        const Domain<2> next = array.local_domain(test::next(runtime_));
        test::Mismatches wrong;
        for (const Index<2>& index : next) wrong.check(is_right(index), index);
        return wrong.text();
    }
    [[nodiscard]] std::string wrong() {
        test::Mismatches wrong;
        for (const Index<2>& index : array.domain()) wrong.check(is_right(index), index);
        return wrong.text();
    }
    [[nodiscard]] std::uint64_t count(Counter counter) const { return array.statistics()[counter]; }

private:
    [[nodiscard]] bool is_right(const Index<2>& index) {
        const T value = array(index);
        return value == at(index);
    }
    [[nodiscard]] T value(const Index<2>& index) const {
        return static_cast<T>(static_cast<int>((round_ * 31 + index[0] * 7 + index[1]) % 113));
    }
    [[nodiscard]] T& at(const Index<2>& index) {
        return expected_[static_cast<std::size_t>(index[0] * columns + index[1])];
    }

    Runtime& runtime_;

public:
    GlobalArray<T, 2> array;

private:
    std::vector<T> expected_;
    std::int64_t round_ = 0;
};

/// Loops along rows of a rank, forwards, backwards, with strides, and several in turn.
template <class Use>
void loops(std::int64_t first, Use use) {
    for (std::int64_t j = 0; j < columns; ++j) use(Index<2>{first, j});
    for (std::int64_t j = columns; j-- > 0;) use(Index<2>{first + 1, j});
    for (std::int64_t j = 40; j < columns; j += 3) use(Index<2>{first + 2, j});
    for (std::int64_t j = 130; j < 170; ++j)
        for (const std::int64_t i : {first + 3, first}) use(Index<2>{i, j});
}
constexpr auto all_loops = [](std::int64_t first, auto use) { loops(first, use); };

template <class T>
void read_back(Runtime& runtime, std::uint64_t page_bytes) {
    const std::int64_t height = rows * runtime.size();
    const std::vector<std::vector<Domain<2>>> patterns{{Domain<2>{{0, height}, {0, columns}}},
                                                       columns_of(height, 0, 150),
                                                       columns_of(height, 101, 203),
                                                       {Domain<2>{{0, height}, Range{0, columns}.by(3)}},
                                                       test::ragged_columns(height, 0, columns, columns)};
    for (const bool consistent : {true, false})
        for (const PrefetchStorage storage : {PrefetchStorage::by_index, PrefetchStorage::by_owner})
            for (std::size_t k = 0; k < patterns.size(); ++k) {
                INFO(sizeof(T) << " bytes, pages of " << page_bytes << ", consistent " << consistent << ", by owner "
                               << (storage == PrefetchStorage::by_owner) << ", pattern " << k);
                Written<T> tested{runtime, pages_of(page_bytes)};
                tested.prefetch(patterns[k], {.consistent = consistent, .storage = storage});
                for (int round = 0; round < 2; ++round) {
                    const std::uint64_t before = tested.count(Counter::prefetch_writes);
                    const std::uint64_t copied = tested.write(all_loops);
                    CHECK(tested.wrong_next() == "none");
                    CHECK(tested.count(Counter::prefetch_writes) - before == copied);
                    tested.array.barrier();
                    tested.learn(all_loops);
                    if (!consistent) tested.array.update();
                    CHECK(tested.wrong() == "none");
                    tested.array.barrier();
                    tested.fill();
                }
            }
}

} // namespace

TEST_CASE("what loops over rows write is in the pages and in the copies, whatever part of the rows is copied") {
    Runtime runtime;
    for (const std::uint64_t page_bytes : {256U, 1024U}) {
        read_back<std::uint8_t>(runtime, page_bytes);
        read_back<std::int16_t>(runtime, page_bytes);
        read_back<float>(runtime, page_bytes);
        read_back<double>(runtime, page_bytes);
    }
    read_back<std::complex<double>>(runtime, 1024);
}

TEST_CASE("loops write into pages beside copies, and where nothing is copied") {
    Runtime runtime;
    const std::int64_t height = rows * runtime.size();
    for (const bool consistent : {true, false})
        for (const auto& pattern : {columns_of(height, 0, columns), columns_of(height, 101, 203)}) {
            Written<double> tested{runtime, pages_of(1024)};
            tested.prefetch(pattern, {.consistent = consistent});
            const std::uint64_t before = tested.count(Counter::cache_hits);
            (void)tested.write([](std::int64_t first, auto use) {
                for (std::int64_t i = first; i < first + rows; ++i)
                    for (std::int64_t j = 0; j < columns; ++j) use(Index<2>{i, j});
            });
            if (has_pages(tested.array.window(), test::next(runtime)))
                CHECK(tested.count(Counter::cache_hits) - before > rows * columns * 9 / 10);
            tested.array.barrier();
        }
}

TEST_CASE("copies come and go between the writes to a row") {
    Runtime runtime;
    const std::int64_t height = rows * runtime.size();
    for (const bool consistent : {true, false}) {
        INFO("consistent " << consistent);
        const PrefetchOptions options{.consistent = consistent};
        Written<std::int32_t> tested{runtime, pages_of(1024)};
        const auto write = [&] {
            (void)tested.write(all_loops);
            CHECK(tested.wrong_next() == "none");
        };
        const auto meet = [&] {
            tested.array.barrier();
            tested.learn(all_loops);
        };
        for (int round = 0; round < 3; ++round) {
            write();
            meet();
            tested.prefetch(columns_of(height, 0, 150), options);
            write();
            meet();
            tested.prefetch(columns_of(height, 100, columns), options); // more of the same rows
            write();
            meet();
            if (!consistent) tested.array.update();
            CHECK(tested.wrong() == "none");
            tested.array.barrier();
            tested.array.evict();
            write();
            meet();
            CHECK(tested.wrong() == "none");
            tested.array.barrier();
        }
    }
}

TEST_CASE("arrays that are written in turn keep to their own copies") {
    Runtime runtime;
    const std::int64_t height = rows * runtime.size();
    Written<double> a{runtime, pages_of(1024), "a"};
    Written<double> b{runtime, pages_of(1024), "b"};
    Written<double> bare{runtime, pages_of(1024), "bare"};
    a.prefetch(columns_of(height, 0, columns), {.consistent = false});
    b.prefetch(columns_of(height, 0, 77), {});
    (void)a.write([&](std::int64_t first, auto use) {
        loops(first, [&](const Index<2>& index) {
            use(index);
            const auto same = [&](std::int64_t, auto use_too) { use_too(index); };
            (void)b.write(same);
            (void)bare.write(same);
        });
    });
    CHECK(a.wrong_next() == "none");
    CHECK(b.wrong_next() == "none");
    CHECK(bare.wrong_next() == "none");
    runtime.barrier();
}

TEST_CASE("what loops write is in the slices of a Prefetch on the array's window, too, while there is one") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    const Rank next = test::next(runtime);
    Written<std::int64_t> tested{runtime, pages_of(1024)};
    tested.prefetch(columns_of(rows * runtime.size(), 0, 200), {});
    (void)tested.write(all_loops); // the array knows its own copies by now
    {
        Prefetch ahead{tested.array.window(), {.consistent = false}};
        for (int round = 0; round < 3; ++round) {
            const PrefetchedSlice slice = ahead.request(next);
            ahead.update();
            (void)tested.write(all_loops);
            CHECK(tested.wrong_next() == "none");
            test::Mismatches wrong;
            std::uint64_t k = 0;
            for (const Index<2>& index : tested.array.local_domain(next))
                wrong.check(ahead.read<std::int64_t>(slice, k++) == tested.array(index), index);
            // A store to an element of the node is seen by no copy.
            if (tested.array.window().path(next) != Path::direct) CHECK(wrong.text() == "none");
            ahead.evict();
            (void)tested.write(all_loops);
            CHECK(tested.wrong_next() == "none");
        }
    }
    (void)tested.write(all_loops);
    CHECK(tested.wrong_next() == "none");
    runtime.barrier();
}

TEST_CASE("loops write to copies in the halo") {
    Runtime runtime;
    const std::int64_t height = rows * runtime.size();
    for (const bool consistent : {true, false}) {
        GlobalArray<double, 2> array{
            runtime, {height, columns}, Block{.grid = {0, 1}}, {.name = "halo", .cache = pages_of(256), .halo = 1}};
        array.fill(1);
        array.prefetch(Stencil{}, {.consistent = consistent, .storage = PrefetchStorage::halo});
        const std::int64_t below = (runtime.rank().value + 1) * rows;
        if (below < height) {
            (void)array(below, 0).get();
            for (std::int64_t j = 0; j < columns; ++j) array(below, j) = static_cast<double>(j);
            const auto halo = array.halo_view();
            test::Mismatches wrong;
            for (std::int64_t j = 0; j < columns; ++j) {
                const auto expected = static_cast<double>(j);
                wrong.check(array(below, j) == expected && halo(below, j) == expected, Index<2>{below, j});
            }
            CHECK(wrong.text() == "none");
        }
        array.barrier();
        if (runtime.rank().value > 0) CHECK(array.local(below - rows, columns - 1) == columns - 1);
        array.barrier();
    }
}

TEST_CASE("threads read back what they write while another has the copies filled again and again") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    constexpr std::int64_t each = 900;
    GlobalArray<std::int64_t, 1> array{
        runtime, {each * runtime.size()}, Block{}, {.name = "filled", .cache = pages_of(256)}};
    array.fill(0);
    array.prefetch(AllToAll{});
    const std::int64_t begin = test::next(runtime).value * each;
    for (const std::int64_t writers : {1, 2}) {
        std::atomic<bool> done{false};
        std::atomic<std::int64_t> wrong{0};
        {
            std::jthread filler{[&] {
                while (!done.load()) {
                    array.acquire();
                    (void)array(begin + each - 1).get(); // nobody writes it
                }
            }};
            std::vector<std::jthread> threads;
            for (std::int64_t t = 0; t < writers; ++t)
                threads.emplace_back([&, first = begin + 300 * t] {
                    for (std::int64_t round = 1; round <= 60; ++round) {
                        for (std::int64_t i = first; i < first + 300; ++i) array(i) = round * i;
                        for (std::int64_t i = first + round % 7; i < first + 300; i += 50)
                            wrong += array(i) != round * i ? 1 : 0;
                    }
                });
            for (std::jthread& thread : threads) thread.join();
            done = true;
        }
        CHECK(wrong == 0);
        array.barrier();
        const std::int64_t own = runtime.rank().value * each;
        std::int64_t lost = 0;
        for (std::int64_t i = own; i < own + 300 * writers; ++i) lost += array.local(i) != 60 * i ? 1 : 0;
        CHECK(lost == 0);
        array.barrier();
    }
}
