#pragma once

#include "src/support/mutex.hpp"

#include <chrono>
#include <condition_variable>
#include <thread>
#include <vector>

#include <sched.h>

namespace lapwing::detail::team {

class EpochMember;

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

    /// The thread uses a member only while that is pinned, once it is in the list.
    void add(EpochMember& member);
    /// It may be pinned still.
    void remove(EpochMember& member) noexcept;
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
    std::vector<EpochMember*> members_;
    bool stop_ = false;
    support::Mutex stop_mutex_{support::LockRank::progress_start}; ///< held while the thread is joined
    std::thread thread_;                                           // the last member: it uses the others
};

} // namespace lapwing::detail::team
