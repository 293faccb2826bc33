// A mutex that one thread nearly always has: it excludes also at the moment when the bias goes.
#include "src/support/biased_mutex.hpp"
#include "src/support/process_fence.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <mutex>
#include <thread>

using lapwing::detail::support::BiasedMutex;
using lapwing::detail::support::LockRank;

TEST_CASE("a biased mutex keeps threads apart while its bias is taken away, and when it comes back") {
    constexpr int mutexes = 30;
    constexpr int rounds = 5;
    constexpr int locks = 50;
    constexpr int between_rounds = 1500; // locks of the owner: enough to have the bias back
    for (int i = 0; i < mutexes; ++i) {
        BiasedMutex mutex{LockRank::leaf};
        long long plain = 0; // not atomic: two that are inside together lose steps
        std::atomic<long long> by_owner{0};
        std::atomic<bool> done{false};
        std::thread owner{[&] {
            while (!done.load(std::memory_order_relaxed)) {
                const BiasedMutex::Guard guard{mutex};
                ++plain;
                by_owner.fetch_add(1, std::memory_order_relaxed);
            }
        }};
        int taken = 0;
        for (int round = 0; round < rounds; ++round) {
            const long long before = by_owner.load(std::memory_order_relaxed);
            while (by_owner.load(std::memory_order_relaxed) < before + between_rounds) std::this_thread::yield();
            for (int step = 0; step < locks; ++step) {
                if (step % 2 == 0) {
                    const BiasedMutex::Guard guard{mutex};
                    ++plain;
                    ++taken;
                } else if (const BiasedMutex::Guard guard{mutex, std::try_to_lock}; guard.holds()) {
                    ++plain;
                    ++taken;
                }
            }
        }
        done.store(true, std::memory_order_relaxed);
        owner.join();
        REQUIRE(plain == by_owner.load() + taken);
    }
}

TEST_CASE("the bias comes back to its owner, and to nobody else") {
    BiasedMutex mutex{LockRank::leaf};
    const auto lock = [&](int times) {
        for (int step = 0; step < times; ++step) const BiasedMutex::Guard guard{mutex};
    };
    std::thread{[&] { // first of all, and often
        BiasedMutex::own_none();
        lock(3000);
    }}
        .join();
    CHECK_FALSE(mutex.is_biased());
    lock(3000);
    if (!lapwing::detail::support::can_fence_all_threads()) return;
    CHECK(mutex.is_biased());
    std::thread{[&] { lock(1); }}.join();
    CHECK_FALSE(mutex.is_biased());
    lock(100);
    CHECK_FALSE(mutex.is_biased());
    lock(10000);
    CHECK(mutex.is_biased());
    std::thread{[&] { lock(100000); }}.join();
    CHECK_FALSE(mutex.is_biased());
}
