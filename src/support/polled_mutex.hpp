#pragma once

#include "src/support/mutex.hpp"

#include <atomic>

namespace lapwing::detail::support {

/// A mutex that some threads poll, by try_lock() in a loop, and others wait for. Polling threads give way to waiting
/// ones. With a std::mutex they can keep them out for ever: what a poll holds the mutex for may yield the processor, as
/// MPI's own progress does, and the waiting thread, woken at the end of one poll, runs only in the middle of the next.
class PolledMutex {
public:
    explicit constexpr PolledMutex(LockRank rank) noexcept : mutex_{rank} {}

    void lock() {
        // The order of mutexes is checked by lock() alone.
        if (!internal_assertions && mutex_.try_lock()) return;
        waiting_.fetch_add(1, std::memory_order_relaxed); // a hint: the mutex orders what matters
        mutex_.lock();
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    /// False also while another thread waits, but not always: with many threads one waits at nearly any time, and what
    /// polls do must still be done.
    [[nodiscard]] bool try_lock() {
        if (wanted() && (gave_way_.fetch_add(1, std::memory_order_relaxed) + 1) % longest_run != 0) return false;
        return mutex_.try_lock();
    }
    void unlock() { mutex_.unlock(); }

    [[nodiscard]] bool wanted() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }

    static constexpr unsigned longest_run = 16; ///< of calls of try_lock() that give way

private:
    Mutex mutex_;
    std::atomic<int> waiting_{0};
    std::atomic<unsigned> gave_way_{0};
};

} // namespace lapwing::detail::support
