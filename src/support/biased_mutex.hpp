#pragma once

#include "src/support/mutex.hpp"

#include <lapwing/statistics.hpp>

#include <atomic>
#include <mutex>

namespace lapwing::detail::support {

/// A mutex for state that one and the same thread nearly always uses: the first thread that locks it owns the bias, and
/// locks it with two plain stores and two loads (about 1 ns) instead of two atomic read-modify-writes. A lock by any
/// other thread revokes the bias: from then on it is a std::mutex, until the owner has locked it many times in a row,
/// more of them each time.
///
/// To revoke the bias, the owner's store of `entered_` must be ordered before its load of `revoked_` without a fence in
/// the owner: the other thread makes every processor that runs this process pass a fence, with Linux's membarrier().
/// That costs some microseconds, as much as the bias saves in some hundred locks.
class BiasedMutex {
public:
    /// Holds the mutex for a scope, or from lock() to unlock().
    class Guard {
    public:
        explicit Guard(BiasedMutex& mutex) : Guard{mutex, std::defer_lock} { lock(); }
        Guard(BiasedMutex& mutex, std::defer_lock_t) noexcept : mutex_{mutex} {}
        /// Does not wait: holds() says whether it was free.
        Guard(BiasedMutex& mutex, std::try_to_lock_t) : Guard{mutex, std::defer_lock} {
            if (mutex_.enter()) {
                how_ = How::by_bias;
            } else if (mutex_.mutex_.try_lock()) {
                how_ = How::by_mutex;
                mutex_.revoke_or_restore();
            } else {
                return;
            }
            mutex_.taken();
            if (how_ == How::by_mutex && mutex_.entered_.load(std::memory_order_acquire))
                unlock(); // the owner has it by its bias still
        }
        ~Guard() {
            if (how_ != How::not_at_all) unlock();
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

        void lock() {
            mutex_.before();
            if (mutex_.enter()) [[likely]] {
                how_ = How::by_bias;
            } else {
                mutex_.mutex_.lock();
                how_ = How::by_mutex;
                mutex_.revoke_or_restore();
                mutex_.wait_for_owner();
            }
            mutex_.taken();
        }
        void unlock() {
            mutex_.released();
            if (how_ == How::by_bias) [[likely]]
                mutex_.entered_.store(false, std::memory_order_release);
            else mutex_.mutex_.unlock();
            how_ = How::not_at_all;
        }

        [[nodiscard]] bool holds() const noexcept { return how_ != How::not_at_all; }

    private:
        enum class How : unsigned char { not_at_all, by_bias, by_mutex };
        BiasedMutex& mutex_;
        How how_ = How::not_at_all;
    };

    /// The calling thread, which locks such mutexes seldom, does not become the owner of any.
    static void own_none() noexcept;
    /// Whether a thread has the bias at the moment. For tests.
    [[nodiscard]] bool is_biased() const noexcept {
        return owner_.load(std::memory_order_relaxed) != nullptr && owner_.load(std::memory_order_relaxed) != this &&
               !revoked_.load(std::memory_order_relaxed);
    }

    explicit BiasedMutex([[maybe_unused]] LockRank rank) noexcept {
        if constexpr (internal_assertions) rank_ = rank;
    }
    BiasedMutex(const BiasedMutex&) = delete;
    BiasedMutex& operator=(const BiasedMutex&) = delete;

private:
    // The order of mutexes.
    void before() const noexcept {
        if constexpr (internal_assertions) LockOrder::before(this, rank_);
    }
    void taken() const noexcept {
        if constexpr (internal_assertions) LockOrder::taken(this, rank_);
    }
    void released() const noexcept {
        if constexpr (internal_assertions) LockOrder::released(this);
    }
    /// Takes the lock if the calling thread has the bias.
    bool enter() {
        if (owner_.load(std::memory_order_relaxed) != this_thread()) [[unlikely]]
            return claim();
        entered_.store(true, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst); // the processor's part is done by revoke()
        if (!revoked_.load(std::memory_order_relaxed)) [[likely]]
            return true;
        entered_.store(false, std::memory_order_release);
        return false;
    }
    /// For a thread without the bias: takes the bias, and the lock, if nobody has ever had the bias.
    bool claim();
    /// With mutex_ held: takes the bias from another thread, or gives it back to this one, if that is its owner and has
    /// locked the mutex often enough since.
    void revoke_or_restore();
    /// With mutex_ held: the owner may have entered by its bias just before that was revoked.
    void wait_for_owner() noexcept;
    /// Different for all threads that exist at the same time.
    [[nodiscard]] static const void* this_thread() noexcept { return &thread_number_plus_one; }

    std::atomic<const void*> owner_{nullptr};
    std::atomic<bool> entered_{false};
    std::atomic<bool> revoked_{false}; ///< written with mutex_ held
    std::mutex mutex_;
    // With mutex_ held:
    unsigned locks_of_owner_ = 0;   ///< since another thread's last one
    unsigned locks_to_bias_ = 1024; ///< after so many the owner has the bias again: twice as many each time
    LockRank rank_{};               ///< where internal_assertions are on
};

} // namespace lapwing::detail::support
