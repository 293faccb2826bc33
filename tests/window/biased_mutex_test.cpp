// A mutex that one thread nearly always has: it excludes also at the moment when the bias goes.
#include "src/support/biased_mutex.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <mutex>
#include <thread>

using lapwing::detail::support::BiasedMutex;
using lapwing::detail::support::LockRank;

TEST_CASE("a biased mutex keeps threads apart while its bias is taken away") {
    constexpr int mutexes = 200;
    constexpr int locks = 200;
    for (int i = 0; i < mutexes; ++i) {
        BiasedMutex mutex{LockRank::leaf};
        long long plain = 0; // not atomic: two that are inside together lose steps
        std::atomic<bool> begun{false};
        std::thread owner{[&] {
            for (int step = 0; step < 2 * locks; ++step) {
                const BiasedMutex::Guard guard{mutex};
                ++plain;
                begun.store(true, std::memory_order_relaxed);
            }
        }};
        int taken = 0;
        while (!begun.load(std::memory_order_relaxed)) std::this_thread::yield();
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
        owner.join();
        REQUIRE(plain == 2 * locks + taken);
    }
}
