#include "src/messages/progress_thread.hpp"

#include "src/support/signals_blocked.hpp"

#include <lapwing/statistics.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lapwing::detail::messages {
namespace {

using Clock = Progressing::Clock;

constexpr std::chrono::milliseconds tick_length{4};
/// Rounds between two looks at the clock.
constexpr unsigned rounds_per_look = 8;

/// Asks the scheduler to run this thread soon and briefly rather than late and long (Linux 6.12 and later heed it):
/// where it shares a processor with a computation, it then answers within 0.1 ms instead of a time slice.
void prefer_short_slices() {
    struct {
        std::uint32_t size;
        std::uint32_t policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime_ns;
        std::uint64_t deadline_ns;
        std::uint64_t period_ns;
    } attributes{.size = sizeof attributes,
                 .policy = 0,
                 .flags = 0x08,
                 .nice = getpriority(PRIO_PROCESS, 0),
                 .priority = 0,
                 .runtime_ns = 100'000,
                 .deadline_ns = 0,
                 .period_ns = 0}; // flag 0x08: keep the policy
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

} // namespace

ProgressThread& ProgressThread::instance() {
    // Never destroyed: MPI may be finalized by an exit handler, and only then are the teams that nobody closed removed.
    static ProgressThread* const thread = new ProgressThread;
    return *thread;
}

void ProgressThread::add(Progressing& team, const Options& options) {
    const std::lock_guard start_stop{start_stop_mutex_};
    if (!thread_.joinable()) {
        // The thread must not run on while the libraries that it calls are unloaded: exit handlers run in reverse
        // order, so this one runs before those that are registered already, such as theirs.
        static const bool stops_at_exit = std::atexit([] { instance().stop(); }) == 0;
        static_cast<void>(stops_at_exit);
        options_ = options;
        stop_.store(false, std::memory_order_relaxed);
        const support::SignalsBlocked blocked;
        thread_ = std::thread{[this] { run(); }};
    }
    {
        const std::lock_guard guard{teams_mutex_};
        teams_.push_back(&team);
        team_count_.store(teams_.size(), std::memory_order_relaxed);
    }
    sleeper_.nudge(); // without teams it sleeps
}

void ProgressThread::remove(Progressing& team) {
    const std::lock_guard start_stop{start_stop_mutex_};
    {
        const std::lock_guard guard{teams_mutex_};
        std::erase(teams_, &team);
        team_count_.store(teams_.size(), std::memory_order_relaxed);
        if (!teams_.empty()) return;
    }
    stop_locked();
}

bool ProgressThread::serve_in_turn(const Progressing& served) noexcept {
    constexpr std::size_t most = 8; // a wait must not take as long as there are teams
    if (team_count_.load(std::memory_order_relaxed) <= 1) return false;
    const std::unique_lock guard{teams_mutex_, std::try_to_lock};
    if (!guard.owns_lock()) return false; // the teams are being served
    bool moved = false;
    for (std::size_t k = 0; k < std::min(most, teams_.size()); ++k)
        if (Progressing& team = *teams_[++turn_ % teams_.size()]; &team != &served) moved |= team.serve();
    if (moved) served_moved_.store(true, std::memory_order_relaxed);
    return moved;
}

void ProgressThread::stop() {
    const std::lock_guard start_stop{start_stop_mutex_};
    stop_locked();
}

void ProgressThread::stop_locked() {
    if (!thread_.joinable()) return;
    stop_.store(true, std::memory_order_relaxed);
    sleeper_.nudge();
    thread_.join();
}

void ProgressThread::sleep_outside_mpi(std::chrono::microseconds time, std::int64_t* asleep) {
    const std::lock_guard guard{teams_mutex_};
    if (asleep != nullptr) std::atomic_ref{*asleep}.store(1);
    std::this_thread::sleep_for(time);
    if (asleep != nullptr) std::atomic_ref{*asleep}.store(0);
}

Progressing::Round ProgressThread::round(Clock::time_point now, Progressing::Waits& waits) {
    const std::lock_guard guard{teams_mutex_};
    Progressing::Round all;
    bool needed = false; // by a team that nobody else serves
    waits = {.begun = 0, .in_mpi = false, .driving = false};
    for (Progressing* team : teams_) {
        const Progressing::Waits of_team = team->waits();
        waits.begun += of_team.begun;
        waits.in_mpi |= of_team.in_mpi;
        if (of_team.driving) {
            waits.driving = true;
            continue;
        }
        const Progressing::Round one = team->progress_round(now);
        all.moved |= one.moved;
        all.awake |= one.awake;
        all.alert |= one.alert;
        all.attended |= one.attended;
        needed |= !one.attended && !one.quiet;
    }
    if (served_moved_.load(std::memory_order_relaxed)) {
        served_moved_.store(false, std::memory_order_relaxed);
        all.awake = true;
    }
    // A computation thread that waits serves the other teams, too; if it keeps up, nothing is left here.
    const bool driven = (waits.driving || teams_.empty()) && !all.moved;
    all.attended = (driven || (all.attended && !needed)) && !all.alert;
    return all;
}

void ProgressThread::prepare_thread() {
    pthread_setname_np(pthread_self(), "lapwing"); // for debuggers and top -H
    if (CPU_COUNT(&options_.processors) != 0)
        pthread_setaffinity_np(pthread_self(), sizeof options_.processors, &options_.processors); // or stay where it is
    // Timers may fire up to 50 us late by default, which is more than a round trip takes.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    prefer_short_slices();
}

Clock::time_point ProgressThread::look_at_clock() {
    const Clock::time_point now = Clock::now();
    const auto tick = static_cast<std::uint32_t>(now.time_since_epoch() / tick_length);
    if (tick_.load(std::memory_order_relaxed) != tick) tick_.store(tick, std::memory_order_relaxed);
    return now;
}

void ProgressThread::run() {
    // Before a thread of the program can end and leave it its number, and with that its caches.
    (void)support::thread_number();
    prepare_thread();
    Clock::time_point now = Clock::now();
    PollingPolicy policy{{options_.spin, options_.longest_sleep}, options_.share, now};
    while (!stop_.load(std::memory_order_relaxed)) {
        while (teams_mutex_.wanted()) sched_yield();
        if (policy.rounds() % rounds_per_look == 0) now = look_at_clock();
        Progressing::Waits waits;
        const Progressing::Round found = round(now, waits);
        switch (policy.after(found, waits, now)) {
        case PollingPolicy::Next::round: break;
        case PollingPolicy::Next::spin: support::relax_processor(); break;
        case PollingPolicy::Next::yield: sched_yield(); break;
        case PollingPolicy::Next::sleep:
            const PollingPolicy::Sleep sleep = policy.next_sleep();
            policy.woken(sleeper_.sleep(sleep.time, sleep.watch_sockets));
        }
    }
}

} // namespace lapwing::detail::messages
