// Class Prefetch: copies of slices of other ranks' segments. Each rank reads, and writes, the segment of the rank
// after it.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/plan.hpp>
#include <lapwing/prefetch.hpp>
#include <lapwing/recording.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace lapwing;
using test::message_of;
using test::says;

namespace {

/// A segment is a matrix of 64-bit numbers.
constexpr std::uint64_t rows = 24;
constexpr std::uint64_t columns = 16;
constexpr std::uint64_t numbers = rows * columns;
constexpr std::uint64_t row_bytes = columns * sizeof(std::int64_t);
constexpr PrefetchOptions manual{.consistent = false};

[[nodiscard]] std::int64_t value(Rank rank, std::uint64_t k, std::int64_t round = 0) {
    return 1'000'000 * round + 10'000 * (rank.value + 1) + static_cast<std::int64_t>(k);
}

struct Tested {
    explicit Tested(const PrefetchOptions& options = {}) : ahead{std::in_place, window, options} { fill(0); }

    /// Collective.
    void fill(std::int64_t round) {
        runtime.barrier();
        const auto own = window.local_as<std::int64_t>();
        for (std::uint64_t k = 0; k < numbers; ++k) own[k] = value(runtime.rank(), k, round);
        runtime.barrier();
    }
    /// How many numbers of a slice, which are those at `first`, `first` + `step`, …, are not what the owner had in a
    /// round.
    [[nodiscard]] std::uint64_t wrong(const PrefetchedSlice& slice, std::uint64_t first, std::uint64_t step,
                                      std::int64_t round) {
        std::uint64_t wrong = 0;
        for (std::uint64_t k = 0; k < slice.size() / sizeof(std::int64_t); ++k)
            wrong += ahead->read<std::int64_t>(slice, k) == value(owner, first + k * step, round) ? 0 : 1;
        return wrong;
    }

    /// The same of what the owner's segment should have.
    [[nodiscard]] std::uint64_t differing(const PrefetchedSlice& slice, std::uint64_t first, std::uint64_t step,
                                          const std::vector<std::int64_t>& expected) {
        std::uint64_t differing = 0;
        for (std::uint64_t k = 0; k < slice.size() / sizeof(std::int64_t); ++k)
            differing += ahead->read<std::int64_t>(slice, k) == expected[first + k * step] ? 0 : 1;
        return differing;
    }

    Runtime runtime{};
    Window window{runtime, numbers * sizeof(std::int64_t), {.name = "sliced"}};
    Rank owner = test::next(runtime);
    std::optional<Prefetch> ahead;
};

[[nodiscard]] Layout column() { return Layout::strided(rows, sizeof(std::int64_t), row_bytes); }

} // namespace

TEST_CASE("a slice has what its layout says, packed: the whole segment, a column, a row, a list, nothing") {
    for (const bool consistent : {true, false})
        for (const bool static_domain : {true, false}) {
            INFO("consistent " << consistent << ", static " << static_domain);
            Tested tested{{.consistent = consistent, .static_domain = static_domain}};
            Prefetch& ahead = *tested.ahead;
            const PrefetchedSlice whole = ahead.request(tested.owner);
            const PrefetchedSlice third = ahead.request(tested.owner, Offset::of<std::int64_t>(3), column());
            const PrefetchedSlice row =
                ahead.request(tested.owner, Offset{5 * row_bytes}, Layout::contiguous(row_bytes));
            const std::array<ByteBlock, 3> blocks{ByteBlock{8 * 90, 8}, ByteBlock{8 * 7, 16}, ByteBlock{8 * 200, 8}};
            const PrefetchedSlice list = ahead.request(tested.owner, Offset{0}, Layout::list(blocks));
            const PrefetchedSlice nothing = ahead.request(tested.owner, Offset{40}, Layout::contiguous(0));
            CHECK(whole.size() == numbers * 8);
            CHECK(third.size() == rows * 8);
            CHECK(nothing.size() == 0);
            CHECK(ahead.memory() == numbers * 8 + rows * 8 + row_bytes + 32);
            if (!consistent) ahead.update();
            CHECK(tested.wrong(whole, 0, 1, 0) == 0);
            CHECK(tested.wrong(third, 3, columns, 0) == 0);
            CHECK(tested.wrong(row, 5 * columns, 1, 0) == 0);
            for (const auto& [k, at] : {std::pair{0, 90}, std::pair{1, 7}, std::pair{2, 8}, std::pair{3, 200}})
                CHECK(ahead.read<std::int64_t>(list, static_cast<std::uint64_t>(k)) ==
                      value(tested.owner, static_cast<std::uint64_t>(at)));
            CHECK(ahead.access(nothing).empty());
            const std::span<const std::byte> bytes = ahead.access(third);
            REQUIRE(bytes.size() == third.size());
            std::int64_t number = 0;
            std::memcpy(&number, &bytes[8 * 11], sizeof number);
            CHECK(number == value(tested.owner, 3 + 11 * columns));
            // Another size of value: the low halves of the numbers.
            CHECK(ahead.read<std::uint32_t>(row, 2) ==
                  static_cast<std::uint32_t>(value(tested.owner, 5 * columns + 1)));
            tested.runtime.barrier();
        }
}

TEST_CASE("automatic slices change after an acquire, manual ones at an update") {
    for (const bool consistent : {true, false}) {
        INFO("consistent " << consistent);
        Tested tested{{.consistent = consistent}};
        const PrefetchedSlice slice = tested.ahead->request(tested.owner, Offset{0}, column());
        tested.ahead->update();
        CHECK(tested.wrong(slice, 0, columns, 0) == 0);
        for (std::int64_t round = 1; round < 5; ++round) {
            tested.fill(round); // ends with a barrier
            CHECK(tested.wrong(slice, 0, columns, consistent ? round : round - 1) == 0);
            tested.runtime.barrier();
            if (round % 2 == 0) {
                tested.ahead->update();
            } else {
                Completion update = tested.ahead->update_async();
                if (round == 1) update.wait();
                else
                    while (!update.test()) std::this_thread::yield();
            }
            CHECK(tested.wrong(slice, 0, columns, round) == 0);
        }
        tested.runtime.barrier();
    }
}

TEST_CASE("own writes of every kind go to all slices that have the bytes") {
    for (const bool consistent : {true, false}) {
        Tested tested{{.consistent = consistent}};
        Window& window = tested.window;
        const Rank owner = tested.owner;
        const PrefetchedSlice whole = tested.ahead->request(owner);
        const PrefetchedSlice fourth = tested.ahead->request(owner, Offset::of<std::int64_t>(4), column());
        tested.ahead->update();
        std::vector<std::int64_t> expected(numbers);
        for (std::uint64_t k = 0; k < numbers; ++k) expected[k] = value(owner, k);
        const auto at = [](std::uint64_t k) { return Offset::of<std::int64_t>(k); };
        std::array<std::int64_t, columns> fresh{};
        std::iota(fresh.begin(), fresh.end(), 7 * (tested.runtime.rank().value + 1));
        const auto expect_row = [&](std::uint64_t row) {
            for (std::uint64_t j = 0; j < columns; ++j) expected[row * columns + j] = fresh[j];
        };
        // Each writes to the first column that the second slice has, in a row of its own.
        const std::vector<std::pair<const char*, std::function<void()>>> kinds{
            {"put of a value", [&] { window.put(owner, at(4), fresh[3]), expected[4] = fresh[3]; }},
            {"put of a range", [&] { window.put(owner, at(columns), fresh), expect_row(1); }},
            {"start_put", [&] { window.start_put(owner, at(2 * columns), fresh).wait(), expect_row(2); }},
            {"put_notify", [&] { window.put_notify(owner, at(3 * columns), fresh, 0), expect_row(3); }},
            {"put of a layout",
             [&] {
                 window.put(Layout::contiguous(columns * 8), fresh.data(), owner, at(4),
                            Layout::strided(columns, 8, row_bytes));
                 for (std::uint64_t i = 0; i < columns; ++i) expected[i * columns + 4] = fresh[i];
             }},
            {"a plan",
             [&] {
                 const Layout layout = Layout::contiguous(row_bytes);
                 Plan::put(window, layout, owner, at(5 * columns), layout).execute(fresh.data());
                 expect_row(5);
             }},
            {"a recording",
             [&] {
                 Recording recording{window};
                 for (std::uint64_t j = 0; j < columns; ++j)
                     recording.put(owner, at(6 * columns + j), std::span{fresh}.subspan(j, 1));
                 recording.run();
                 expect_row(6);
             }},
            {"fetch_add",
             [&] {
                 CHECK(window.atomic<std::int64_t>(owner, at(7 * columns + 4)).fetch_add(5) ==
                       expected[7 * columns + 4]);
                 expected[7 * columns + 4] += 5;
             }},
            {"compare_swap that swaps",
             [&] {
                 (void)window.atomic<std::int64_t>(owner, at(8 * columns + 4))
                     .compare_swap(expected[8 * columns + 4], -1);
                 expected[8 * columns + 4] = -1;
             }},
            {"compare_swap that does not",
             [&] { (void)window.atomic<std::int64_t>(owner, at(9 * columns + 4)).compare_swap(-5, -1); }},
            {"add",
             [&] {
                 for (int k = 0; k < 3; ++k) window.atomic<std::int64_t>(owner, at(10 * columns + 4)).add(2);
                 expected[10 * columns + 4] += 6;
             }},
            {"store",
             [&] {
                 window.atomic<std::int64_t>(owner, at(11 * columns + 4)).store(3), expected[11 * columns + 4] = 3;
             }},
            {"a list of atomics",
             [&] {
                 const std::vector<Offset> offsets{at(12 * columns + 4), at(13 * columns), at(12 * columns + 4)};
                 std::vector<std::int64_t> before(3);
                 window.fetch(Atomic::add, owner, offsets, std::int64_t{10}, before);
                 expected[12 * columns + 4] += 20, expected[13 * columns] += 10;
             }},
            {"a list of compare_swap",
             [&] {
                 const std::vector<Offset> offsets{at(14 * columns + 4)};
                 std::vector<std::int64_t> before(1);
                 window.compare_swap(owner, offsets, expected[14 * columns + 4], std::int64_t{9}, before);
                 expected[14 * columns + 4] = 9;
             }},
            {"a put of half a number",
             [&] {
                 window.put(owner, at(15 * columns + 4), std::int32_t{-1});
                 std::memset(&expected[15 * columns + 4], 0xFF, 4);
             }},
        };
        for (int time = 0; time < 2; ++time) // the second time before the first read after an acquire
            for (const auto& [name, write] : kinds) {
                INFO("consistent " << consistent << ", " << name);
                for (std::int64_t& number : fresh) ++number;
                if (time == 1) window.acquire();
                write();
                CHECK(tested.differing(whole, 0, 1, expected) == 0);
                CHECK(tested.differing(fourth, 4, columns, expected) == 0);
            }
        tested.runtime.barrier();
        std::vector<std::int64_t> there(numbers);
        window.get(owner, Offset{0}, there);
        CHECK(there == expected);
        tested.runtime.barrier();
    }
}

TEST_CASE("several threads read slices, while one of them acquires") {
    if (!test::many_threads_allowed()) return;
    Tested tested;
    const PrefetchedSlice whole = tested.ahead->request(tested.owner);
    const PrefetchedSlice second = tested.ahead->request(tested.owner, Offset::of<std::int64_t>(2), column());
    std::atomic<std::uint64_t> wrong{0};
    for (std::int64_t round = 1; round <= 10; ++round) {
        tested.fill(round);
        {
            std::vector<std::jthread> readers;
            readers.reserve(3);
            for (int thread = 0; thread < 3; ++thread)
                readers.emplace_back([&, thread] {
                    for (int time = 0; time < 3; ++time) {
                        if (thread == 0) tested.window.acquire();
                        wrong += tested.wrong(whole, 0, 1, round) + tested.wrong(second, 2, columns, round);
                    }
                });
        }
        tested.runtime.barrier();
    }
    CHECK(wrong == 0);
}

TEST_CASE("a fill in chunks by one thread and releases by another of a cached window do not wait for each other") {
    if (!test::many_threads_allowed()) return;
    constexpr std::uint64_t bytes = std::uint64_t{4} << 20;
    constexpr std::uint64_t period = 4096;
    for (const char* const strategy : {"superpipeline", "per-block"}) {
        INFO(strategy);
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_STRATEGY", strategy}, {"LAPWING_NODE", "each"}}};
        Window window{runtime, bytes, {.name = "filled", .cache = {.mode = CacheMode::epoch}}};
        const Rank owner = test::next(runtime);
        runtime.barrier();
        const std::int64_t fills = strategy[0] == 's' ? 150 : 40;
        {
            std::atomic<bool> stop{false};
            std::jthread releases{[&] {
                while (!stop) window.release();
            }};
            Prefetch ahead{window, {.consistent = false, .static_domain = true}};
            (void)ahead.request(owner, Offset{0}, Layout::strided(bytes / period, period / 2, period));
            for (std::int64_t fill = 0; fill < fills; ++fill) {
                Completion under_way = ahead.update_async();
                // Between the blocks of the fill: within the bytes that it may touch, and none of those that it reads.
                for (std::int64_t k = 0; k < 20; ++k)
                    window.put(owner,
                               Offset{static_cast<std::uint64_t>(20 * fill + k) * 7919 % (bytes / period) * period +
                                      period / 2},
                               fill);
                under_way.wait();
            }
            stop = true;
        }
        runtime.barrier();
        std::int64_t wrong = 0;
        std::vector<std::int64_t> expected(bytes / period, 0);
        for (std::int64_t fill = 0; fill < fills; ++fill)
            for (std::int64_t k = 0; k < 20; ++k)
                expected[static_cast<std::uint64_t>(20 * fill + k) * 7919 % (bytes / period)] = fill;
        for (std::uint64_t row = 0; row < bytes / period; ++row)
            wrong +=
                window.local_as<std::int64_t>()[(row * period + period / 2) / sizeof(std::int64_t)] == expected[row]
                    ? 0
                    : 1;
        CHECK(wrong == 0);
        runtime.barrier();
    }
}

TEST_CASE("slices that were evicted are refused, others can be requested, and an object that was moved goes on") {
    Tested tested{manual};
    const PrefetchedSlice before = tested.ahead->request(tested.owner);
    tested.ahead->update();
    Completion under_way = tested.ahead->update_async();
    tested.ahead->evict();
    under_way.wait();
    CHECK(tested.ahead->memory() == 0);
    CHECK_THAT(message_of<UsageError>([&] { (void)tested.ahead->read<std::int64_t>(before, 0); }),
               says({"Prefetch::read", "evict()", "request()"}));
    CHECK_THAT(message_of<UsageError>([&] { (void)tested.ahead->access(before); }),
               says({"Prefetch::access", "evict()"}));
    tested.ahead->evict(); // of nothing
    tested.ahead->update();

    const PrefetchedSlice slice = tested.ahead->request(tested.owner, Offset{0}, column());
    tested.ahead->update();
    Prefetch moved{std::move(*tested.ahead)};
    CHECK(moved.read<std::int64_t>(slice, 1) == value(tested.owner, columns));
    CHECK_THAT(message_of<UsageError>([&] { tested.ahead->update(); }), says({"Prefetch::update", "moved"}));
    Prefetch other{tested.window};
    CHECK_THAT(message_of<UsageError>([&] { (void)other.access(slice); }),
               says({"Prefetch::access", "another Prefetch"}));
    other = std::move(moved);
    CHECK(other.read<std::int64_t>(slice, 2) == value(tested.owner, 2 * columns));
    CHECK(other.memory() == rows * sizeof(std::int64_t));
    tested.runtime.barrier();
}

TEST_CASE("a window that is closed before its slices leaves nothing of them") {
    for (const bool consistent : {true, false}) {
        Tested tested{{.consistent = consistent}};
        const PrefetchedSlice slice = tested.ahead->request(tested.owner);
        tested.ahead->update();
        tested.runtime.barrier();
        tested.window.close();
        CHECK(tested.ahead->memory() == 0);
        CHECK_THAT(message_of<UsageError>([&] { (void)tested.ahead->read<std::int64_t>(slice, 0); }),
                   says({"Prefetch::read", "window was closed"}));
        CHECK_THAT(message_of<UsageError>([&] { tested.ahead->update(); }),
                   says({"Prefetch::update", "window was closed"}));
        CHECK_THAT(message_of<UsageError>([&] { (void)tested.ahead->request(tested.owner); }),
                   says({"Prefetch::request", "closed"}));
        CHECK_THAT(message_of<UsageError>([&] { tested.ahead->evict(); }), says({"Prefetch::evict", "closed"}));
        CHECK_THAT(message_of<UsageError>([&] { Prefetch{tested.window}.update(); }), says({"closed"}));
    }
}

TEST_CASE("a window may be moved; its slices stay, and more can be requested") {
    Tested tested{manual};
    const PrefetchedSlice slice = tested.ahead->request(tested.owner);
    Window moved{std::move(tested.window)};
    tested.ahead->update();
    CHECK(tested.wrong(slice, 0, 1, 0) == 0);
    const PrefetchedSlice another = tested.ahead->request(tested.owner);
    tested.ahead->update();
    CHECK(tested.wrong(another, 0, 1, 0) == 0);
    tested.ahead.reset();
    tested.runtime.barrier();
}

TEST_CASE("slices outside of a segment are refused, with the remedy") {
    Tested tested;
    Prefetch& ahead = *tested.ahead;
    const std::string bytes = std::to_string(numbers * 8);
    CHECK_THAT(message_of<RangeError>(
                   [&] { (void)ahead.request(tested.owner, Offset{numbers * 8 + 8}, Layout::contiguous(0)); }),
               says({"Prefetch::request", std::to_string(numbers * 8 + 8), bytes, "Window::size(rank)"}));
    CHECK_THAT(
        message_of<RangeError>([&] { (void)ahead.request(tested.owner, Offset{8}, Layout::contiguous(numbers * 8)); }),
        says({"sliced", bytes}));
    CHECK_THAT(message_of<RangeError>([&] { (void)ahead.request(tested.owner, Offset{0}, Layout::contiguous(8, -8)); }),
               says({"sliced", "-8"}));
    // So many that there is no memory for a copy.
    CHECK_THAT(message_of<RangeError>([&] {
                   (void)ahead.request(tested.owner, Offset{0}, Layout::strided(std::uint64_t{1} << 50, 8, 16));
               }),
               says({"Prefetch::request", "sliced", bytes, "Window::size(rank)"}));
    CHECK_THAT(message_of<RangeError>([&] { (void)ahead.request(Rank{99}); }), says({"sliced", "99"}));
    CHECK_THAT(message_of<RangeError>([&] { (void)ahead.request(Rank{-1}, Offset{0}, column()); }),
               says({"sliced", "-1"}));
    CHECK(ahead.memory() == 0);
    const PrefetchedSlice slice = ahead.request(tested.owner, Offset{0}, column());
    CHECK_THAT(message_of<RangeError>([&] { (void)ahead.read<std::int64_t>(slice, rows); }),
               says({"Prefetch::read", "value 24 of 8 bytes", "slice of 192 bytes", "PrefetchedSlice::size()"}));
    CHECK_THAT(message_of<RangeError>([&] { (void)ahead.read<std::array<std::byte, 200>>(slice, 0); }),
               says({"value 0 of 200 bytes"}));
    CHECK(tested.wrong(slice, 0, columns, 0) == 0);
    tested.runtime.barrier();
}

TEST_CASE("fills, transfers, hits and writes of slices are counted") {
    Tested tested{manual};
    const PrefetchedSlice whole = tested.ahead->request(tested.owner);
    (void)tested.ahead->request(tested.owner, Offset{0}, column());
    tested.ahead->update();
    tested.ahead->update();
    (void)tested.ahead->access(whole);
    CHECK(tested.wrong(whole, 0, 1, 0) == 0);
    tested.window.put(tested.owner, Offset{0}, value(tested.owner, 0));
    const StatisticsValues values = tested.window.statistics();
    CHECK(values[Counter::prefetch_fills] == 2);
    CHECK(values[Counter::prefetch_transfers] == 4); // a request is one
    CHECK(values[Counter::prefetch_bytes] == 2 * 8 * (numbers + rows));
    CHECK(values[Counter::prefetch_writes] == 1);
    // Beside the copies: two plans, and since the write where the copies are.
    const std::uint64_t copies = 8 * (numbers + rows);
    CHECK(values[Counter::prefetch_memory] > copies);
    CHECK(values[Counter::prefetch_memory] < copies + 2 * 4096 + 24 * (1 + rows));
    tested.ahead->evict();
    CHECK(tested.window.statistics()[Counter::prefetch_hits] == numbers + 1);
    CHECK(tested.window.statistics()[Counter::prefetch_memory] == 0);
    CHECK(tested.window.statistics()[Counter::prefetch_memory_peak] == values[Counter::prefetch_memory]);
    tested.runtime.barrier();
}
