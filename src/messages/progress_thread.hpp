#pragma once

#include "src/messages/polling_policy.hpp"
#include "src/messages/sleeper.hpp"
#include "src/support/backoff.hpp"
#include "src/support/polled_mutex.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <sched.h>

namespace lapwing::detail::messages {

/// Something that the progress thread drives.
class Progressing {
public:
    using Clock = std::chrono::steady_clock;

    virtual ~Progressing() = default;

    using Round = ProgressRound;
    using Waits = ComputationWaits;
    /// One round of progress. `now` is a few rounds old at most. Must not throw.
    virtual Round progress_round(Clock::time_point now) noexcept = 0;
    /// The same for a thread that waits; whether anything moved.
    virtual bool serve() noexcept = 0;
    [[nodiscard]] virtual Waits waits() const noexcept = 0;
};

/// The progress thread: one per process, whatever the number of teams; started with the first and stopped with the
/// last.
///
/// It polls while there is traffic and for `spin` after the last, and otherwise sleeps, at first briefly and then up to
/// `longest_sleep`: a request that finds it asleep waits that long once, unless it comes over TCP (see Sleeper). If it
/// has no processor of its own it yields after every fruitless poll.
class ProgressThread {
public:
    struct Options {
        std::chrono::microseconds spin{200};
        std::chrono::microseconds longest_sleep{10000};
        support::ProcessorShare share = support::ProcessorShare::ample;
        cpu_set_t processors{}; ///< where it may run; none: where the thread may that starts it
    };

    static ProgressThread& instance();

    /// The options of the first team hold while the thread runs. Throws std::system_error when the thread cannot be
    /// started; `team` is not added then.
    void add(Progressing& team, const Options& options);
    /// On return the thread does not touch `team` any more. Does nothing for a team that was not added.
    void remove(Progressing& team);

    /// Serves some of the teams but `served`, in turn, for a thread that waits in that one, and serves it, anyway:
    /// beside it the progress thread sleeps, so as not to take the processor from it. Whether anything moved. Costs a
    /// load if there is one team.
    bool serve_in_turn(const Progressing& served) noexcept;

    /// On return the thread has ended, even if there are teams: MPI is about to be finalized.
    void stop();

    /// The calling thread sleeps this long, and the progress thread makes no round meanwhile. `asleep`, if given, is 1
    /// all this time, and 0 before and after.
    void sleep_outside_mpi(std::chrono::microseconds time, std::int64_t* asleep);

    /// Ends a sleep: there is something to do. Costs nothing when it is awake.
    void nudge() noexcept { sleeper_.nudge(); }
    /// After the start of a small transfer that is complete when its answer has been received. The caller receives it
    /// best itself when it waits: a second thread would take the processor from it. Transfers that were aggregated
    /// after the first must be sent even if the caller computes meanwhile, so this nudges now and then.
    void nudge_seldom() noexcept {
        const std::int64_t now = std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
        if (now - last_seldom_.load(std::memory_order_relaxed) < between_seldom_nudges) return;
        last_seldom_.store(now, std::memory_order_relaxed);
        sleeper_.nudge();
    }

    /// A clock that costs one load: advances every few milliseconds while the thread runs.
    [[nodiscard]] const std::atomic<std::uint32_t>& tick() const noexcept { return tick_; }

private:
    /// Longer than the thread stays awake after a nudge, unless LAPWING_PROGRESS_SPIN is long.
    static constexpr std::int64_t between_seldom_nudges =
        std::chrono::nanoseconds{std::chrono::milliseconds{1}}.count();

    ProgressThread() = default;
    ~ProgressThread() = default; // never called: see instance()
    void stop_locked();
    void run();
    void prepare_thread();
    /// Advances the tick.
    Progressing::Clock::time_point look_at_clock();
    Progressing::Round round(Progressing::Clock::time_point now, Progressing::Waits& waits);

    /// Held while the thread is started or joined: so a second caller finds it done.
    support::Mutex start_stop_mutex_{support::LockRank::progress_start};
    /// Held during a round, and by a thread that serves in turn. Others wait for its end at most: both give way.
    support::PolledMutex teams_mutex_{support::LockRank::progress_teams};
    std::vector<Progressing*> teams_;
    std::atomic<std::size_t> team_count_{0}; ///< the same for threads that have not the mutex
    std::size_t turn_ = 0;                   ///< of serve_in_turn()
    std::atomic<bool> served_moved_{false};  ///< something, in serve_in_turn() since the last round
    Options options_;
    std::thread thread_;
    std::atomic<bool> stop_{false};
    Sleeper sleeper_;
    std::atomic<std::int64_t> last_seldom_{0};       ///< nanoseconds
    alignas(64) std::atomic<std::uint32_t> tick_{1}; ///< on a line that is written every few milliseconds only
};

} // namespace lapwing::detail::messages
