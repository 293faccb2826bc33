// Room: window
#pragma once

#include <lapwing/team.hpp>

#include <memory>

namespace lapwing {

namespace detail::window {
class LockState;
} // namespace detail::window

/// A lock that all ranks of a team share, granted in the order of the requests (queue locks with the tail at a home
/// rank and one place for each rank: between nodes that of Mellor-Crummey and Scott, 1991, where a waiting rank watches
/// its own memory; on one node that of Craig, 1993, and of Magnusson, Landin and Hagersten, 1994, where it watches a
/// word of the rank before it). Satisfies the standard's Lockable: use std::lock_guard and std::unique_lock with it.
/// Lock acquires, unlock releases, for all windows of the team. Threads of one rank take turns.
class Lock {
public:
    /// A closed lock, as one that was moved from or closed: every other call throws UsageError. Window and the arrays
    /// have the same.
    Lock() noexcept;
    /// Collective. `home` owns the tail of the queue: choose the rank that takes the lock most.
    /// Throws RangeError; MismatchError on all ranks where they name different homes; MpiError.
    /// Cost: a barrier; where more locks are open than ever before, now and then the creation of a window for as many
    /// again.
    explicit Lock(Team& team, Rank home = Rank{0});
    Lock(Lock&&) noexcept;
    Lock& operator=(Lock&&) noexcept;
    /// Collective, as close(); a lock that is held is unlocked, with a line on standard error.
    ~Lock();

    /// Collective; of a closed lock, nothing. Throws UsageError when this rank holds the lock.
    void close();

    /// Returns when this rank holds the lock. Throws UsageError when the calling thread holds it already,
    /// PeerLeftError. Cost: one atomic at the home rank; between nodes, while another holds it, one more message from
    /// the predecessor.
    void lock();
    /// Takes the lock if nobody holds it or waits for it. Throws PeerLeftError when a rank has left and the lock is
    /// where the call before found it. Cost: one atomic at the home rank.
    [[nodiscard]] bool try_lock();
    /// Passes the lock on. Completes own puts first. Throws UsageError when this thread does not hold it.
    void unlock();

    /// Whether close() was called, the lock moved from, or never opened.
    [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }
    /// Whether this rank holds the lock; false of a closed one.
    [[nodiscard]] bool held() const noexcept;

private:
    [[nodiscard]] detail::window::LockState& open_state(const char* call) const;

    std::unique_ptr<detail::window::LockState> state_;
    Rank rank_{-1}; ///< for messages after the close; -1: it was never opened
};

} // namespace lapwing
