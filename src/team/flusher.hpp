#pragma once

#include <chrono>
#include <memory>

#include <sched.h>

namespace lapwing::detail::team {

class HoldsWrites;
class TeamState;

/// A thread that sends what windows hold back when no release follows: dirty bytes of caches, and gathered adds. So
/// every write arrives in the end, also that of a program which signals by a plain store and then polls, as it could
/// without a cache. This is no promise of order.
///
/// It is a thread of its own, since it may have to wait for other ranks, which the progress thread must not. It looks
/// at each window every `age`, and less often while there is nothing to send; a look takes no mutex that is held
/// while anything is waited for. What the program adds to goes on waiting, so that its messages stay as large.
class Flusher {
public:
    /// `processors`: where it may run; none: where the thread may that starts it. Throws std::system_error,
    /// std::bad_alloc.
    Flusher(std::chrono::microseconds age, const cpu_set_t& processors);
    ~Flusher();
    Flusher(const Flusher&) = delete;
    Flusher& operator=(const Flusher&) = delete;

    /// Throws std::bad_alloc.
    void add(HoldsWrites& held);
    /// On return the thread does not use it any more. Does nothing where it was not added.
    void remove(HoldsWrites& held) noexcept;
    /// The same for a window, or all of a team, that stays until the process ends: waits no longer than a second, since
    /// the thread may be in MPI, and wait for a rank that is gone.
    void abandon(const HoldsWrites& held) noexcept;
    void abandon(const TeamState& team) noexcept;
    /// On return the thread has ended; or it is in MPI, for longer than a second, and ends when it leaves that.
    void stop() noexcept;
    /// The same for all flushers of the process: MPI is about to be finalized, or the process to end.
    static void stop_all() noexcept;

private:
    struct Shared;

    std::shared_ptr<Shared> shared_; ///< with the thread, which may outlive this
};

} // namespace lapwing::detail::team
