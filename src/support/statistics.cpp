#include "src/support/mutex.hpp"

#include <lapwing/statistics.hpp>

#include <array>
#include <bitset>
#include <mutex>

namespace lapwing {

std::string_view name(Counter counter) {
    static constexpr std::array<std::string_view, counter_count> names{
#define LAPWING_COUNTER(name) #name,
#include <lapwing/detail/counters/all.inc>
    };
    return counter < Counter::count_ ? names[static_cast<std::size_t>(counter)] : "?";
}

StatisticsValues& StatisticsValues::operator+=(const StatisticsValues& other) {
    for (std::size_t i = 0; i < counter_count; ++i) values[i] += other.values[i];
    return *this;
}

namespace support {
namespace {

/// The numbers that threads have.
support::Mutex numbers_mutex{support::LockRank::innermost};
std::bitset<numbered_threads> taken_numbers;

/// Returns the thread's number when the thread ends.
struct NumberLease {
    unsigned number = 0;

    NumberLease() {
        const std::lock_guard guard{numbers_mutex};
        while (number < numbered_threads && taken_numbers.test(number)) ++number;
        if (number < numbered_threads) taken_numbers.set(number);
    }
    ~NumberLease() {
        thread_number_plus_one = numbered_threads + 1; // what runs later on this thread has no number of its own
        if (number == numbered_threads) return;
        const std::lock_guard guard{numbers_mutex};
        taken_numbers.reset(number);
    }
};

} // namespace

unsigned take_thread_number() noexcept {
    thread_local const NumberLease lease;
    thread_number_plus_one = lease.number + 1;
    return lease.number;
}

StatisticsValues Statistics::read() const noexcept {
    StatisticsValues sum;
    for (const Shard& shard : shards_)
        for (std::size_t i = 0; i < counter_count; ++i) sum.values[i] += shard.cells[i].load(std::memory_order_relaxed);
    return sum;
}

} // namespace support
} // namespace lapwing
