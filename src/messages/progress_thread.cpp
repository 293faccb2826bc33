#include "src/messages/progress_thread.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lapwing::messages {
namespace {

using Clock = Progressing::Clock;

constexpr std::chrono::milliseconds tick_length{4};
constexpr std::chrono::microseconds first_sleep{50};
/// After traffic that a socket told of: so is the next, most likely, and each look costs the computation beside it some microseconds.
constexpr std::chrono::microseconds first_told_sleep{500};
/// While a computation thread drives progress, because it waits or soon will: it may go back to computing at any time, and does not
/// say so.
constexpr std::chrono::microseconds driven_sleep{1000};
/// Requests that MPI serves without a word are polled for, unless a computation thread that shares its processor with this one
/// has waited so lately: it communicates and serves them too, and a thread that polls would keep the processor from it for a time
/// slice. Between looks the thread then sleeps. A computation that does not wait gives up to half of its processor for them.
constexpr std::chrono::milliseconds courtesy{5};
/// For so many fruitless rounds after traffic the thread keeps its processor, even one that it shares with a computation:
/// whoever gave it up would get it back a time slice later, and the next request of a stream is here sooner. Counted in
/// rounds, which are the slower the slower the network is.
constexpr unsigned hot_rounds = 8;
/// Rounds between two looks at the clock.
constexpr unsigned rounds_per_look = 8;
/// Fruitless rounds after a wake before the next sleep: MPI may need several to see what woke the thread.
constexpr unsigned rounds_after_wake = 16;
/// Wakes in a row by a socket that brought nothing: then the sockets are another's, and left alone for some sleeps.
constexpr unsigned most_false_wakes = 8;
constexpr unsigned sleeps_without_sockets = 16;

/// Whether polling after traffic has lately paid. Where the thread shares its processor with a computation, what it polls in vain the
/// computation loses: a stream of requests is worth it, one halo each millisecond is not. What counts is whether the next traffic
/// came while the thread polled, or would have, had it polled: so a stream is noticed without polling.
class PollingPays {
public:
    /// Of each round: whether something moved, and whether a computation thread has waited, which may have taken what came. `time` is
    /// for how long is polled.
    void see(bool moved, bool waited, Clock::time_point now, std::chrono::microseconds time) noexcept {
        waited_ |= waited;
        if (moved) {
            if (cold_ && !waited_) credit_ = std::clamp(credit_ + (now - last_moved_ < time ? 1 : -cost_in_vain), -most, most);
            waited_ = false;
            last_moved_ = now;
        }
        cold_ = !moved;
    }
    [[nodiscard]] bool operator()() const noexcept { return credit_ > 0; }

private:
    static constexpr int cost_in_vain = 8; ///< of one time polled in vain, in answers that came a sleep's end sooner
    static constexpr int most = 2 * cost_in_vain;
    int credit_ = most;
    bool cold_ = true; ///< the round before was fruitless
    bool waited_ = false; ///< since something last moved
    Clock::time_point last_moved_{};
};

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

/// While it exists, threads that are started begin without the process's signals: the program's handlers are for its own threads.
/// What a fault of the thread itself raises still comes to it.
class SignalsBlocked {
public:
    SignalsBlocked() noexcept {
        sigset_t signals;
        sigfillset(&signals);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&signals, fault);
        pthread_sigmask(SIG_SETMASK, &signals, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

} // namespace

ProgressThread& ProgressThread::instance() {
    // Never destroyed: MPI may be finalized by an exit handler, and only then are the teams that nobody closed removed.
    static ProgressThread* const thread = new ProgressThread;
    return *thread;
}

std::unique_lock<std::mutex> ProgressThread::lock_teams() {
    teams_wanted_.fetch_add(1, std::memory_order_relaxed); // a hint: the mutex orders what matters
    std::unique_lock guard{teams_mutex_};
    teams_wanted_.fetch_sub(1, std::memory_order_relaxed);
    return guard;
}

void ProgressThread::add(Progressing& team, const Options& options) {
    const std::lock_guard start_stop{start_stop_mutex_};
    if (!thread_.joinable()) {
        // The thread must not run on while the libraries that it calls are taken down: of the program's exit handlers this
        // one runs before those that are registered already, as those libraries' are.
        static const bool stops_at_exit = std::atexit([] { instance().stop(); }) == 0;
        static_cast<void>(stops_at_exit);
        options_ = options;
        stop_.store(false, std::memory_order_relaxed);
        const SignalsBlocked blocked;
        thread_ = std::thread{[this] { run(); }};
    }
    {
        const auto guard = lock_teams();
        teams_.push_back(&team);
    }
    sleeper_.nudge(); // without teams it sleeps
}

void ProgressThread::remove(Progressing& team) {
    const std::lock_guard start_stop{start_stop_mutex_};
    {
        const auto guard = lock_teams();
        std::erase(teams_, &team);
        if (!teams_.empty()) return;
    }
    stop_locked();
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
    const auto guard = lock_teams();
    if (asleep != nullptr) std::atomic_ref{*asleep}.store(1);
    std::this_thread::sleep_for(time);
    if (asleep != nullptr) std::atomic_ref{*asleep}.store(0);
}

Progressing::Round ProgressThread::round(Clock::time_point now, Progressing::Waits& waits) {
    const std::lock_guard guard{teams_mutex_};
    Progressing::Round all;
    bool needed = false; // by a team that nobody else serves
    waits = {.begun = 0, .in_mpi = false, .driving = true};
    for (Progressing* team : teams_) {
        const Progressing::Waits of_team = team->waits();
        waits.begun += of_team.begun;
        waits.in_mpi |= of_team.in_mpi;
        if (of_team.driving) continue;
        waits.driving = false;
        const Progressing::Round one = team->progress_round(now);
        all.moved |= one.moved;
        all.awake |= one.awake;
        all.alert |= one.alert;
        all.attended |= one.attended;
        needed |= !one.attended && !one.quiet;
    }
    all.attended = all.attended && !needed && !all.alert;
    return all;
}

void ProgressThread::run() {
    pthread_setname_np(pthread_self(), "lapwing"); // for debuggers and top -H
    if (CPU_COUNT(&options_.processors) != 0)
        pthread_setaffinity_np(pthread_self(), sizeof options_.processors, &options_.processors); // or stay where it is
    // Timers may fire up to 50 us late by default, which is more than a round trip takes.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    prefer_short_slices();
    Clock::time_point now = Clock::now();
    Clock::time_point last_traffic = now - std::chrono::seconds{1};
    Clock::time_point last_wait = last_traffic;
    std::uint32_t waits_begun = 0;
    std::chrono::microseconds sleep = first_sleep;
    support::Backoff backoff{options_.share == support::ProcessorShare::ample ? support::ProcessorShare::ample : support::ProcessorShare::crowded};
    unsigned cold_rounds = hot_rounds; ///< since the last traffic
    unsigned rounds = 0;
    bool woken = false; ///< lately, by a nudge or a socket
    bool socket_woke = false;
    bool sockets_tell = false; ///< a socket told of the last traffic
    unsigned false_wakes = 0;
    unsigned without_sockets = 0;
    PollingPays polling_pays;
    while (!stop_.load(std::memory_order_relaxed)) {
        while (teams_wanted_.load(std::memory_order_relaxed) != 0) sched_yield();
        if (rounds++ % rounds_per_look == 0) {
            now = Clock::now();
            const auto tick = static_cast<std::uint32_t>(now.time_since_epoch() / tick_length);
            if (tick_.load(std::memory_order_relaxed) != tick) tick_.store(tick, std::memory_order_relaxed);
        }
        Progressing::Waits waits;
        const Progressing::Round what = round(now, waits);
        const bool waited = waits.driving || waits.in_mpi || waits.begun != waits_begun;
        if (waited) {
            waits_begun = waits.begun;
            last_wait = now;
            socket_woke = false; // the wait may have taken what came
        }
        const bool polite = options_.share != support::ProcessorShare::ample && now - last_wait < courtesy;
        if (what.moved || what.awake || (what.alert && !polite)) {
            last_traffic = now;
            cold_rounds = 0;
            false_wakes = 0;
            socket_woke = false;
        }
        const bool attended = waits.driving || what.attended;
        polling_pays.see(what.moved, waited, now, options_.spin);
        if (what.moved && !what.attended) continue;
        const bool recent = now - last_traffic < options_.spin;
        const bool poll = recent && (options_.share == support::ProcessorShare::ample || polling_pays());
        if (recent) sleep = sockets_tell ? first_told_sleep : first_sleep;
        if (!attended && (woken || poll)) {
            if (rounds > rounds_after_wake) woken = false;
            if (++cold_rounds < hot_rounds) support::relax_processor();
            else backoff.pause();
            continue;
        }
        if (socket_woke && ++false_wakes == most_false_wakes) {
            false_wakes = 0;
            without_sockets = sleeps_without_sockets;
        }
        const bool watch_sockets = !attended && without_sockets == 0;
        if (without_sockets > 0) --without_sockets;
        if (what.alert) sleep = first_sleep;
        const auto time = attended ? std::min(driven_sleep, options_.longest_sleep) : sleep;
        const Sleeper::Woken by = sleeper_.sleep(time, watch_sockets);
        woken = by != Sleeper::Woken::by_time;
        sockets_tell = socket_woke = by == Sleeper::Woken::by_socket;
        // After a nudge the first sleeps are short again, so that the tick goes on while this rank needs it: whoever sleeps
        // twice as long each time is late by less than what it slept before.
        sleep = by == Sleeper::Woken::by_nudge ? first_sleep : std::min(2 * sleep, options_.longest_sleep);
        rounds = 0;
    }
}

} // namespace lapwing::messages
