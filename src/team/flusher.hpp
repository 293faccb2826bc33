#pragma once

#include "src/support/mutex.hpp"
#include "src/team/held_writes.hpp"

#include <chrono>
#include <condition_variable>
#include <thread>
#include <vector>

#include <sched.h>

namespace lapwing::detail::team {

/// A thread that sends what windows hold back when no release follows: dirty bytes of caches, and gathered adds. So
/// every write arrives in the end, also that of a program which signals by a plain store and then polls, as it could
/// without a cache. This is no promise of order.
///
/// It is a thread of its own, since it may have to wait for other ranks, which the progress thread must not. It looks
/// at each window every `age`, and less often while nothing is held back anywhere; a look takes no lock of the
/// window's. What the program adds to goes on waiting, so that its messages stay as large.
class Flusher {
public:
    /// `processors`: where it may run; none: where the thread may that starts it.
    Flusher(std::chrono::microseconds age, const cpu_set_t& processors);
    ~Flusher();
    Flusher(const Flusher&) = delete;
    Flusher& operator=(const Flusher&) = delete;

    void add(HoldsWrites& held);
    /// On return the thread does not use it any more. Does nothing where it was not added.
    void remove(HoldsWrites& held) noexcept;
    /// On return the thread has ended.
    void stop() noexcept;
    /// The same for all flushers of the process: MPI is about to be finalized.
    static void stop_all() noexcept;

private:
    void run();
    /// Sends what is old. Whether anything is held back.
    bool look();

    const std::chrono::microseconds age_;
    cpu_set_t processors_;
    support::Mutex mutex_{support::LockRank::flusher};
    std::condition_variable_any wake_;
    std::condition_variable_any done_; ///< something is sent: see sending_
    std::vector<HoldsWrites*> list_;
    const HoldsWrites* sending_ = nullptr; ///< what the thread uses without the mutex
    bool stop_ = false;
    support::Mutex stop_mutex_{support::LockRank::progress_start}; ///< held while the thread is joined
    std::thread thread_;                                           // the last member: it uses the others
};

} // namespace lapwing::detail::team
