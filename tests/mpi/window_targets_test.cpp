#include "src/mpi/window_targets.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <thread>
#include <vector>

using lapwing::detail::mpi::WindowTargets;

TEST_CASE("the first operation on each target is alone, and only that one is") {
    constexpr int ranks = 1000;
    constexpr int threads = 4;
    WindowTargets targets;
    targets.keep_apart(ranks);
    std::vector<std::atomic<int>> made(ranks); // operations on each target that have ended
    std::atomic<int> under_way{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> users;
    users.reserve(threads);
    for (int t = 0; t < threads; ++t)
        users.emplace_back([&, t] {
            for (int i = 0; i < 4 * ranks; ++i) {
                const int target = (i * 7 + t * 13) % ranks;
                const WindowTargets::IssuedOperation issued{targets, target};
                const bool first = made[static_cast<std::size_t>(target)].load() == 0;
                const int beside = under_way.fetch_add(1);
                if (first && beside != 0) ++wrong;
                std::this_thread::yield();
                if (first && under_way.load() != 1) ++wrong;
                under_way.fetch_sub(1);
                made[static_cast<std::size_t>(target)].fetch_add(1);
            }
        });
    for (std::thread& user : users) user.join();
    CHECK(wrong == 0);
}

TEST_CASE("later operations need not wait for each other") {
    WindowTargets targets;
    targets.keep_apart(65);
    for (const int target : {0, 63, 64}) const WindowTargets::IssuedOperation issued{targets, target};
    const WindowTargets::IssuedOperation first{targets, 64};
    std::thread{[&] { const WindowTargets::IssuedOperation second{targets, 63}; }}.join();
    CHECK(true);
}

TEST_CASE("windows whose targets are entered keep nothing apart") {
    WindowTargets targets;
    const WindowTargets::IssuedOperation first{targets, 5};
    std::thread{[&] { const WindowTargets::IssuedOperation second{targets, 6}; }}.join();
    CHECK(true);
}
