// How the progress thread sleeps: no nudge is lost, and no sleep ends at once.
#include "src/messages/sleeper.hpp"

#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <thread>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

using lapwing::detail::messages::Sleeper;
using namespace std::chrono_literals;

namespace {

/// From here on the system refuses this thread epoll_pwait2, as container runtimes do that do not know it.
bool forbid_epoll_pwait2() {
    std::array<sock_filter, 4> program{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

std::chrono::steady_clock::duration time_of_sleep(Sleeper& sleeper, bool watch_sockets) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(sleeper.sleep(20ms, watch_sockets) == Sleeper::Woken::by_time);
    return std::chrono::steady_clock::now() - begin;
}

} // namespace

TEST_CASE("a nudge that comes just before the sleep ends it") {
    for (const bool watch_sockets : {false, true}) {
        Sleeper sleeper;
        sleeper.nudge();
        CHECK(sleeper.sleep(2s, watch_sockets) == Sleeper::Woken::by_nudge);
        // Once.
        CHECK(time_of_sleep(sleeper, watch_sockets) >= 20ms);
    }
}

TEST_CASE("nudges at any moment end sleeps") {
    for (const bool watch_sockets : {false, true}) {
        Sleeper sleeper;
        std::atomic<int> answered{0};
        constexpr int nudges = 200;
        std::thread other{[&] {
            for (int i = 0; i < nudges; ++i) {
                sleeper.nudge();
                while (answered.load() == i) std::this_thread::yield();
            }
        }};
        int by_nudge = 0;
        for (int i = 0; i < nudges; ++i) {
            by_nudge += sleeper.sleep(10s, watch_sockets) == Sleeper::Woken::by_nudge ? 1 : 0;
            answered.store(i + 1);
        }
        other.join();
        CHECK(by_nudge == nudges);
    }
}

TEST_CASE("sleeps last also where the system forbids to wait for sockets") {
    bool forbidden = false;
    bool filters = true; // emulators know none
    std::thread{[&] {    // the filter stays on the thread
        forbidden = forbid_epoll_pwait2();
        filters = forbidden || errno != EINVAL;
        Sleeper sleeper;
        for (int i = 0; i < 3; ++i) CHECK(time_of_sleep(sleeper, true) >= 20ms);
        sleeper.nudge();
        CHECK(sleeper.sleep(2s, true) == Sleeper::Woken::by_nudge);
    }}
        .join();
    if (!filters) WARN("this system has no filters of calls: tried without one");
    CHECK(forbidden == filters);
}
