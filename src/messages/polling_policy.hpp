#pragma once

#include "src/messages/sleeper.hpp"
#include "src/support/backoff.hpp"

#include <chrono>
#include <cstdint>

namespace lapwing::detail::messages {

/// What a round of progress found.
struct ProgressRound {
    bool moved = false; ///< something came in or went out
    bool awake = false; ///< more is to be expected: do not sleep
    bool alert = false; ///< requests are to be expected that MPI serves by itself, without a word
    bool quiet = false; ///< nothing has moved for a while, and nothing is expected
    /// A computation thread waits, drives progress and keeps up, in all teams; or it streams transfers, makes progress
    /// itself whenever it needs an answer, and nothing moves in other teams. Not if there is an alert.
    bool attended = false;
};

/// Waits of computation threads.
struct ComputationWaits {
    std::uint32_t begun = 0; ///< so far, modulo 2^32
    bool in_mpi = false;     ///< one waits in MPI
    bool driving = false;    ///< one waits and drives progress
};

/// Whether polling after traffic has paid lately. Where the thread shares its processor with a computation, fruitless
/// polling slows the computation: a stream of requests is worth it, one halo each millisecond is not. What counts is
/// whether the next traffic came while the thread polled, or would have come had it polled: so a stream is noticed
/// without polling.
class PollingPays {
public:
    using Clock = std::chrono::steady_clock;

    /// For each round: whether something moved, and whether a computation thread has waited, which may have received
    /// what came. `time` is the length of the polling.
    void see(bool moved, bool waited, Clock::time_point now, std::chrono::microseconds time) noexcept;
    [[nodiscard]] bool operator()() const noexcept { return credit_ > 0; }

private:
    static constexpr int cost_in_vain = 8; ///< of one time polled in vain, in answers that came a sleep's end sooner
    static constexpr int most = 2 * cost_in_vain;
    int credit_ = most;
    bool cold_ = true;    ///< the round before was fruitless
    bool waited_ = false; ///< since something last moved
    Clock::time_point last_moved_{};
};

/// When the progress thread goes on at once, when it polls, and when and how long it sleeps. Makes no system call.
class PollingPolicy {
public:
    using Clock = std::chrono::steady_clock;

    struct Times {
        std::chrono::microseconds spin{200}; ///< so long it polls after the last traffic
        std::chrono::microseconds longest_sleep{10000};
    };
    PollingPolicy(const Times& times, support::ProcessorShare share, Clock::time_point now);

    enum class Next : std::uint8_t {
        round, ///< at once
        spin,  ///< after an instant on the processor
        yield, ///< after the threads that share the processor have had their turn
        sleep,
    };
    /// After a round: what comes next.
    [[nodiscard]] Next after(const ProgressRound& round, const ComputationWaits& waits, Clock::time_point now);

    struct Sleep {
        std::chrono::microseconds time{};
        bool watch_sockets = false;
    };
    /// The sleep that after() has asked for.
    [[nodiscard]] Sleep next_sleep();
    void woken(Sleeper::Woken by);
    /// Since the last sleep.
    [[nodiscard]] unsigned rounds() const noexcept { return rounds_; }

private:
    /// Notes a wait of a computation thread; whether there was one since the round before.
    bool note_wait(const ComputationWaits& waits, Clock::time_point now);
    /// Notes traffic, or that it is to be expected.
    void note_traffic(Clock::time_point now);
    /// Between two rounds of polling: whether the thread keeps its processor.
    [[nodiscard]] Next next_poll();

    const Times times_;
    const bool own_processor_; ///< the thread shares it with no computation
    PollingPays polling_pays_;
    Clock::time_point last_traffic_;
    Clock::time_point last_wait_;
    std::uint32_t waits_begun_ = 0;
    unsigned rounds_ = 0;
    unsigned cold_rounds_; ///< since something last moved
    std::chrono::microseconds sleep_;
    bool attended_ = false; ///< a computation thread drives progress, or does whenever it needs an answer
    bool alert_ = false;    ///< see ProgressRound
    bool woken_ = false;    ///< lately, by a nudge or a socket
    bool socket_woke_ = false;
    bool sockets_tell_ = false; ///< a socket announced the last traffic
    unsigned false_wakes_ = 0;
    unsigned sleeps_without_sockets_ = 0; ///< to come
};

} // namespace lapwing::detail::messages
