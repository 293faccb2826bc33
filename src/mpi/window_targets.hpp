#pragma once

#include "src/support/mutex.hpp"

#include <lapwing/rank.hpp>

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace lapwing::detail::mpi {

/// Keeps a window's operations apart from the first operation on another target, where MPI does not.
///
/// MPICH's device ch4 keeps a hash table of a window's targets. The first operation on a target that goes as a message
/// enters it, with a lock held; but every operation looks its target up before it takes that lock. Where the table is
/// made or grows meanwhile in another thread, the look-up reads memory that is not yet there, or not any more (4.2.1: a
/// SIGSEGV in some of a thousand windows).
///
/// A rank's own target is entered before the window is used, and all if they are few: the table is there, and does not
/// grow. First operations on others are alone.
class WindowTargets {
public:
    /// Nothing is kept apart.
    WindowTargets() = default;

    /// Local, before a window's first epoch: enters the rank's own target, and all of up to this many ranks, where MPI
    /// needs it. Returns an error code of MPI's.
    static constexpr int few = 64;
    [[nodiscard]] static int enter(MPI_Win window, int ranks, Rank own_rank);
    /// Whether MPI needs operations to be kept apart if several threads call it.
    [[nodiscard]] static bool needs_care() noexcept;
    /// By one thread, before operations: keeps apart those on a window of `ranks` ranks. Takes one bit a rank.
    void keep_apart(int ranks);

    /// Held while an operation on `target` is issued, not while it is waited for.
    class IssuedOperation {
    public:
        IssuedOperation(WindowTargets& targets, Rank target) {
            if (targets.entered_ != nullptr) [[unlikely]]
                begin(targets, target);
        }
        ~IssuedOperation() {
            if (targets_ != nullptr) [[unlikely]]
                end();
        }
        IssuedOperation(const IssuedOperation&) = delete;
        IssuedOperation& operator=(const IssuedOperation&) = delete;

    private:
        void begin(WindowTargets& targets, Rank target);
        void end();
        WindowTargets* targets_ = nullptr;
        Rank target_ = 0;
        bool alone_ = false;
    };

private:
    support::SharedMutex mutex_{support::LockRank::leaf};
    std::unique_ptr<std::atomic<std::uint64_t>[]> entered_; ///< one bit a target; null: nothing is kept apart
};

} // namespace lapwing::detail::mpi
