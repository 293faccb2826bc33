#include "window/progress/progress_thread.hpp"

#include <algorithm>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lapwing::window {
namespace {

using Clock = Progressing::Clock;

constexpr std::chrono::milliseconds tick_length{4};
constexpr std::chrono::microseconds first_sleep{50};
/// While a waiting computation thread drives progress: it may go back to computing at any time, and does not say so.
constexpr std::chrono::microseconds attended_sleep{1000};
/// For so many fruitless rounds after traffic the thread keeps its processor, even one that it shares with a computation:
/// whoever gave it up would get it back a time slice later, and the next request of a stream is here sooner. Counted in
/// rounds, which are the slower the slower the network is.
constexpr unsigned hot_rounds = 20;
/// Rounds between two looks at the clock.
constexpr unsigned rounds_per_look = 8;
/// Fruitless rounds after a wake before the next sleep: MPI may need several to see what woke the thread.
constexpr unsigned rounds_after_wake = 16;
/// Wakes in a row by a socket that brought nothing: then the sockets are another's, and left alone for some sleeps.
constexpr unsigned most_false_wakes = 8;
constexpr unsigned sleeps_without_sockets = 16;

/// Asks the scheduler to run this thread soon and briefly rather than late and long (Linux 6.12 and later heed it): where
/// it shares a processor with a computation, it then answers within 0.1 ms instead of a time slice.
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
    } attributes{.size = sizeof attributes, .policy = 0, .flags = 0x08,
                 .nice = getpriority(PRIO_PROCESS, 0), .priority = 0, .runtime_ns = 100'000, .deadline_ns = 0,
                 .period_ns = 0}; // flag 0x08: keep the policy
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

} // namespace

ProgressThread& ProgressThread::instance() {
    static ProgressThread thread;
    return thread;
}

ProgressThread::~ProgressThread() {
    // Teams that were never closed: the process ends, and their memory goes with it.
    stop_.store(true, std::memory_order_relaxed);
    sleeper_.wake();
    if (thread_.joinable()) thread_.join();
}

void ProgressThread::add(Progressing& team, const Options& options) {
    const std::lock_guard guard{teams_mutex_};
    teams_.push_back(&team);
    if (thread_.joinable()) return;
    options_ = options;
    stop_.store(false, std::memory_order_relaxed);
    thread_ = std::thread{[this] { run(); }};
}

void ProgressThread::remove(Progressing& team) {
    bool last = false;
    {
        const std::lock_guard guard{teams_mutex_};
        std::erase(teams_, &team);
        last = teams_.empty() && thread_.joinable();
        if (last) stop_.store(true, std::memory_order_relaxed);
    }
    if (!last) return;
    sleeper_.wake();
    thread_.join();
}

Progressing::Round ProgressThread::round(Clock::time_point now, bool& attended) {
    const std::lock_guard guard{teams_mutex_};
    Progressing::Round all;
    attended = true;
    for (Progressing* team : teams_) {
        if (team->attended()) continue;
        attended = false;
        const Progressing::Round one = team->progress_round(now);
        all.moved |= one.moved;
        all.awake |= one.awake;
    }
    return all;
}

void ProgressThread::run() {
    // Timers may fire up to 50 us late by default, which is more than a round trip takes.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    prefer_short_slices();
    Clock::time_point now = Clock::now();
    Clock::time_point last_traffic = now - std::chrono::seconds{1};
    std::chrono::microseconds sleep = first_sleep;
    Backoff backoff{options_.room == Room::ample ? Room::ample : Room::crowded};
    unsigned cold_rounds = hot_rounds; ///< since the last traffic
    unsigned rounds = 0;
    bool woken = false; ///< lately, by a nudge or a socket
    bool socket_woke = false;
    unsigned false_wakes = 0;
    unsigned without_sockets = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
        if (rounds++ % rounds_per_look == 0) {
            now = Clock::now();
            const auto tick = static_cast<std::uint32_t>(now.time_since_epoch() / tick_length) | 1U;
            if (tick_.load(std::memory_order_relaxed) != tick) tick_.store(tick, std::memory_order_relaxed);
        }
        bool attended = false;
        const Progressing::Round what = round(now, attended);
        if (what.moved || what.awake) {
            last_traffic = now;
            cold_rounds = 0;
            false_wakes = 0;
            socket_woke = false;
        }
        if (what.moved) continue;
        if (!attended && (woken || now - last_traffic < options_.spin)) {
            if (now - last_traffic < options_.spin) sleep = first_sleep;
            if (rounds > rounds_after_wake) woken = false;
            if (++cold_rounds < hot_rounds) relax_processor();
            else backoff.pause();
            continue;
        }
        if (socket_woke && ++false_wakes == most_false_wakes) {
            false_wakes = 0;
            without_sockets = sleeps_without_sockets;
        }
        const bool watch_sockets = !attended && without_sockets == 0;
        if (without_sockets > 0) --without_sockets;
        const Sleeper::Woken by = sleeper_.sleep(attended ? std::min(attended_sleep, options_.longest_sleep) : sleep, watch_sockets);
        woken = by != Sleeper::Woken::by_time;
        socket_woke = by == Sleeper::Woken::by_socket;
        sleep = std::min(2 * sleep, options_.longest_sleep);
        rounds = 0;
    }
}

} // namespace lapwing::window
