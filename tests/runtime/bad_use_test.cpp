// Calls that the state of a window, lock, barrier or team does not allow.
#include "runtime/bad_input.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using lapwing::Lock;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::UsageError;
using lapwing::Window;
using test::message_of;
using test::says;

struct WindowCall {
    const char* name;
    std::function<void(Window&)> call;
};

std::array<std::byte, 8> bytes;

const std::array window_calls{
    WindowCall{"get", [](Window& w) { w.get(Rank{0}, Offset{0}, bytes); }},
    WindowCall{"put", [](Window& w) { w.put(Rank{0}, Offset{0}, bytes); }},
    WindowCall{"get", [](Window& w) { w.get(Rank{0}, Offset{0}, {}); }},
    WindowCall{"start_get", [](Window& w) { w.start_get(Rank{0}, Offset{0}, bytes).wait(); }},
    WindowCall{"start_put", [](Window& w) { w.start_put(Rank{0}, Offset{0}, bytes).wait(); }},
    WindowCall{"put_notify", [](Window& w) { w.put_notify(Rank{0}, Offset{0}, bytes, 0); }},
    WindowCall{"fetch_add", [](Window& w) { w.atomic<int>(Rank{0}, Offset{0}).fetch_add(1); }},
    WindowCall{"compare_swap", [](Window& w) { w.atomic<int>(Rank{0}, Offset{0}).compare_swap(1, 2); }},
    WindowCall{"flush", [](Window& w) { w.flush(Rank{0}); }},
    WindowCall{"flush", [](Window& w) { w.flush(); }},
    WindowCall{"release", [](Window& w) { w.release(); }},
    WindowCall{"acquire", [](Window& w) { w.acquire(); }},
    WindowCall{"fence", [](Window& w) { w.fence(); }},
    WindowCall{"wait_notified", [](Window& w) { w.wait_notified(0); }},
    WindowCall{"notified", [](Window& w) { (void)w.notified(0); }},
    WindowCall{"size", [](Window& w) { (void)w.size(Rank{0}); }},
    WindowCall{"path", [](Window& w) { (void)w.path(Rank{0}); }},
    WindowCall{"reachable", [](Window& w) { (void)w.reachable(Rank{0}); }},
    WindowCall{"name", [](Window& w) { (void)w.name(); }},
    WindowCall{"team", [](Window& w) { (void)w.team(); }},
    WindowCall{"statistics", [](Window& w) { (void)w.statistics(); }},
    WindowCall{"statistics", [](Window& w) { (void)w.total_statistics(); }},
};

void check_refuses_all(Window& window) {
    CHECK(window.closed());
    CHECK(window.local().empty());
    CHECK(window.local_as<double>().empty());
    for (const WindowCall& call : window_calls)
        CHECK_THAT(message_of<UsageError>([&] { call.call(window); }),
                   says({std::string{"Window."} + call.name, "was closed before", "make a new one"}));
    window.close(); // once more does no harm
}

} // namespace

TEST_CASE("a window that is closed, was never opened or has been moved from refuses every call") {
    Runtime runtime;
    Window window{runtime, 80};
    Window closed{runtime, 80};
    closed.close();
    check_refuses_all(closed);

    Window never;
    check_refuses_all(never);

    Window from{runtime, 80};
    Window to{std::move(from)};
    check_refuses_all(from); // NOLINT: what a moved-from window does is the question
    test::check_goes_on(runtime, to);
    never = std::move(to);
    check_refuses_all(to);
    test::check_goes_on(runtime, never);
    // The window that is assigned to is closed, which is collective, and does not take the new one along.
    never = Window{runtime, 96};
    CHECK(never.size(runtime.rank()) == 96);
    test::check_goes_on(runtime, never);
    test::check_goes_on(runtime, window);
}

TEST_CASE("a transfer may be waited for after the close of its window, which completed it") {
    Runtime runtime;
    constexpr std::size_t count = 100'000;
    Window window{runtime, count};
    std::vector<std::byte> here(count);
    const std::vector<std::byte> source(count, std::byte{5});
    std::ranges::fill(window.local(), std::byte{3});
    runtime.barrier();
    lapwing::Completion get = window.start_get(test::next(runtime), Offset{0}, here);
    lapwing::Completion small_get = window.start_get(test::next(runtime), Offset{0}, std::span{bytes});
    runtime.barrier();
    lapwing::Completion put = window.start_put(test::next(runtime), Offset{0}, source);
    lapwing::Completion dropped = window.start_put(test::next(runtime), Offset{0}, source);
    window.close();
    get.wait();
    small_get.wait();
    while (!put.test()) std::this_thread::yield();
    CHECK(here == std::vector<std::byte>(count, std::byte{3}));
    CHECK(bytes[7] == std::byte{3});
    runtime.barrier();
}

TEST_CASE("a team that is closed refuses every call that needs it") {
    Runtime runtime;
    Window window{runtime, 80};
    Runtime closed;
    closed.close();
    CHECK(closed.closed());
    closed.close(); // once more does no harm
    const std::string who = closed.who();
    CHECK(who == runtime.who());
    std::array<std::int64_t, 2> values{1, 2};
    const auto check = [&](const char* call, auto&& attempt) {
        CHECK_THAT(message_of<UsageError>(attempt), says({who, call, "the team is closed", "make a new one"}));
    };
    check("Team::barrier", [&] { closed.barrier(); });
    check("Team::barrier", [&] { closed.notify(); });
    check("Team::wait", [&] { closed.wait(); });
    check("Team::all_reduce", [&] { closed.sum(values); });
    check("Team::all_reduce", [&] { closed.min(values); });
    check("Team::require_same", [&] { closed.require_same(values, "test", "value"); });
    check("Team::broadcast", [&] { closed.broadcast(std::as_writable_bytes(std::span{values}), Rank{0}); });
    check("window", [&] { Window{closed, 80}; });
    check("lock", [&] { Lock{closed}; });
    MPI_Win host = MPI_WIN_NULL;
    std::byte* memory = nullptr;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &host);
    check("Window::adopt", [&] { (void)Window::adopt(closed, host); });
    MPI_Win_free(&host);
    check("Team::release", [&] { closed.release(); });
    check("Team::acquire", [&] { closed.acquire(); });
    check("Team::release", [&] { closed.fence(); });
    check("Team::progress", [&] { (void)closed.progress(); });
    (void)closed.statistics();
    (void)closed.report();
    CHECK(closed.rank() == runtime.rank());
    CHECK(closed.size() == runtime.size());
    CHECK(closed.path(test::next(closed)) == runtime.path(test::next(runtime)));
    test::check_goes_on(runtime, window);
}

TEST_CASE("a team with open windows is not closed") {
    Runtime runtime;
    Window window{runtime, 80, {.name = "open one"}};
    CHECK_THAT(message_of<UsageError>([&] { runtime.close(); }),
               says({runtime.who(), "Team::close", "1 of its windows", "\"open one\"", "close windows"}));
    CHECK(!runtime.closed());
    test::check_goes_on(runtime, window);
    Lock lock{runtime};
    window.close();
    CHECK_THAT(message_of<UsageError>([&] { runtime.close(); }), says({"Team::close", "1 of its locks are open"}));
    lock.close();
    runtime.close();
    CHECK(runtime.closed());
}

TEST_CASE("only the holder of a lock may unlock it") {
    Runtime runtime;
    Window window{runtime, 80};
    Lock lock{runtime};
    const auto not_held = says(
        {runtime.who(), "Lock::unlock", "does not hold the lock", "unlock only after lock or a successful try_lock"});
    CHECK_THAT(message_of<UsageError>([&] { lock.unlock(); }), not_held);
    runtime.barrier();
    if (runtime.rank().value == 0) lock.lock();
    runtime.barrier();
    CHECK(lock.held() == (runtime.rank().value == 0));
    if (runtime.rank().value == 0) {
        CHECK_THAT(message_of<UsageError>([&] { lock.lock(); }),
                   says({runtime.who(), "Lock::lock", "holds the lock already", "unlock it first"}));
        CHECK(!lock.try_lock());
        std::string from_thread;
        std::thread{[&] {
            try {
                lock.unlock();
            } catch (const UsageError& error) {
                from_thread = error.what();
            }
        }}.join();
        CHECK_THAT(from_thread, not_held);
        CHECK(lock.held());
    } else {
        CHECK_THAT(message_of<UsageError>([&] { lock.unlock(); }), not_held);
        CHECK(!lock.try_lock());
    }
    runtime.barrier();
    // The close waits for the rank that has to unlock first.
    if (runtime.rank().value == 0) {
        CHECK_THAT(message_of<UsageError>([&] { lock.close(); }),
                   says({runtime.who(), "Lock::close", "holds the lock", "unlock it first"}));
        lock.unlock();
        CHECK_THAT(message_of<UsageError>([&] { lock.unlock(); }), not_held);
    }
    lock.close();
    lock.close(); // once more does no harm
    for (const auto& call :
         {+[](Lock& l) { l.lock(); }, +[](Lock& l) { (void)l.try_lock(); }, +[](Lock& l) { l.unlock(); }})
        CHECK_THAT(message_of<UsageError>([&] { call(lock); }), says({"Lock", "used after close", "make a new one"}));
    CHECK(!lock.held());
    test::check_goes_on(runtime, window);
}

TEST_CASE("a wait needs its notify, and a notify its wait") {
    Runtime runtime;
    Window window{runtime, 80};
    CHECK_THAT(message_of<UsageError>([&] { runtime.wait(); }),
               says({runtime.who(), "Team::wait", "no notify before"}));
    runtime.notify();
    const auto missing = says({runtime.who(), "Team::barrier", "its wait is missing", "call wait first"});
    CHECK_THAT(message_of<UsageError>([&] { runtime.notify(); }), missing);
    CHECK_THAT(message_of<UsageError>([&] { runtime.barrier(); }), missing);
    CHECK_THAT(message_of<UsageError>([&] { Window{runtime, 80}; }),
               says({runtime.who(), "window", "its wait is missing"}));
    CHECK_THAT(message_of<UsageError>([&] { window.close(); }), says({runtime.who(), "window", "its wait is missing"}));
    CHECK(!window.closed());
    runtime.wait();
    CHECK_THAT(message_of<UsageError>([&] { runtime.wait(); }), says({runtime.who(), "no notify before"}));
    test::check_goes_on(runtime, window);
}

TEST_CASE("the identity of a wait is that of its notify") {
    Runtime runtime;
    Window window{runtime, 80};
    const auto differs = [&](const char* of_wait, const char* of_notify) {
        return says({runtime.who(), "Team::wait", std::string{"its identity is "} + of_wait,
                     std::string{"the notify before it "} + of_notify, "pass the same"});
    };
    runtime.notify(7);
    CHECK_THAT(message_of<lapwing::MismatchError>([&] { runtime.wait(8); }), differs("8", "7"));
    CHECK_THAT(message_of<lapwing::MismatchError>([&] { runtime.wait(); }), differs("none", "7"));
    runtime.wait(7);
    runtime.notify();
    CHECK_THAT(message_of<lapwing::MismatchError>([&] { runtime.wait(7); }), differs("7", "none"));
    runtime.wait();
    test::check_goes_on(runtime, window);
}

TEST_CASE("a team needs an intracommunicator") {
    Runtime runtime;
    Window window{runtime, 80};
    CHECK_THAT(message_of<UsageError>([] { Runtime{MPI_COMM_NULL}; }),
               says({"Team", "MPI_COMM_NULL", "only ranks of the communicator"}));
    if (runtime.size() > 1) {
        MPI_Comm half = MPI_COMM_NULL;
        MPI_Comm both = MPI_COMM_NULL;
        const int side = runtime.rank().value == 0 ? 0 : 1;
        MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 0, &both);
        CHECK_THAT(message_of<UsageError>([&] { Runtime{both}; }),
                   says({"Team", "intercommunicator", "MPI_Intercomm_merge"}));
        MPI_Comm_free(&both);
        MPI_Comm_free(&half);
    }
    test::check_goes_on(runtime, window);
}
