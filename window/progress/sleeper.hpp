#pragma once

#include <atomic>
#include <chrono>

namespace lapwing::window {

/// Where the progress thread sleeps: until another thread nudges it, a time is over, or data arrives on a socket of this
/// process. The last is what makes a sleeping rank answer at once where MPI's messages come over TCP: MPI has no call that
/// blocks until something arrives, but its sockets are sockets.
///
/// Sockets are watched edge-triggered, so that data which nobody reads wakes the thread once. Those that belong to the
/// host program wake it too; after several wakes in a row that brought nothing the caller sleeps without them for a while.
class Sleeper {
public:
    Sleeper();
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    enum class Woken { by_time, by_nudge, by_socket };
    /// By one thread at a time.
    Woken sleep(std::chrono::microseconds time, bool watch_sockets) noexcept;

    /// From any thread: ends a sleep, or the next one.
    void nudge() noexcept {
        // Sequentially consistent with the store in sleep(): either this sees that the thread sleeps, or the thread sees
        // what was queued before the nudge in its next round. One that is lost costs one sleep at most.
        if (asleep_.load(std::memory_order_seq_cst)) wake();
    }
    /// The same without the shortcut.
    void wake() noexcept;

private:
    void watch_new_sockets() noexcept;

    int events_ = -1; ///< epoll: sockets and nudges
    int nudges_ = -1; ///< eventfd
    unsigned sleeps_until_scan_ = 0;
    alignas(64) std::atomic<bool> asleep_{false};
};

} // namespace lapwing::window
