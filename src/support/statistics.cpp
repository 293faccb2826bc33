#include <lapwing/statistics.hpp>

#include <bitset>
#include <mutex>

namespace lapwing {

std::string_view name(Counter counter) {
    switch (counter) {
    case Counter::direct_get_bytes: return "direct_get_bytes";
    case Counter::direct_put_bytes: return "direct_put_bytes";
    case Counter::rma_gets: return "rma_gets";
    case Counter::rma_get_bytes: return "rma_get_bytes";
    case Counter::rma_puts: return "rma_puts";
    case Counter::rma_put_bytes: return "rma_put_bytes";
    case Counter::rma_atomics: return "rma_atomics";
    case Counter::rma_flushes: return "rma_flushes";
    case Counter::service_gets: return "service_gets";
    case Counter::service_get_bytes: return "service_get_bytes";
    case Counter::service_puts: return "service_puts";
    case Counter::service_put_bytes: return "service_put_bytes";
    case Counter::service_atomics: return "service_atomics";
    case Counter::service_flushes: return "service_flushes";
    case Counter::atomic_adds: return "atomic_adds";
    case Counter::atomic_add_messages: return "atomic_add_messages";
    case Counter::conflicts: return "conflicts";
    case Counter::cache_hits: return "cache_hits";
    case Counter::cache_misses: return "cache_misses";
    case Counter::cache_evictions: return "cache_evictions";
    case Counter::cache_passed: return "cache_passed";
    case Counter::cache_page_changes: return "cache_page_changes";
    case Counter::read_ahead_issued: return "read_ahead_issued";
    case Counter::read_ahead_used: return "read_ahead_used";
    case Counter::read_ahead_wasted: return "read_ahead_wasted";
    case Counter::read_ahead_waited: return "read_ahead_waited";
    case Counter::cache_write_backs: return "cache_write_backs";
    case Counter::cache_write_back_bytes: return "cache_write_back_bytes";
    case Counter::messages_sent: return "messages_sent";
    case Counter::messages_received: return "messages_received";
    case Counter::commands_served: return "commands_served";
    case Counter::count_: break;
    }
    return "?";
}

StatisticsValues& StatisticsValues::operator+=(const StatisticsValues& other) {
    for (std::size_t i = 0; i < counter_count; ++i) values[i] += other.values[i];
    return *this;
}

namespace support {
namespace {

/// The numbers that threads have.
std::mutex numbers_mutex;
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
