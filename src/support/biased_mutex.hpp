#pragma once

#include <lapwing/statistics.hpp>

#include <atomic>
#include <mutex>

namespace lapwing::support {

/// A mutex for state that nearly always one and the same thread uses: the first thread that locks it owns the bias, and
/// locks it with two plain stores and two loads (about 1 ns) instead of two atomic read-modify-writes. The first lock by
/// any other thread takes the bias away for good, and from then on it is a std::mutex.
///
/// Taking the bias away needs the owner's store of `entered_` to be ordered before its load of `revoked_` without a fence
/// in the owner: the other thread makes every processor that runs this process pass a fence, with Linux' membarrier().
class BiasedMutex {
public:
    void lock() {
        if (owner_.load(std::memory_order_relaxed) == this_thread()) {
            entered_.store(true, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst); // the processor's part is done by revoke()
            if (!revoked_.load(std::memory_order_relaxed)) return;
            entered_.store(false, std::memory_order_release);
        }
        lock_slowly();
    }

    void unlock() {
        // Only the owner sets the flag, and only while it holds the lock by its bias.
        if (owner_.load(std::memory_order_relaxed) == this_thread() && entered_.load(std::memory_order_relaxed)) {
            entered_.store(false, std::memory_order_release);
            return;
        }
        mutex_.unlock();
    }

private:
    /// Different for all threads that are alive.
    [[nodiscard]] static const void* this_thread() noexcept { return &shard_plus_one; }
    void lock_slowly();
    void revoke();

    std::atomic<const void*> owner_{nullptr};
    std::atomic<bool> entered_{false};
    std::atomic<bool> revoked_{false};
    std::mutex mutex_;
};

} // namespace lapwing::support
