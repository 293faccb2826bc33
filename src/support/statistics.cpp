#include "src/support/ended_threads.hpp"
#include "src/support/mutex.hpp"

#include <lapwing/statistics.hpp>

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <mutex>

#include <pthread.h>

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

namespace detail::support {
namespace {

/// The numbers that threads have.
support::Mutex numbers_mutex{support::LockRank::innermost};
std::bitset<numbered_threads> taken_numbers;
std::atomic<std::uint64_t> ended{0};

/// Returns the number of a thread that ends: `value` is it plus one.
void return_number(void* value) {
    thread_number_plus_one = 0; // what runs later on this thread gets a number again, and returns it
    const std::lock_guard guard{numbers_mutex};
    taken_numbers.reset(reinterpret_cast<std::uintptr_t>(value) - 1);
    ended.fetch_add(1, std::memory_order_relaxed);
}

/// Its destructor runs after those of all thread_local objects of the thread, which may be runtimes, and never for the
/// main thread, whose static objects end after its thread_local ones.
struct Key {
    pthread_key_t key{};
    bool works = pthread_key_create(&key, return_number) == 0;
};

} // namespace

unsigned take_thread_number() noexcept {
    static const Key ends;
    unsigned number = 0;
    {
        const std::lock_guard guard{numbers_mutex};
        while (number < numbered_threads && taken_numbers.test(number)) ++number;
        if (number < numbered_threads) taken_numbers.set(number);
    }
    // Without a key, numbers are never returned.
    if (number < numbered_threads && ends.works)
        (void)pthread_setspecific(ends.key, reinterpret_cast<void*>(static_cast<std::uintptr_t>(number) + 1));
    thread_number_plus_one = number + 1;
    return number;
}

std::uint64_t ended_threads() noexcept { return ended.load(std::memory_order_relaxed); }

NumberOfEndedThread::NumberOfEndedThread(unsigned number) noexcept : number_{number} {
    const std::lock_guard guard{numbers_mutex};
    holds_ = !taken_numbers.test(number);
    if (holds_) taken_numbers.set(number);
}

NumberOfEndedThread::~NumberOfEndedThread() {
    if (!holds_) return;
    const std::lock_guard guard{numbers_mutex};
    taken_numbers.reset(number_);
}

StatisticsValues Statistics::read() const noexcept {
    StatisticsValues sum;
    for (const Shard& shard : shards_)
        for (std::size_t i = 0; i < counter_count; ++i) sum.values[i] += shard.cells[i].load(std::memory_order_relaxed);
    return sum;
}

} // namespace detail::support
} // namespace lapwing
