// Locks: mutual exclusion, the order in which they are granted, and that each is a lock of its own.
#include "runtime/captured_stderr.hpp"
#include "team/team_test.hpp"
#include "window/lock_state.hpp"
#include "window/window_state.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using lapwing::Lock;
using lapwing::MismatchError;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using test::message_of;
using test::says;

TEST_CASE("ranks and their threads exclude each other, wherever the lock is at home") {
    Runtime runtime;
    Window window{runtime, 64};
    const int threads = test::many_threads_allowed() ? 2 : 1;
    constexpr int times = 25;
    for (int home = 0; home < runtime.size(); ++home) {
        Lock lock{runtime, Rank{home}};
        const auto add = [&] {
            for (int i = 0; i < times; ++i) {
                const std::lock_guard guard{lock};
                CHECK(lock.held());
                window.put(Rank{0}, Offset{0}, window.get<std::int64_t>(Rank{0}, Offset{0}) + 1);
            }
        };
        std::thread other;
        const auto add_quietly = [&] { // assertions are for one thread
            for (int i = 0; i < times; ++i) {
                const std::lock_guard guard{lock};
                window.put(Rank{0}, Offset{0}, window.get<std::int64_t>(Rank{0}, Offset{0}) + 1);
            }
        };
        if (threads > 1) other = std::thread{add_quietly};
        add_quietly();
        if (other.joinable()) other.join();
        add();
        runtime.barrier();
        CHECK(window.get<std::int64_t>(Rank{0}, Offset{0}) == (home + 1) * times * (threads + 1) * runtime.size());
        CHECK(!lock.held());
        runtime.barrier();
        lock.close();
    }
}

TEST_CASE("no rank is overtaken forever by ranks that take the lock again at once") {
    // Each rank goes on taking the lock until all have had their turns. This does not end if a rank that releases the
    // lock can take it again before those that wait.
    Runtime runtime;
    Window window{runtime, 8 * static_cast<std::uint64_t>(runtime.size())};
    Lock lock{runtime};
    constexpr std::int64_t turns = 40;
    std::vector<std::int64_t> had(static_cast<std::size_t>(runtime.size()));
    const auto me = static_cast<std::size_t>(runtime.rank().value);
    runtime.barrier();
    for (bool all_had = false; !all_had;) {
        const std::lock_guard guard{lock};
        window.get(Rank{0}, Offset{0}, std::span{had});
        window.put(Rank{0}, Offset::of<std::int64_t>(me), ++had[me]);
        all_had = std::ranges::min(had) >= turns;
    }
    runtime.barrier();
    window.get(Rank{0}, Offset{0}, std::span{had});
    CHECK(std::ranges::min(had) >= turns);
    runtime.barrier();
}

TEST_CASE("a lock is granted in the order of the requests") {
    Runtime runtime;
    const auto ranks = static_cast<std::size_t>(runtime.size());
    Window window{runtime, 8 * (ranks + 1)}; // at rank 0: how many have had the lock, and who
    lapwing::detail::window::LockState lock{runtime, Rank{runtime.size() - 1}};
    std::vector<std::int64_t> order(ranks);
    std::iota(order.begin(), order.end(), 0);
    const auto wait_for_last = [&](std::int64_t rank) {
        while (lock.last_in_queue() != rank) runtime.progress();
    };
    for (int round = 0; round < 4; ++round) {
        const auto me = std::ranges::find(order, runtime.rank().value);
        // The first holds the lock until all are in the queue, each after the one before it.
        if (me != order.begin()) wait_for_last(*std::prev(me));
        lock.lock();
        if (me == order.begin()) wait_for_last(order.back());
        const auto before = window.get<std::int64_t>(Rank{0}, Offset{0});
        window.put(Rank{0}, Offset{0}, before + 1);
        window.put(Rank{0}, Offset::of<std::int64_t>(1 + static_cast<std::uint64_t>(before)),
                   std::int64_t{runtime.rank().value});
        lock.unlock();
        runtime.barrier();
        std::vector<std::int64_t> granted(ranks);
        window.get(Rank{0}, Offset::of<std::int64_t>(1), std::span{granted});
        CHECK(granted == order);
        runtime.barrier();
        if (runtime.rank().value == 0) window.put(Rank{0}, Offset{0}, std::int64_t{0});
        runtime.barrier();
        std::ranges::next_permutation(order);
        std::ranges::reverse(order);
    }
}

TEST_CASE("a lock that is destroyed while it is held is passed on, with a line that says so") {
    Runtime runtime;
    auto lock = std::make_unique<Lock>(runtime);
    const bool holds = runtime.rank().value == 0;
    if (holds) lock->lock();
    runtime.barrier();
    const std::string text = test::captured_stderr([&] {
        if (!holds) lock->lock(); // would wait for ever
        if (!holds) lock->unlock();
        lock.reset();
    });
    CHECK((text.find("destroyed while this rank holds it; unlock it first") != std::string::npos) == holds);
    runtime.barrier();
}

TEST_CASE("try_lock takes a free lock, and no other") {
    Runtime runtime;
    Lock lock{runtime, Rank{runtime.size() - 1}};
    for (int holder = 0; holder < runtime.size(); ++holder) {
        const bool mine = runtime.rank().value == holder;
        if (mine) CHECK(lock.try_lock());
        runtime.barrier();
        CHECK(lock.held() == mine);
        CHECK(!lock.try_lock());
        runtime.barrier();
        if (mine) lock.unlock();
        runtime.barrier();
    }
    // One of those that try at once gets it.
    for (int round = 0; round < 20; ++round) {
        std::int64_t taken = lock.try_lock() ? 1 : 0;
        const bool mine = taken == 1;
        runtime.sum(std::span{&taken, 1});
        CHECK(taken == 1);
        if (mine) lock.unlock();
        runtime.barrier();
    }
    const std::unique_lock guard{lock, std::defer_lock};
    CHECK(!guard.owns_lock());
    runtime.barrier();
}

TEST_CASE("who tries a lock again and again does not keep its holder from its work") {
    Runtime runtime;
    Window window{runtime, 64};
    Lock lock{runtime, Rank{0}};
    std::uint64_t attempts = 1;
    while (!lock.try_lock()) ++attempts;
    for (int k = 0; k < 300; ++k) (void)window.get<int>(test::next(runtime), Offset{0});
    lock.unlock();
    // Attempts come less and less often: without that they are millions.
    CHECK(attempts < 100'000);
    runtime.barrier();
}

TEST_CASE("locks are closed before they are opened, as windows are, and may be members of what is made later") {
    struct Solver {
        Window window;
        Lock lock;
    };
    Solver solver;
    CHECK(solver.window.closed());
    CHECK(solver.lock.closed());
    CHECK(!solver.lock.held());
    solver.lock.close(); // nothing
    CHECK_THAT(test::message_of<lapwing::UsageError>([&] { solver.lock.lock(); }),
               test::says({"Lock::lock", "never opened"}));
    Runtime runtime;
    solver.lock = Lock{runtime};
    CHECK(!solver.lock.closed());
    {
        const std::lock_guard guard{solver.lock};
    }
    runtime.barrier();
    solver.lock.close();
    CHECK(solver.lock.closed());
    CHECK_THAT(test::message_of<lapwing::UsageError>([&] { (void)solver.lock.try_lock(); }),
               test::says({"used after close"}));
}

TEST_CASE("many locks are independent") {
    Runtime runtime;
    std::vector<Lock> locks;
    constexpr int count = 12;
    locks.reserve(count);
    for (int i = 0; i < count; ++i) locks.emplace_back(runtime, Rank{i % runtime.size()});
    // Each rank holds the locks of its residue at once; nobody waits for anybody.
    for (int i = runtime.rank().value; i < count; i += runtime.size()) locks[static_cast<std::size_t>(i)].lock();
    runtime.barrier();
    for (int i = 0; i < count; ++i) {
        Lock& lock = locks[static_cast<std::size_t>(i)];
        CHECK(lock.held() == (i % runtime.size() == runtime.rank().value));
        if (runtime.size() > 1) CHECK(!lock.try_lock());
    }
    runtime.barrier();
    for (int i = runtime.rank().value; i < count; i += runtime.size()) locks[static_cast<std::size_t>(i)].unlock();
    // A lock may be moved while it is free.
    Lock moved{std::move(locks.back())};
    locks.pop_back();
    {
        const std::lock_guard guard{moved};
    }
    runtime.barrier();
    while (!locks.empty()) locks.pop_back(); // in the same order on all ranks
}

TEST_CASE("hundreds of locks share a few windows, whose places are reused") {
    Runtime runtime;
    Window before{runtime, 64};
    constexpr std::size_t count = 200;
    const int ranks = runtime.size();
    for (int round = 0; round < 2; ++round) {
        std::vector<std::unique_ptr<Lock>> locks;
        for (std::size_t i = 0; i < count; ++i)
            locks.push_back(std::make_unique<Lock>(runtime, Rank{static_cast<int>(i) % ranks}));
        // Every lock is one of its own: each rank holds those of its residue, the first and the last among them.
        const auto mine = [&](std::size_t i) { return static_cast<int>(i) % ranks == runtime.rank().value; };
        for (std::size_t i = 0; i < count; ++i)
            if (mine(i)) locks[i]->lock();
        runtime.barrier();
        if (ranks > 1) {
            std::size_t taken = 0;
            for (std::size_t i = 0; i < count; i += 13) taken += !mine(i) && locks[i]->try_lock() ? 1 : 0;
            CHECK(taken == 0);
        }
        runtime.barrier();
        for (std::size_t i = 0; i < count; ++i)
            if (mine(i)) locks[i]->unlock();
        // Every third is closed before the others; the new ones take the places of those.
        for (std::size_t i = 0; i < count; i += 3) locks[i].reset();
        for (std::size_t i = 0; i < count; i += 3) locks[i] = std::make_unique<Lock>(runtime, Rank{ranks - 1});
        for (std::size_t i = 0; i < count; i += 39) {
            const std::lock_guard guard{*locks[i]};
            const std::lock_guard neighbour{*locks[i + 1]};
        }
    }
    Window after{runtime, 64};
    CHECK(after.state().number() - before.state().number() == 1 + 3); // 64, 64 and 128 places
    runtime.barrier();
}

TEST_CASE(
    "locks that ranks close in different orders, or make with different homes, are reported, and stay what they were") {
    Runtime runtime;
    Window window{runtime, 64};
    Lock first{runtime};
    Lock second{runtime, Rank{runtime.size() - 1}};
    if (runtime.size() > 1) {
        const bool odd_one = runtime.rank().value == 0;
        CHECK_THAT(message_of<MismatchError>([&] { (odd_one ? second : first).close(); }),
                   says({runtime.who(), "the close of a lock", "home rank 0", "in the same order", "stays open"}));
        CHECK_THAT(message_of<MismatchError>([&] { Lock{runtime, Rank{odd_one ? 1 : 0}}; }),
                   says({runtime.who(), "the creation of a lock", "home rank 0", "home rank 1", "name the same home"}));
        if (odd_one)
            CHECK_THAT(message_of<lapwing::RangeError>([&] { Lock{runtime, Rank{-1}}; }),
                       says({runtime.who(), "home rank -1", "outside [0, ", "pass a rank of the team"}));
        else
            CHECK_THAT(message_of<MismatchError>([&] { Lock{runtime, Rank{0}}; }),
                       says({runtime.who(), "the creation of a lock", "home rank -1"}));
    }
    Lock third{runtime};
    constexpr int times = 20;
    for (int i = 0; i < times; ++i) {
        // As one lock: who has all of them excludes the others.
        const std::scoped_lock guard{first, second, third};
        window.put(Rank{0}, Offset{0}, window.get<std::int64_t>(Rank{0}, Offset{0}) + 1);
    }
    runtime.barrier();
    CHECK(window.get<std::int64_t>(Rank{0}, Offset{0}) == times * runtime.size());
    runtime.barrier();
    first.close();
    second.close();
    third.close();
}

TEST_CASE("a lock that an exception has left on all ranks keeps its place, and the team goes on") {
    Runtime runtime;
    Window window{runtime, 64};
    try {
        Lock lock{runtime};
        const std::lock_guard guard{lock};
        throw 1;
    } catch (int) {
    }
    Lock lock{runtime};
    {
        const std::lock_guard guard{lock};
        window.put(Rank{0}, Offset{0}, window.get<std::int64_t>(Rank{0}, Offset{0}) + 1);
    }
    runtime.barrier();
    CHECK(window.get<std::int64_t>(Rank{0}, Offset{0}) == runtime.size());
    runtime.barrier();
    lock.close();
    window.close();
    runtime.close();
    CHECK(runtime.closed());
}
