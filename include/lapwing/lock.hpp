// Room: window
#pragma once

#include <lapwing/team.hpp>

#include <memory>

namespace lapwing {

namespace detail::window {
class LockState;
} // namespace detail::window

/// A lock shared by all ranks of a team, granted in the order of the requests. It is a queue lock with the tail at a
/// home rank and one queue node for each rank: between nodes that of Mellor-Crummey and Scott (1991), where a waiting
/// rank watches its own memory; on one node that of Craig (1993), and of Magnusson, Landin and Hagersten (1994), where
/// it watches a word of the rank before it. Satisfies the standard's Lockable: use std::lock_guard and std::unique_lock
/// with it. Locking acquires, unlocking releases, for all windows of the team. Threads of one rank exclude each other,
/// too.
class Lock {
public:
    /// A closed lock, like one that was closed or moved from: every other call throws UsageError.
    Lock() noexcept;
    /// Collective. `home` owns the tail of the queue: choose the rank that takes the lock most often. Throws
    /// RangeError; MismatchError on all ranks if they name different homes; MpiError.
    /// Cost: a barrier; if more locks are open than ever before, now and then the creation of a window that holds as
    /// many again.
    explicit Lock(Team& team, Rank home = Rank{0});
    Lock(Lock&&) noexcept;
    Lock& operator=(Lock&&) noexcept;
    /// As close(), collective; a lock that is held is unlocked, with a line on standard error.
    ~Lock();

    /// Collective; on a closed lock it does nothing. Throws UsageError if this rank holds the lock.
    void close();

    /// Returns when this rank holds the lock. Throws UsageError if the calling thread holds it already, PeerLeftError.
    /// Cost: one atomic at the home rank; between nodes, if another rank holds it, one more message from the
    /// predecessor.
    void lock();
    /// Takes the lock if nobody holds it or waits for it. Throws PeerLeftError if a rank has left and the lock is still
    /// as the previous call found it. Cost: one atomic at the home rank.
    [[nodiscard]] bool try_lock();
    /// Completes this rank's puts, then passes the lock on. Throws UsageError if this thread does not hold it.
    void unlock();

    /// Whether close() was called, or the lock was moved from or never opened.
    [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }
    /// Whether this rank holds the lock; false for a closed lock.
    [[nodiscard]] bool held() const noexcept;

private:
    [[nodiscard]] detail::window::LockState& open_state(const char* call) const;

    std::unique_ptr<detail::window::LockState> state_;
    Rank rank_{-1}; ///< for messages after the close; -1: it was never opened
};

} // namespace lapwing
