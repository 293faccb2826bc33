// The cache of windows and arrays: what it serves, when it is invalidated, what it writes.
#include "cache/window_cache.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using lapwing::Block;
using lapwing::CacheMode;
using lapwing::CacheOptions;
using lapwing::CachePolicy;
using lapwing::Counter;
using lapwing::Cyclic;
using lapwing::GlobalArray;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::SettingError;
using lapwing::StatisticsValues;
using lapwing::Window;
using test::agree;
using test::message_of;
using test::next;
using test::previous;
using test::says;

[[nodiscard]] CacheOptions epoch() { return {.mode = CacheMode::epoch}; }

/// Whether the window is cached here: with one node there is nothing to cache.
[[nodiscard]] bool cached(const Window& window) { return window.page_tables() != nullptr; }

/// Bytes of it that this process uses.
[[nodiscard]] std::uint64_t address_space() {
    std::ifstream file{"/proc/self/statm"};
    std::uint64_t pages = 0;
    file >> pages;
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

TEST_CASE("an element loop over another rank's part takes few messages") {
    Runtime runtime;
    const std::int64_t each = 20000;
    GlobalArray<std::int64_t, 1> a{runtime, {each * runtime.size()}, Block{}, {.name = "a", .cache = epoch()}};
    for (const auto [i] : a.local_domain()) a.local(i) = 3 * i;
    runtime.barrier();
    const std::int64_t begin = next(runtime).value * each;
    const auto loop = [&] {
        std::int64_t wrong = 0;
        for (std::int64_t i = begin; i < begin + each; ++i) wrong += a(i) != 3 * i;
        return wrong;
    };
    CHECK(loop() == 0);
    if (cached(a.window()) && a.window().path(next(runtime)) != lapwing::Path::direct && runtime.size() > 1) {
        const auto values = a.statistics();
        CHECK(values[Counter::rma_gets] + values[Counter::service_gets] < 60);
        CHECK(values[Counter::cache_hits] + values[Counter::cache_misses] == static_cast<std::uint64_t>(each));
    }
    runtime.barrier();
    // And writes them.
    for (std::int64_t i = begin; i < begin + each; ++i) a(i) = 5 * i + 1;
    CHECK(a(begin + 7) == 5 * (begin + 7) + 1);
    runtime.barrier();
    std::int64_t wrong = 0;
    for (const auto [i] : a.local_domain()) wrong += a.local(i) != 5 * i + 1;
    CHECK(wrong == 0);
    if (cached(a.window()) && a.window().path(next(runtime)) != lapwing::Path::direct && runtime.size() > 1) {
        const auto values = a.statistics();
        CHECK(values[Counter::cache_write_back_bytes] == static_cast<std::uint64_t>(8 * each));
        CHECK(values[Counter::rma_puts] + values[Counter::service_puts] < 200);
    }
    runtime.barrier();
}

TEST_CASE("a list of another rank's elements is read again in few messages, as its owner has written it meanwhile") {
    Runtime runtime;
    constexpr std::int64_t pages = 700;
    constexpr std::int64_t page_elements = 128; // of a page of 1 KiB
    constexpr std::int64_t each = 2 * pages * page_elements;
    GlobalArray<std::int64_t, 1> a{runtime, {each * runtime.size()}, Block{}, {.name = "list", .cache = epoch()}};
    // In pages of their own, none beside another, in any order.
    std::vector<std::int64_t> list(pages);
    std::iota(list.begin(), list.end(), 0);
    std::mt19937_64 random{3};
    std::ranges::shuffle(list, random);
    list.resize(200);
    const std::int64_t begin = next(runtime).value * each;
    for (std::int64_t& place : list)
        place = begin + 2 * place * page_elements + static_cast<std::int64_t>(random() % page_elements);

    StatisticsValues before{};
    for (std::int64_t pass = 0; pass < 4; ++pass) {
        for (const auto [i] : a.local_domain()) a.local(i) = 3 * i + pass;
        runtime.barrier();
        before = a.statistics();
        std::int64_t wrong = a(list[0]) != 3 * list[0] + pass;
        a(list[1]) = -pass; // while its line is under way
        wrong += a(list[1]) != -pass;
        for (std::size_t i = 2; i < list.size(); ++i) wrong += a(list[i]) != 3 * list[i] + pass;
        wrong += a(list[1]) != -pass;
        CHECK(wrong == 0);
        runtime.barrier();
        CHECK(a.local(list[1] - begin + runtime.rank().value * each) == -pass);
        runtime.barrier();
    }
    if (cached(a.window()) && a.window().path(next(runtime)) != lapwing::Path::direct && runtime.size() > 1) {
        const StatisticsValues after = a.statistics();
        const auto count = [&](Counter counter) { return after[counter] - before[counter]; };
        CHECK(count(Counter::cache_misses) <= 10);
        if (a.window().path(next(runtime)) == lapwing::Path::service) CHECK(count(Counter::service_gets) <= 30);
    }
    runtime.barrier();
}

TEST_CASE("ranks that write bytes of one line do not disturb each other") {
    Runtime runtime;
    for (const CachePolicy policy : {CachePolicy::two_queues, CachePolicy::direct_mapped}) {
        const std::uint64_t bytes = 4096;
        Window window{runtime,
                      bytes,
                      {.name = "shared lines", .cache = {.mode = CacheMode::epoch, .policy = policy, .bytes = 4096}}};
        const auto ranks = static_cast<std::uint64_t>(runtime.size());
        const auto own = static_cast<std::uint64_t>(runtime.rank().value);
        for (int round = 1; round <= 4; ++round) {
            // Byte k of every part is written by rank k modulo the number of ranks; some read the line before.
            for (std::uint64_t part = 0; part < ranks; ++part) {
                const Rank target{static_cast<int>(part)};
                for (std::uint64_t k = own; k < bytes; k += ranks) {
                    if (k % 7 == 0) (void)window.get<std::uint8_t>(target, Offset{k});
                    window.put(target, Offset{k},
                               static_cast<std::uint8_t>(k * 31 + static_cast<std::uint64_t>(round) + part));
                }
            }
            runtime.barrier();
            std::uint64_t wrong = 0;
            for (std::uint64_t k = 0; k < bytes; ++k)
                wrong += window.local_as<std::uint8_t>()[k] !=
                         static_cast<std::uint8_t>(k * 31 + static_cast<std::uint64_t>(round) + own);
            CHECK(wrong == 0);
            for (std::uint64_t k = 0; k < bytes; k += 5)
                wrong += window.get<std::uint8_t>(next(runtime), Offset{k}) !=
                         static_cast<std::uint8_t>(k * 31 + static_cast<std::uint64_t>(round + next(runtime).value));
            CHECK(wrong == 0);
            runtime.barrier();
        }
    }
}

TEST_CASE("a release of many scattered writes keeps the record of what is under way bounded") {
    Runtime runtime;
    const std::uint64_t cached_bytes = std::uint64_t{200} * 2080; // further apart than the bytes of one page
    const std::uint64_t bytes = cached_bytes + std::uint64_t{200} * 64;
    Window window{runtime,
                  bytes,
                  {.name = "scattered",
                   .cache = {.mode = CacheMode::epoch, .bytes = 1U << 20, .page_bytes = 1024, .dirty_pages = 256}}};
    const Rank target = next(runtime);
    const auto value = [](std::uint64_t at) { return static_cast<std::uint8_t>(at / 32 % 251); };
    for (std::uint64_t at = 0; at < cached_bytes; at += 2080) window.put(target, Offset{at}, value(at));
    for (std::uint64_t at = cached_bytes; at < bytes; at += 64) {
        const std::uint8_t byte = value(at);
        window.put_notify(target, Offset{at}, std::span<const std::uint8_t>{&byte, 1}, 0); // past the cache
    }
    const auto before = window.statistics();
    window.release();
    const auto after = window.statistics();
    // 200 runs of the cache join 200 puts: more than the 256 that may be under way at a time. All are messages. A flush
    // that finds all complete, since the owner was quick, is none that is counted.
    if (window.path(target) == lapwing::Path::rma) {
        CHECK(after[Counter::service_flushes] - before[Counter::service_flushes] <= 2);
        CHECK(after[Counter::rma_flushes] == before[Counter::rma_flushes]);
    }
    runtime.barrier();
    std::uint64_t wrong = 0;
    for (std::uint64_t at = 0; at < bytes; at += at < cached_bytes ? 2080 : 64)
        wrong += window.local_as<std::uint8_t>()[at] != value(at) ? 1 : 0;
    CHECK(wrong == 0);
    runtime.barrier();
}

TEST_CASE("scattered bytes of cached pages travel together, and bytes between them stay as others write them") {
    Runtime runtime;
    const std::uint64_t bytes = std::uint64_t{64} * 1024;
    Window window{
        runtime,
        bytes,
        {.name = "runs", .cache = {.mode = CacheMode::epoch, .bytes = 1U << 20, .page_bytes = 1024, .adapt = false}}};
    const Rank target = next(runtime);
    auto local = window.local_as<std::uint8_t>();
    // Of each 24 bytes the owner writes the last 8, and the rank before it runs of 1 to 16 of the others.
    const auto run = [](std::uint64_t at) { return 1 + at / 24 % 16; };
    const auto value = [](int rank, std::uint64_t at) {
        return static_cast<std::uint8_t>(at % 113 + 3 * static_cast<std::uint64_t>(rank) + 1);
    };
    std::ranges::fill(local, std::uint8_t{0});
    runtime.barrier();
    const auto first = window.statistics();
    std::uint64_t runs = 0;
    for (std::uint64_t at = 0; at + 24 <= bytes; at += 24, ++runs) {
        std::array<std::uint8_t, 16> source{};
        for (std::uint64_t i = 0; i < run(at); ++i) source[i] = value(target.value, at + i);
        window.put(target, Offset{at}, std::span<const std::uint8_t>{source}.first(run(at)));
        for (std::uint64_t i = 16; i < 24; ++i) local[at + i] = value(runtime.rank().value, at + i);
    }
    window.release();
    const auto counted = window.statistics();
    if (cached(window) && window.path(target) != lapwing::Path::direct && window.path(target) != lapwing::Path::self) {
        CHECK(counted[Counter::cache_write_backs] - first[Counter::cache_write_backs] >= runs);
        const std::uint64_t puts = counted[Counter::service_puts] + counted[Counter::rma_puts] -
                                   first[Counter::service_puts] - first[Counter::rma_puts];
        CHECK(puts * 50 < runs);
    }
    runtime.barrier();
    std::uint64_t wrong = 0;
    for (std::uint64_t at = 0; at + 24 <= bytes; at += 24)
        for (std::uint64_t i = 0; i < 24; ++i) {
            const bool written = i < run(at) || i >= 16;
            wrong += local[at + i] != (written ? value(runtime.rank().value, at + i) : 0) ? 1 : 0;
        }
    CHECK(wrong == 0);
    runtime.barrier();
}

TEST_CASE("a read-only cache keeps what it has until it is invalidated") {
    Runtime runtime;
    Window window{runtime, 1024, {.name = "constants", .cache = {.mode = CacheMode::read_only}}};
    auto local = window.local_as<std::int64_t>();
    std::iota(local.begin(), local.end(), runtime.rank().value);
    runtime.barrier();
    const Rank target = next(runtime);
    CHECK(window.get<std::int64_t>(target, Offset{80}) == target.value + 10);
    runtime.barrier();
    local[10] = -1;
    runtime.barrier();
    const bool remote =
        cached(window) && window.path(target) != lapwing::Path::direct && window.path(target) != lapwing::Path::self;
    CHECK(window.get<std::int64_t>(target, Offset{80}) == (remote ? target.value + 10 : -1));
    window.invalidate_cache();
    CHECK(window.get<std::int64_t>(target, Offset{80}) == -1);
    runtime.barrier();
}

TEST_CASE("atomics, non-blocking transfers and notified puts see the cached writes before them, and are seen after") {
    Runtime runtime;
    Window window{runtime, 65536, {.name = "mixed", .cache = epoch()}};
    const Rank target = next(runtime);
    runtime.barrier();
    // Each rank uses the part of the next one alone.
    for (std::int64_t round = 1; round <= 5; ++round) {
        window.put(target, Offset{8}, round);
        CHECK(window.atomic<std::int64_t>(target, Offset{8}).fetch_add(10) == round);
        CHECK(window.get<std::int64_t>(target, Offset{8}) == round + 10);
        window.put(target, Offset{8}, round + 20);
        CHECK(window.atomic<std::int64_t>(target, Offset{8}).compare_swap(round + 20, round + 30) == round + 20);
        CHECK(window.get<std::int64_t>(target, Offset{8}) == round + 30);

        std::vector<std::int64_t> values(4000, round);
        window.put(target, Offset{1000 * 8}, round * 100);
        window.start_put(target, Offset{992 * 8}, std::span<const std::int64_t>{values}).wait();
        CHECK(window.get<std::int64_t>(target, Offset{1000 * 8}) == round);
        window.put(target, Offset{1001 * 8}, round * 1000);
        std::vector<std::int64_t> read(4000);
        window.start_get(target, Offset{992 * 8}, std::span{read}).wait();
        CHECK(read[8] == round);
        CHECK(read[9] == round * 1000);
        // A large blocking get and put pass by the cache.
        window.put(target, Offset{1002 * 8}, round * 7);
        window.get(target, Offset{992 * 8}, std::span{read});
        CHECK(read[10] == round * 7);
        window.put(target, Offset{1003 * 8}, round * 9);
        window.put(target, Offset{992 * 8}, std::span<const std::int64_t>{values});
        CHECK(window.get<std::int64_t>(target, Offset{1003 * 8}) == round);

        window.put(target, Offset{16}, round);
        window.put_notify(target, Offset{16}, std::span<const std::int64_t>{values}.first(1), 0);
        CHECK(window.get<std::int64_t>(target, Offset{16}) == round);
        window.wait_notified(0);
        CHECK(window.local_as<std::int64_t>()[2] == round);
        runtime.barrier();
        CHECK(window.local_as<std::int64_t>()[1] == round + 30);
        CHECK(window.local_as<std::int64_t>()[1003] == round);
        runtime.barrier();
    }
}

TEST_CASE("a release by one thread writes back what all have written, and an acquire is one for all") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    const std::int64_t each = 3000;
    GlobalArray<std::int32_t, 1> a{runtime, {each * runtime.size()}, Cyclic{}, {.name = "threads", .cache = epoch()}};
    for (std::int32_t round = 1; round <= 6; ++round) {
        const auto by_threads = [&](auto body) {
            std::vector<std::thread> threads;
            for (std::int64_t t = 0; t < 3; ++t) threads.emplace_back(body, t);
            for (std::thread& thread : threads) thread.join();
        };
        // Element i is written by rank i / each, by its thread i % 3.
        const std::int64_t begin = runtime.rank().value * each;
        by_threads([&](std::int64_t t) {
            for (std::int64_t i = begin + t; i < begin + each; i += 3) a(i) = static_cast<std::int32_t>(i) * round;
        });
        runtime.barrier();
        std::atomic<std::int64_t> wrong{0};
        by_threads([&](std::int64_t t) {
            for (std::int64_t i = t; i < each * runtime.size(); i += 3)
                wrong += a(i) != static_cast<std::int32_t>(i) * round;
        });
        CHECK(wrong == 0);
        runtime.barrier();
    }
}

TEST_CASE("more threads than have counters of their own are cached") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    const std::int64_t each = 2000;
    constexpr int count = 40;
    GlobalArray<std::int64_t, 1> a{runtime, {each * runtime.size()}, Block{}, {.name = "many", .cache = epoch()}};
    for (const auto [i] : a.local_domain()) a.local(i) = i;
    runtime.barrier();
    const std::int64_t begin = next(runtime).value * each;
    std::atomic<std::int64_t> wrong{0};
    std::barrier all_alive{count};
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (int t = 0; t < count; ++t)
        threads.emplace_back([&] {
            std::int64_t mine = 0;
            for (int round = 0; round < 2; ++round) {
                for (std::int64_t i = begin; i < begin + each; ++i) mine += a(i) != i;
                all_alive.arrive_and_wait(); // or a thread would take the number of one that has ended
            }
            wrong += mine;
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    if (cached(a.window()) && a.window().path(next(runtime)) != lapwing::Path::direct && runtime.size() > 1) {
        const auto values = a.statistics();
        // 16 KB take a thread some gets of pages; element by element they would be 2000.
        CHECK(values[Counter::rma_gets] + values[Counter::service_gets] < count * 40);
    }
    runtime.barrier();
}

namespace {

using Arrays = std::vector<std::unique_ptr<GlobalArray<std::int64_t, 1>>>;

std::uint64_t cache_bytes(const Arrays& arrays) {
    std::uint64_t sum = 0;
    for (const auto& array : arrays)
        if (auto* const cache = dynamic_cast<lapwing::detail::cache::WindowCache*>(array->window().state().cache()))
            sum += cache->memory_bytes();
    return sum;
}

std::int64_t wrong_elements(GlobalArray<std::int64_t, 1>& a, std::int64_t begin, std::int64_t end, int round, int w) {
    std::int64_t wrong = 0;
    for (std::int64_t i = begin; i < end; ++i) wrong += a(i) != i * round + w;
    return wrong;
}

} // namespace

TEST_CASE("the caches of all windows and threads stay within the memory that they share, and go on") {
    if (!test::many_threads_allowed()) return;
    const test::ScopedEnvironment bound{"LAPWING_CACHE_MEMORY", "4m"};
    Runtime runtime;
    constexpr int windows = 6;
    constexpr int count = 4;
    const std::int64_t each = 6000;
    Arrays arrays;
    for (int w = 0; w < windows; ++w) {
        arrays.push_back(std::make_unique<GlobalArray<std::int64_t, 1>>(
            runtime, lapwing::Extents<1>{each * runtime.size()}, Block{},
            lapwing::GlobalArrayOptions{.name = "shared", .cache = epoch()}));
        for (const auto [i] : arrays.back()->local_domain()) arrays.back()->local(i) = i + w;
    }
    const std::int64_t begin = next(runtime).value * each;
    runtime.barrier();
    for (int round = 1; round <= 4; ++round) {
        std::atomic<std::int64_t> wrong{0};
        std::vector<std::thread> threads;
        threads.reserve(count);
        std::barrier all_alive{count};
        for (int t = 0; t < count; ++t)
            threads.emplace_back([&, t] {
                std::int64_t mine = 0;
                for (int w = 0; w < windows; ++w) {
                    auto& a = *arrays[static_cast<std::size_t>(w)];
                    mine += wrong_elements(a, begin + (t == 0 ? 0 : 1), begin + each, round, w);
                    a.release(); // where those that have much give some of it back
                    if (t == 0 && w % 2 == 0)
                        a(begin) = begin * round + w; // its own element: a release by another thread may meet the write
                }
                wrong += mine;
                all_alive.arrive_and_wait();
                if (t == 0)
                    for (const auto& array : arrays) array->release();
                all_alive.arrive_and_wait();
            });
        for (std::thread& thread : threads) thread.join();
        CHECK(wrong == 0);
        CHECK(cache_bytes(arrays) <= std::uint64_t{4} << 20);
        runtime.barrier();
        for (int w = 0; w < windows; ++w)
            for (const auto [i] : arrays[static_cast<std::size_t>(w)]->local_domain())
                arrays[static_cast<std::size_t>(w)]->local(i) = i * (round + 1) + w;
        runtime.barrier();
    }
    if (cached(arrays[0]->window()) && runtime.size() > 1 &&
        arrays[0]->window().path(next(runtime)) != lapwing::Path::direct) {
        // All got something.
        for (int w = 0; w < windows; ++w) {
            INFO("window " << w);
            CHECK(arrays[static_cast<std::size_t>(w)]->statistics()[Counter::cache_hits] > 0);
        }
        CHECK(cache_bytes(arrays) > std::uint64_t{1} << 19);
    }
    while (!arrays.empty()) arrays.pop_back();
}

TEST_CASE("caches of threads that have ended give their memory to others, and no written byte is lost") {
    if (!test::many_threads_allowed()) return;
    const test::ScopedEnvironment bound{"LAPWING_CACHE_MEMORY", "4m"};
    Runtime runtime;
    const std::int64_t each = 6000;
    const auto make = [&] {
        return std::make_unique<GlobalArray<std::int64_t, 1>>(runtime, lapwing::Extents<1>{each * runtime.size()},
                                                              Block{}, lapwing::GlobalArrayOptions{.cache = epoch()});
    };
    const auto first = make();
    const auto second = make();
    for (const auto [i] : first->local_domain()) first->local(i) = second->local(i) = i;
    runtime.barrier();
    const auto memory = [](GlobalArray<std::int64_t, 1>& array) {
        return dynamic_cast<lapwing::detail::cache::WindowCache&>(*array.window().state().cache()).memory_bytes();
    };
    const std::int64_t begin = next(runtime).value * each;
    constexpr int count = 8;
    std::atomic<std::int64_t> wrong{0};
    {
        std::barrier all_alive{count};
        std::vector<std::thread> threads;
        threads.reserve(count);
        for (int t = 0; t < count; ++t)
            threads.emplace_back([&, t] {
                for (std::int64_t i = begin + count; i < begin + each; ++i) wrong += (*first)(i) != i;
                (*first)(begin + t) = -t; // written back by another thread's release
                all_alive.arrive_and_wait();
            });
        for (std::thread& thread : threads) thread.join();
    }
    CHECK(wrong == 0);
    const bool uses_cache =
        cached(first->window()) && runtime.size() > 1 && first->window().path(next(runtime)) != lapwing::Path::direct;
    // Page tables take theirs as they fill.
    if (uses_cache) CHECK(memory(*first) > std::uint64_t{5} << 19);
    first->release();
    CHECK((*second)(begin + 1) == begin + 1);
    CHECK((*second)(begin + 1) == begin + 1);
    if (uses_cache) {
        CHECK(memory(*first) == 0);
        CHECK(memory(*second) > std::uint64_t{2} << 20); // all that a cache wants
    }
    runtime.barrier();
    for (std::int64_t i = 0; i < each; ++i) {
        const std::int64_t own = runtime.rank().value * each + i;
        wrong += first->local(own) != (i < count && runtime.size() > 1 ? -i : own);
    }
    CHECK(wrong == 0);
}

TEST_CASE("a cache that there is no memory for is an error with window, bytes and settings, and the program goes on") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return; // they end the program where there is no memory
#endif
    const std::uint64_t bytes = std::uint64_t{64} << 30;
    const test::ScopedEnvironment bound{"LAPWING_CACHE_MEMORY", "200g"};
    Runtime other;
    Window window{other, 64, {.name = "w", .cache = {.mode = CacheMode::epoch, .bytes = bytes}}};
    window.local_as<int>()[0] = 5;
    other.barrier();
    const Rank target = next(other);
    if (cached(window) && window.path(target) != lapwing::Path::direct && window.path(target) != lapwing::Path::self) {
        rlimit before{};
        getrlimit(RLIMIT_AS, &before);
        rlimit little = before;
        little.rlim_cur = address_space() + (std::uint64_t{1} << 30); // less than the cache
        setrlimit(RLIMIT_AS, &little);
        for (int i = 0; i < 2; ++i)
            CHECK_THAT(
                message_of<lapwing::RangeError>([&] { (void)window.get<int>(target, Offset{0}); }),
                says({other.who(), "Window(\"w\")", "68719476736 bytes", "LAPWING_CACHE_BYTES", "LAPWING_CACHE=off"}));
        setrlimit(RLIMIT_AS, &before);
    }
    window.flush();
    other.barrier();
    window.close();
}

TEST_CASE("with CacheAcquire::thread an acquire is for the calling thread, and else for all") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    for (const lapwing::CacheAcquire scope : {lapwing::CacheAcquire::rank, lapwing::CacheAcquire::thread}) {
        GlobalArray<std::int64_t, 1> a{runtime,
                                       {1000 * runtime.size()},
                                       Block{},
                                       {.name = "scopes", .cache = {.mode = CacheMode::epoch, .acquire = scope}}};
        a.fill(1);
        const std::int64_t far = next(runtime).value * 1000;
        const bool remote =
            cached(a.window()) && a.window().path(next(runtime)) != lapwing::Path::direct && runtime.size() > 1;
        const auto gets = [&] { return a.statistics()[Counter::rma_gets] + a.statistics()[Counter::service_gets]; };
        std::barrier meet{2};
        std::atomic<std::int64_t> after_other{0};
        std::atomic<std::int64_t> after_own{0};
        std::thread reader{[&] {
            (void)static_cast<std::int64_t>(a(far));
            meet.arrive_and_wait(); // 1: this thread has the element
            meet.arrive_and_wait(); // 2: the owner has changed it, and the other thread has acquired
            after_other = a(far);
            a.acquire();
            after_own = a(far);
        }};
        meet.arrive_and_wait();
        runtime.barrier(); // all have read, and this thread acquires
        for (const auto [i] : a.local_domain()) a.local(i) = 2;
        runtime.barrier();
        meet.arrive_and_wait();
        reader.join();
        // Without an acquire of its own a thread may go on with what it has: that is what it saves.
        CHECK(after_other == (remote && scope == lapwing::CacheAcquire::thread ? 1 : 2));
        CHECK(after_own == 2);
        // The program whose threads meet before one of them acquires, which CacheAcquire::rank is for.
        const std::uint64_t before = gets();
        const std::int64_t value = a(far);
        CHECK(value == 2);
        CHECK(gets() - before <= 1);
        a.window().invalidate_cache();
        runtime.barrier();
    }
}

TEST_CASE("prefetched elements are used") {
    Runtime runtime;
    const std::int64_t each = 50000;
    GlobalArray<double, 1> a{runtime, {each * runtime.size()}, Block{}, {.name = "hints", .cache = epoch()}};
    for (const auto [i] : a.local_domain()) a.local(i) = static_cast<double>(i);
    runtime.barrier();
    const std::int64_t begin = next(runtime).value * each;
    const auto f = [&](std::int64_t i) { return begin + i * 7919 % each; };
    double wrong = 0;
    for (std::int64_t i = 0; i < 300; ++i) {
        prefetch(a(f(i + 20)));
        wrong += a(f(i)) == static_cast<double>(f(i)) ? 0 : 1;
    }
    CHECK(wrong == 0);
    if (cached(a.window()) && a.window().path(next(runtime)) != lapwing::Path::direct && runtime.size() > 1)
        CHECK(a.statistics()[Counter::read_ahead_used] >= 250);
    runtime.barrier();

    // By a function that may only read the array, and of elements that are here; of these the processor alone knows.
    const auto used_before = a.statistics()[Counter::read_ahead_used];
    const auto read_only = [&](const GlobalArray<double, 1>& array, auto place) {
        double differences = 0;
        for (std::int64_t i = 0; i < 300; ++i) {
            array.prefetch(place(i + 20));
            differences += array(place(i)) == static_cast<double>(place(i)) ? 0 : 1;
        }
        return differences;
    };
    a.acquire();
    CHECK(read_only(a, f) == 0);
    if (cached(a.window()) && a.window().path(next(runtime)) != lapwing::Path::direct && runtime.size() > 1)
        CHECK(a.statistics()[Counter::read_ahead_used] - used_before >= 250);
    const std::int64_t own = runtime.rank().value * each;
    CHECK(read_only(a, [&](std::int64_t i) { return own + i; }) == 0);
    a.window().prefetch(runtime.rank(), Offset{0}, static_cast<std::uint64_t>(each) * sizeof(double));
    a.window().prefetch(runtime.rank(), Offset{0}, 0);
    CHECK_THROWS_AS(a.window().prefetch(runtime.rank(), Offset{8}, static_cast<std::uint64_t>(each) * sizeof(double)),
                    lapwing::RangeError);
    runtime.barrier();
}

TEST_CASE("cache options that differ between ranks are refused on all, with the ranks and the values") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    const bool first = runtime.rank() == Rank{0};
    const auto text = [&](CacheOptions options) {
        return message_of<lapwing::MismatchError>([&] { Window(runtime, 64, {.name = "w", .cache = options}); });
    };
    CHECK_THAT(text({.mode = first ? CacheMode::off : CacheMode::epoch}),
               says({runtime.who(), "Window(\"w\")", "CacheOptions::mode", "LAPWING_CACHE", "off on rank 0",
                     "epoch on rank 1"}));
    const auto epoch_with = [](CacheOptions options) {
        options.mode = CacheMode::epoch;
        return options;
    };
    CHECK_THAT(text(epoch_with({.policy = first ? CachePolicy::direct_mapped : CachePolicy::two_queues})),
               says({"CacheOptions::policy", "direct_mapped on rank 0", "two_queues on rank 1"}));
    CHECK_THAT(text(epoch_with({.bytes = first ? 65536U : 32768U})),
               says({"CacheOptions::bytes", "65536 on rank 0", "32768 on rank 1"}));
    CHECK_THAT(text(epoch_with({.page_bytes = first ? 512U : 2048U})),
               says({"CacheOptions::page_bytes", "LAPWING_CACHE_PAGE", "512 on rank 0", "2048 on rank 1"}));
    CHECK_THAT(text(epoch_with({.dirty_pages = first ? 7U : 9U})),
               says({"CacheOptions::dirty_pages", "7 on rank 0", "9 on rank 1"}));
    CHECK_THAT(text(epoch_with({.read_ahead_bytes = first ? 0U : 1024U})),
               says({"CacheOptions::read_ahead_bytes", "0 on rank 0", "1024 on rank 1"}));
    CHECK_THAT(text(epoch_with({.adapt = first})), says({"CacheOptions::adapt", "on on rank 0", "off on rank 1"}));
    CHECK_THAT(text(epoch_with({.victim_pages = first ? 3U : 4U})),
               says({"CacheOptions::victim_pages", "LAPWING_CACHE_VICTIMS", "3 on rank 0", "4 on rank 1"}));
    CHECK_THAT(text(epoch_with({.acquire = first ? lapwing::CacheAcquire::thread : lapwing::CacheAcquire::rank})),
               says({"CacheOptions::acquire", "LAPWING_CACHE_ACQUIRE", "thread on rank 0", "rank on rank 1"}));
    // What a cache that is off would be like is nobody's concern.
    Window window{runtime, 64, {.name = "w", .cache = {.mode = CacheMode::off, .page_bytes = first ? 512U : 2048U}}};
    window.put(next(runtime), Offset{0}, runtime.rank().value);
    runtime.barrier();
    CHECK(window.local_as<int>()[0] == previous(runtime).value);
    window.close();
}

TEST_CASE("cache options that do not fit are refused, with what is allowed") {
    Runtime runtime;
    const auto text = [&](CacheOptions options) {
        options.mode = CacheMode::epoch;
        return message_of<SettingError>([&] { Window(runtime, 64, {.name = "w", .cache = options}); });
    };
    CHECK_THAT(text({.page_bytes = 1000}),
               says({"\"w\"", "1000 bytes", "LAPWING_CACHE_PAGE", "power of two", "64 to 65536"}));
    CHECK_THAT(text({.page_bytes = 131072}), says({"131072", "64 to 65536"}));
    CHECK_THAT(text({.bytes = 2048}), says({"2048 bytes", "4 pages of 1024", "LAPWING_CACHE_BYTES"}));
    CHECK_THAT(text({.dirty_pages = 0}), says({"LAPWING_CACHE_DIRTY_PAGES", "at least 1"}));
    const test::ScopedEnvironment odd{"LAPWING_CACHE_PAGE", "100"};
    Runtime other;
    CHECK_THAT(message_of<SettingError>([&] { Window(other, 64, {.cache = epoch()}); }),
               says({"100 bytes", "LAPWING_CACHE_PAGE"}));
    Window uncached{other, 64};
    CHECK(uncached.page_tables() == nullptr);
    other.barrier();
}
