// Room: prefetch
#pragma once

#include <lapwing/statistics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__SANITIZE_THREAD__)
#define LAPWING_UNWATCHED __attribute__((no_sanitize("thread"), noinline))
#else
#define LAPWING_UNWATCHED
#endif

namespace lapwing::detail::prefetching {

/// Whether the copies of prefetched bytes may be read: what reads look at.
///
/// A fill and the reads of other threads are kept apart as by a sequence lock: a reader looks at the number of the fill
/// before and after its load, and takes the value only if it is that of the last acquire both times. So readers write
/// nothing that others read. Each fill of automatic copies has another number, since only a newer acquire asks for one.
class CopyState {
public:
    /// Whether what the copies hold may be read. Acquire order: who sees the number sees the bytes.
    [[nodiscard]] bool is_fresh() const noexcept {
        return filled_.load(std::memory_order_acquire) == wanted_.load(std::memory_order_relaxed);
    }
    /// Reads a value that another thread may be filling; false if it is not to be used.
    template <class T>
    [[nodiscard]] bool read(const T* copy, T& value) const noexcept {
        return between_fills([&] { load(copy, value); });
    }
    [[nodiscard]] bool read_bytes(const std::byte* copy, std::span<std::byte> bytes) const noexcept {
        return between_fills([&] {
            for (std::byte& byte : bytes) load(copy++, byte);
        });
    }

    /// Copies are not to be read until they are filled again.
    void expire() noexcept { wanted_.fetch_add(1, std::memory_order_relaxed); }
    /// The number that a fill gives the copies if it begins now.
    [[nodiscard]] std::uint64_t wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
    void begin_fill() noexcept {
        filled_.store(0, std::memory_order_relaxed);
        // The store comes before those of the fill, which readers may see.
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    void end_fill(std::uint64_t number) noexcept { filled_.store(number, std::memory_order_release); }

    void count_hit() noexcept {
        // Threads that share one may lose hits; a program with so many reads elements in few of them.
        auto& mine = hits_[support::thread_number_plus_one % hits_.size()].count;
        mine.store(mine.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    /// Hits since this was called last.
    [[nodiscard]] std::uint64_t take_hits() noexcept {
        std::uint64_t sum = 0;
        for (Hits& hits : hits_) sum += hits.count.exchange(0, std::memory_order_relaxed);
        return sum;
    }

private:
    template <class Load>
    [[nodiscard]] bool between_fills(Load&& load_values) const noexcept {
        const std::uint64_t filled = filled_.load(std::memory_order_acquire);
        // Relaxed: an acquire that happens before this read has been seen; others need not be.
        if (filled != wanted_.load(std::memory_order_relaxed)) [[unlikely]]
            return false;
        load_values();
        // The loads above come before the one below.
        std::atomic_thread_fence(std::memory_order_acquire);
        return filled_.load(std::memory_order_relaxed) == filled;
    }
    /// A race if another thread fills the copy; the value is then not used.
    template <class T>
    LAPWING_UNWATCHED static void load(const T* copy, T& value) noexcept {
        value = *copy;
    }

    struct alignas(64) Hits {
        std::atomic<std::uint64_t> count{0};
    };

    std::atomic<std::uint64_t> filled_{0}; ///< 0: never, or at the moment
    std::atomic<std::uint64_t> wanted_{1};
    std::array<Hits, 32> hits_{};
};

} // namespace lapwing::detail::prefetching
