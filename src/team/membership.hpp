#pragma once

#include "src/messages/engine.hpp"
#include "src/support/mutex.hpp"
#include "src/team/barrier.hpp"

#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::team {

/// Why a rank leaves a team before its close, as it travels.
struct LeaveReason {
    enum Cause : std::uint8_t { exception, mismatch, others, failure, finalize, memory, interrupt };
    Cause cause = exception;
    /// For a mismatch the CollectiveCall that the rank was in, plus 2^8 times what another was in: the same if only the
    /// arguments differ. For other reasons: the rank that had left, if it is below 2^24.
    std::uint32_t detail = 0;

    [[nodiscard]] static LeaveReason of_mismatch(CollectiveCall call, CollectiveCall other) noexcept {
        return {mismatch, static_cast<std::uint32_t>(call) | static_cast<std::uint32_t>(other) << 8};
    }
    [[nodiscard]] std::uint32_t packed() const noexcept { return detail << 8 | cause; }
    [[nodiscard]] static LeaveReason unpacked(std::uint32_t bits) noexcept {
        return {static_cast<Cause>(bits & 0xFF), bits >> 8};
    }
    [[nodiscard]] std::string text() const;
};

/// Throws UsageError for a call after MPI_Finalize; `start` begins the message.
[[noreturn]] void throw_finalized(std::string_view start);

/// Which ranks have left a team before its close, and whether this one can go on: so that no wait lasts for ever. A
/// rank that leaves notifies the ranks at distances that are powers of 2, and each passes it on.
class Membership {
public:
    // For the target of a call, where it is not a rank.
    static constexpr int any_rank = -1; ///< anybody may be needed
    /// Everybody is needed in the next collective call. A rank that made it and left afterwards was there.
    static constexpr int next_collective = -2;

    /// `who`: the start of messages. `collectives`: those that this rank has completed.
    Membership(messages::Engine& engine, int rank, int size, const std::string& who,
               const std::atomic<std::uint64_t>& collectives) noexcept
        : engine_{engine}, rank_{rank}, size_{size}, who_{who}, collectives_{collectives} {}

    /// Something has happened that waits must look at: a rank has left, or progress has failed.
    [[nodiscard]] bool troubled() const noexcept { return troubled_.load(std::memory_order_relaxed); }
    /// A rank is known to have left.
    [[nodiscard]] bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }
    [[nodiscard]] bool has_left(Rank rank);
    /// Throws when the trouble keeps `call` from completing: MpiError or Error with what progress failed with,
    /// InterruptedError after interrupt(), PeerLeftError when `target` has left.
    void check(const char* call, int target);

    /// MPI is finalized: check() throws UsageError for all calls from now on.
    void end_by_finalize() noexcept;
    [[nodiscard]] bool finalized() const noexcept { return finalized_.load(std::memory_order_relaxed); }
    /// The program has ended a wait of this rank.
    [[nodiscard]] bool interrupted() const noexcept { return interrupted_.load(std::memory_order_relaxed); }
    /// Why this rank leaves without an exception.
    [[nodiscard]] LeaveReason reason_to_follow();

    // With the engine's mutex held.
    /// Progress has failed for good; of several failures the first counts.
    void fail(const std::string& text, int code) noexcept { fail(Failure{.text = text, .code = code}); }
    /// The program has ended a wait, which nobody can go on with.
    void interrupt(const std::string& text) noexcept;
    /// The others are notified that this rank cannot be waited for any more, unless they wait for what it has done
    /// before: the given number of collective calls, or else those that it has completed.
    void announce_own(LeaveReason reason) { announce_own(reason, collectives_.load(std::memory_order_relaxed)); }
    void announce_own(LeaveReason reason, std::uint64_t collectives);
    /// Another rank asks for memory of this rank that was lost by an exception.
    void on_abandoned_access();
    /// `rank` has left, after so many collective calls. False: there is no such rank, or no such reason.
    bool on_peer_left(int rank, std::uint64_t collectives, std::uint32_t reason);
    /// Sends what has not been passed on.
    void pass_on();

private:
    struct LeftPeer {
        int rank = 0;
        std::uint64_t collectives = 0; ///< that it had completed
        LeaveReason reason;
    };
    struct News {
        LeftPeer peer;
        std::uint32_t not_notified = 0; ///< bit i: the rank 2^i after this one has not been notified
    };
    /// What ended progress for good.
    struct Failure {
        std::string text; ///< empty: nothing did
        int code = 0;     ///< MPI's, if it was an MPI call
        bool interrupted = false;
    };
    /// The number of ranks that left that are remembered and passed on. A team that so many ranks have left is one that
    /// all must leave: waits for any of the others end, too.
    static constexpr std::size_t most_left = 16;

    /// The caller holds the engine's mutex or mutex_.
    [[nodiscard]] bool is_left(Rank rank) const;
    void fail(const Failure& failure) noexcept;
    void notify(const LeftPeer& peer);
    void break_up() noexcept {
        broken_.store(true, std::memory_order_release);
        troubled_.store(true, std::memory_order_relaxed);
    }

    messages::Engine& engine_;
    int rank_;
    int size_;
    const std::string& who_;
    const std::atomic<std::uint64_t>& collectives_;

    std::atomic<bool> troubled_{false};
    std::atomic<bool> broken_{false};
    std::atomic<bool> finalized_{false};
    std::atomic<bool> interrupted_{false};
    support::Mutex mutex_{support::LockRank::membership}; ///< where they change with the engine's, too
    std::vector<LeftPeer> left_;
    Failure failure_;
    std::vector<News> news_; ///< guarded by the engine's mutex; this rank first
    bool own_sent_ = false;  ///< guarded by the engine's mutex
};

} // namespace lapwing::detail::team
