// Writes that a cache or a buffer of adds holds back arrive without a release: a program that signals by a plain write
// and then polls its own memory does not wait for ever.
#include "src/team/held_writes.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <sched.h>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using lapwing::Block;
using lapwing::CacheMode;
using lapwing::Counter;
using lapwing::GlobalArray;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using lapwing::detail::team::HeldWrites;
using test::next;

/// Makes no call of Lapwing's meanwhile. False: it has taken too long.
template <class T>
[[nodiscard]] bool becomes(T& own, T wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (std::atomic_ref{own}.load(std::memory_order_acquire) != wanted) {
        if (std::chrono::steady_clock::now() > end) return false;
        sched_yield();
    }
    return true;
}

} // namespace

TEMPLATE_TEST_CASE("an element write that no release follows arrives", "", std::int32_t, std::int64_t) {
    Runtime runtime;
    const std::int64_t each = 100;
    GlobalArray<TestType, 1> a{runtime, {each * runtime.size()}, Block{}, {.cache = {.mode = CacheMode::epoch}}};
    a.fill(0);
    runtime.barrier();
    TestType* const own = a.local_span().data();
    // The second round's writes find the page of the first one in the page table.
    for (TestType round = 1; round <= 3; ++round)
        for (const std::int64_t place : {5, 6}) {
            a(next(runtime).value * each + place) = round;
            CHECK(becomes(own[place], round));
        }
    runtime.barrier();
    // What has been sent is not sent again: the owner's value is the later one.
    own[5] = 77;
    runtime.barrier();
    CHECK(own[5] == 77);
    CHECK(a(next(runtime).value * each + 5) == 77);
    runtime.barrier();
}

TEST_CASE("a signal that is taken back by the one who waits for it does not come again") {
    Runtime runtime;
    Window window{runtime, 4096, {.cache = {.mode = CacheMode::epoch}}};
    auto& flag = *reinterpret_cast<std::int32_t*>(window.local().data() + 64);
    runtime.barrier();
    const std::int32_t full = 1;
    for (int round = 0; round < 20; ++round) {
        window.put(next(runtime), Offset{64}, full);
        REQUIRE(becomes(flag, full));
        std::atomic_ref{flag}.store(0, std::memory_order_release);
        runtime.barrier(); // releases, and must not put the flag once more
        CHECK(std::atomic_ref{flag}.load(std::memory_order_acquire) == 0);
        runtime.barrier();
    }
}

TEST_CASE("signals arrive after the cache has another size") {
    const test::ScopedEnvironment bound{"LAPWING_CACHE_MEMORY", "4m"};
    Runtime runtime;
    const lapwing::WindowOptions options{.cache = {.mode = CacheMode::epoch}};
    Window window{runtime, 4096, options};
    auto& flag = *reinterpret_cast<std::int64_t*>(window.local().data());
    runtime.barrier();
    window.put(next(runtime), Offset{0}, std::int64_t{1});
    CHECK(becomes(flag, std::int64_t{1}));
    std::vector<Window> others;
    for (int other = 0; other < 3; ++other) { // take memory from the first one's cache
        others.emplace_back(runtime, 4096, options);
        others.back().put(next(runtime), Offset{0}, std::int64_t{1});
        runtime.barrier();
    }
    window.put(next(runtime), Offset{0}, std::int64_t{2});
    CHECK(becomes(flag, std::int64_t{2}));
    runtime.barrier();
}

TEST_CASE("a write that passes the cache arrives") {
    Runtime runtime;
    constexpr std::uint64_t pages = 400;
    Window window{runtime, pages * 1024, {.cache = {.mode = CacheMode::epoch, .page_bytes = 1024, .dirty_pages = 8}}};
    auto& flag = *reinterpret_cast<std::int64_t*>(window.local().data() + (pages - 1) * 1024);
    runtime.barrier();
    for (std::uint64_t page = 0; page < pages; ++page) window.put(next(runtime), Offset{page * 1024}, std::int64_t{3});
    CHECK(becomes(flag, std::int64_t{3}));
    runtime.barrier();
}

TEST_CASE("writes wait for a release where that is wanted") {
    const test::ScopedEnvironment never{"LAPWING_HELD_WRITES", "0"};
    Runtime runtime;
    Window window{runtime, 4096, {.cache = {.mode = CacheMode::epoch}}};
    auto& flag = *reinterpret_cast<std::int64_t*>(window.local().data());
    runtime.barrier();
    window.put(next(runtime), Offset{0}, std::int64_t{1});
    std::this_thread::sleep_for(std::chrono::milliseconds{30});
    if (window.path(next(runtime)) != lapwing::Path::direct)
        CHECK(window.statistics()[Counter::cache_write_backs] == 0);
    runtime.barrier();
    CHECK(flag == 1);
}

TEST_CASE("nothing is sent for windows that an exception left") {
    Runtime runtime;
    for (int round = 0; round < 3; ++round) {
        try {
            Window window{runtime, 4096, {.cache = {.mode = CacheMode::epoch}}};
            runtime.barrier();
            window.put(next(runtime), Offset{0}, std::int64_t{1});
            throw std::runtime_error{"the program's own"};
        } catch (const std::runtime_error&) {
        }
    }
    runtime.close();
}

TEST_CASE("an add that no release follows arrives") {
    Runtime runtime;
    Window window{runtime, 64};
    auto& own = *reinterpret_cast<std::uint64_t*>(window.local().data());
    runtime.barrier();
    for (std::uint64_t round = 1; round <= 3; ++round) {
        window.atomic<std::uint64_t>(next(runtime), Offset{0}).add(5);
        CHECK(becomes(own, 5 * round));
        runtime.barrier(); // or the other rank's next one may come before this one has looked
    }
}

TEST_CASE("writes are old when a program adds none, or goes on for long") {
    using namespace std::chrono_literals;
    HeldWrites held;
    HeldWrites::Clock::time_point now{1h};
    CHECK_FALSE(held.look(now, false, 0));
    CHECK_FALSE(held.look(now += 1ms, true, 1));
    CHECK_FALSE(held.look(now += 1ms, true, 2));
    CHECK(held.look(now += 1ms, true, 2));
    CHECK(held.old());
    held.sent();
    CHECK_FALSE(held.old());
    // The page keeps its mask: only another write counts.
    CHECK_FALSE(held.look(now += 1ms, true, 2));
    CHECK_FALSE(held.look(now += 1ms, true, 3));
    // A release took it.
    CHECK_FALSE(held.look(now += 1ms, false, 3));
    for (std::uint64_t writes = 4; writes < 90; ++writes) CHECK_FALSE(held.look(now += 1ms, true, writes));
    CHECK(held.look(now += 20ms, true, 90));
}
