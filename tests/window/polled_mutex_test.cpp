// A mutex that threads poll: those that wait for it are not kept out.
#include "src/support/polled_mutex.hpp"

#include "support/catch.hpp"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

using lapwing::detail::support::LockRank;
using lapwing::detail::support::PolledMutex;

TEST_CASE("polls give way to a thread that waits, and one in some does not") {
    PolledMutex mutex{LockRank::leaf};
    REQUIRE(mutex.try_lock());
    CHECK_FALSE(mutex.wanted());
    std::thread waits{[&] { const std::lock_guard guard{mutex}; }};
    while (!mutex.wanted()) std::this_thread::yield();
    std::thread waits_too{[&] { const std::lock_guard guard{mutex}; }};
    // Held here, so that all polls fail, those that do not give way as well.
    for (unsigned poll = 0; poll < 2 * PolledMutex::longest_run; ++poll) CHECK_FALSE(mutex.try_lock());
    mutex.unlock();
    waits.join();
    waits_too.join();
    CHECK_FALSE(mutex.wanted());
    CHECK(mutex.try_lock());
    mutex.unlock();
}

TEST_CASE("what a poll does is done though threads wait all the time") {
    PolledMutex mutex{LockRank::leaf};
    std::atomic<bool> done{false};
    long long plain = 0; // not atomic: two that are inside together lose steps
    long long steps[2]{};
    std::thread waiters[2];
    for (int i = 0; i < 2; ++i)
        waiters[i] = std::thread{[&, i] {
            while (!done.load(std::memory_order_relaxed)) {
                const std::lock_guard guard{mutex};
                ++plain;
                ++steps[i];
            }
        }};
    long long polled = 0;
    while (polled < 200) {
        if (!mutex.try_lock()) continue;
        ++plain;
        ++polled;
        mutex.unlock();
    }
    done.store(true, std::memory_order_relaxed);
    for (std::thread& waiter : waiters) waiter.join();
    CHECK(plain == steps[0] + steps[1] + polled);
}

// All on one processor, and the poll yields while it holds the mutex, as MPI does: the thread that waits runs at that
// moment alone.
TEST_CASE("a thread that waits gets in between polls that yield the processor") {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    PolledMutex mutex{LockRank::leaf};
    std::atomic<bool> done{false};
    std::thread polls{[&] {
        sched_setaffinity(0, sizeof one, &one);
        while (!done.load(std::memory_order_relaxed)) {
            if (mutex.try_lock()) {
                sched_yield();
                mutex.unlock();
            } else {
                sched_yield();
            }
        }
    }};
    std::thread waits{[&] {
        sched_setaffinity(0, sizeof one, &one);
        for (int i = 0; i < 100; ++i) const std::lock_guard guard{mutex};
        done.store(true, std::memory_order_relaxed);
    }};
    const auto begin = std::chrono::steady_clock::now();
    waits.join();
    polls.join();
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{20});
}
