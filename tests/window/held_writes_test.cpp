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
#include <optional>
#include <sched.h>

namespace {

using lapwing::Block;
using lapwing::CacheMode;
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
    // The second round's writes find the page of the first one in the table of hot pages.
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

TEST_CASE("an add that no release follows arrives") {
    Runtime runtime;
    Window window{runtime, 64};
    auto& own = *reinterpret_cast<std::uint64_t*>(window.local().data());
    runtime.barrier();
    for (std::uint64_t round = 1; round <= 3; ++round) {
        window.add(next(runtime), Offset{0}, std::uint64_t{5});
        CHECK(becomes(own, 5 * round));
        runtime.barrier(); // or the other rank's next one may come before this one has looked
    }
}

TEST_CASE("writes are old when a program adds none, or goes on for long") {
    using namespace std::chrono_literals;
    using Age = HeldWrites::Age;
    HeldWrites held;
    HeldWrites::Clock::time_point now{1h};
    CHECK(held.look(now, false, 0) == Age::none);
    CHECK(held.look(now += 1ms, true, 1) == Age::recent);
    CHECK(held.look(now += 1ms, true, 2) == Age::recent);
    CHECK(held.look(now += 1ms, true, 2) == Age::old);
    CHECK(held.old());
    held.sent();
    CHECK_FALSE(held.old());
    // The page keeps its mask: only another write counts.
    CHECK(held.look(now += 1ms, true, 2) == Age::none);
    CHECK(held.look(now += 1ms, true, 3) == Age::recent);
    // A release took it.
    CHECK(held.look(now += 1ms, false, 3) == Age::none);
    for (std::uint64_t writes = 4; writes < 90; ++writes) CHECK(held.look(now += 1ms, true, writes) == Age::recent);
    CHECK(held.look(now += 20ms, true, 90) == Age::old);
}
