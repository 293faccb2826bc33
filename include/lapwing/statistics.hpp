// Room: support
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lapwing {

/// What is counted for each window and each team, listed by the rooms that count (lapwing/detail/counters/). Loads and
/// stores of single elements (self and direct) are not counted, since counting would cost more than the access; bulk
/// transfers are.
enum class Counter : std::uint8_t {
#define LAPWING_COUNTER(name) name,
#include <lapwing/detail/counters/all.inc>
    count_ ///< number of counters
};

/// Number of counters.
inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::count_);

/// Name of a counter as printed and as a JSON key.
[[nodiscard]] std::string_view name(Counter counter);

/// A reading of all counters.
struct StatisticsValues {
    std::array<std::uint64_t, counter_count> values{}; ///< in the order of Counter

    /// The value of one counter.
    [[nodiscard]] std::uint64_t operator[](Counter counter) const { return values[static_cast<std::size_t>(counter)]; }
    /// Adds all counters, for sums over ranks or windows.
    StatisticsValues& operator+=(const StatisticsValues& other);
};

namespace detail::support {

/// Up to this many threads that exist at the same time have numbers of their own, [0, numbered_threads); all others
/// share that number.
inline constexpr unsigned numbered_threads = 255;
/// The first threads have counters of their own; all others share the last shard.
inline constexpr unsigned statistics_shards = 16;

/// Number of the calling thread plus one; 0 until `take_thread_number` has run on it. Constant-initialised, so that
/// reading it needs no guard.
inline constinit thread_local unsigned thread_number_plus_one = 0;

/// Gives the calling thread the lowest free number. It is returned when the thread ends, after its thread_local objects
/// are gone.
unsigned take_thread_number() noexcept;

[[nodiscard]] inline unsigned thread_number() noexcept {
    return thread_number_plus_one != 0 ? thread_number_plus_one - 1 : take_thread_number();
}

/// Counters that many threads add to without touching each other's cache lines.
class Statistics {
public:
    void add(Counter counter, std::uint64_t amount = 1) noexcept { add_to(thread_number(), counter, amount); }
    /// Counts one transfer of `bytes` bytes.
    void add(Counter transfers, Counter transferred_bytes, std::uint64_t bytes) noexcept {
        const unsigned thread = thread_number();
        add_to(thread, transfers, 1);
        add_to(thread, transferred_bytes, bytes);
    }

    void add(const StatisticsValues& values) noexcept {
        for (std::size_t i = 0; i < counter_count; ++i) add(static_cast<Counter>(i), values.values[i]);
    }

    [[nodiscard]] StatisticsValues read() const noexcept;

private:
    struct alignas(64) Shard {
        std::array<std::atomic<std::uint64_t>, counter_count> cells{};
    };
    void add_to(unsigned thread, Counter counter, std::uint64_t amount) noexcept {
        if (thread < statistics_shards - 1) [[likely]] {
            auto& cell = shards_[thread].cells[static_cast<std::size_t>(counter)];
            // Only this thread writes to its shard, so a plain add suffices; relaxed because it orders nothing.
            cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
        } else {
            shards_[statistics_shards - 1].cells[static_cast<std::size_t>(counter)].fetch_add(
                amount, std::memory_order_relaxed);
        }
    }

    std::array<Shard, statistics_shards> shards_{};
};

} // namespace detail::support
} // namespace lapwing
