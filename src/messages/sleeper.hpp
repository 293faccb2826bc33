#pragma once

#include <atomic>
#include <chrono>
#include <span>

#include <sys/epoll.h>
#include <time.h>

namespace lapwing::detail::messages {

/// Where the progress thread sleeps: until another thread nudges it, a time is over, or data arrives on a socket of
/// this process. The sockets let a sleeping rank answer at once where MPI's messages come over TCP: MPI has no call
/// that blocks until something arrives.
///
/// Sockets are watched edge-triggered, so that data which nobody reads wakes the thread once. The program's own sockets
/// wake it too; after several wakes in a row that brought nothing the caller sleeps without sockets for a while.
class Sleeper {
public:
    Sleeper();
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    enum class Woken { by_time, by_nudge, by_socket };
    /// By one thread at a time. Returns at once after a nudge that no sleep has answered yet.
    Woken sleep(std::chrono::microseconds time, bool watch_sockets) noexcept;

    /// From any thread: ends a sleep, or the next one. No system call while the thread is awake.
    void nudge() noexcept {
        // Each side stores its flag first and then looks at the other's, all sequentially consistent: so either this
        // sees that the thread sleeps, or the thread sees the nudge before it does.
        nudged_.store(true, std::memory_order_seq_cst);
        if (asleep_.load(std::memory_order_seq_cst)) wake();
    }

private:
    void watch_new_sockets() noexcept;
    void wake() noexcept;
    /// Waits for the events; the number of them, or -1 where the system does not let it.
    int wait_for_events(std::span<epoll_event> found, const timespec& timeout, bool watch_sockets) noexcept;

    int events_ = -1; ///< epoll: sockets and nudges
    int nudges_ = -1; ///< eventfd
    unsigned sleeps_until_scan_ = 0;
    alignas(64) std::atomic<bool> asleep_{false};
    std::atomic<bool> nudged_{false};
};

} // namespace lapwing::detail::messages
