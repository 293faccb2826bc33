#include "upc/queue_lock.hpp"

#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>

namespace lapwing::upc {

namespace {

constexpr std::uint64_t tail = offsetof(LockWords, tail);

} // namespace

QueueLocks::QueueLocks(Window& heap, std::uint64_t places, std::uint64_t bytes)
    : heap_{heap}, one_node_{heap.team().nodes() == 1}, thread_{heap.team().rank().value}, places_{places} {
    for (std::uint64_t place = bytes / sizeof(Words); place-- > 0;) free_places_.push_back(place);
}

std::uint64_t QueueLocks::take_place(const LockPlace& lock) {
    if (free_places_.empty())
        throw RangeError{fmt::format("thread {}: upc_lock: a thread may hold {} locks at a time, and holds as many; unlock one before it asks for that of "
                                     "thread {} at {:#x}",
                                     thread_, held_.size(), lock.thread, lock.address)};
    const std::uint64_t place = free_places_.back();
    free_places_.pop_back();
    return place;
}

bool QueueLocks::holds(const LockPlace& lock) const noexcept {
    return std::any_of(held_.rbegin(), held_.rend(), [&](const Held& held) { return held.lock == lock; });
}

std::atomic_ref<std::int64_t> QueueLocks::word(int thread, std::uint64_t address) const noexcept {
    return std::atomic_ref<std::int64_t>{*reinterpret_cast<std::int64_t*>(heap_.map().base(thread) + address)};
}

// Acquire and release: who sees that the lock is passed on, or free, sees what was done under it.
std::int64_t QueueLocks::load(int thread, std::uint64_t address) {
    if (one_node_) return word(thread, address).load(std::memory_order_acquire);
    return heap_.atomic_read<std::int64_t>(Rank{thread}, Offset{address});
}
void QueueLocks::store(int thread, std::uint64_t address, std::int64_t value) {
    if (one_node_) word(thread, address).store(value, std::memory_order_release);
    else heap_.atomic_write(Rank{thread}, Offset{address}, value);
}
std::int64_t QueueLocks::swap(int thread, std::uint64_t address, std::int64_t value) {
    if (one_node_) return word(thread, address).exchange(value, std::memory_order_acq_rel);
    return heap_.swap(Rank{thread}, Offset{address}, value);
}
std::int64_t QueueLocks::compare_swap(int thread, std::uint64_t address, std::int64_t expected, std::int64_t desired) {
    if (!one_node_) return heap_.compare_swap<std::int64_t>(Rank{thread}, Offset{address}, expected, desired);
    word(thread, address).compare_exchange_strong(expected, desired, std::memory_order_acq_rel);
    return expected;
}

void QueueLocks::write(std::int64_t name, std::uint64_t word, std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(name);
    store(static_cast<int>(bits >> 32) - 1, offset(bits & 0xffffffff) + word, value);
}

template <class Done>
std::int64_t QueueLocks::wait_for(std::uint64_t place, std::uint64_t word, Done done) {
    std::int64_t found = 0;
    heap_.team().state().wait_until(
        [&] {
            found = load(thread_, offset(place) + word);
            return done(found);
        },
        "upc_lock");
    return found;
}

void QueueLocks::acquire() {
    if (!one_node_) heap_.acquire(); // else as in unlock()
}

void QueueLocks::lock(const LockPlace& lock) {
    const std::uint64_t place = take_place(lock);
    const std::int64_t own = name(thread_, place);
    write(own, offsetof(Words, next), 0);
    write(own, offsetof(Words, waiting), 1);
    std::int64_t before = 0;
    try {
        before = swap(lock.thread, lock.address + tail, own);
    } catch (...) {
        free_places_.push_back(place); // nobody knows of it
        throw;
    }
    if (before != 0) {
        write(before, offsetof(Words, next), own);
        wait_for(place, offsetof(Words, waiting), [](std::int64_t waiting) { return waiting == 0; });
    }
    held_.push_back({lock, place});
    acquire();
}

bool QueueLocks::attempt(const LockPlace& lock) {
    const std::uint64_t place = take_place(lock);
    const std::int64_t own = name(thread_, place);
    write(own, offsetof(Words, next), 0);
    if (compare_swap(lock.thread, lock.address + tail, 0, own) != 0) {
        free_places_.push_back(place);
        return false;
    }
    held_.push_back({lock, place});
    acquire();
    return true;
}

void QueueLocks::unlock(const LockPlace& lock) {
    if (!one_node_) heap_.release(); // else the words' own orders do it: all accesses were loads and stores
    const auto held = std::find_if(held_.rbegin(), held_.rend(), [&](const Held& held) { return held.lock == lock; });
    const std::uint64_t place = held->place;
    const std::int64_t own = name(thread_, place);
    std::int64_t next = load(thread_, offset(place) + offsetof(Words, next));
    if (next == 0 && compare_swap(lock.thread, lock.address + tail, own, 0) != own)
        next = wait_for(place, offsetof(Words, next), [](std::int64_t name) { return name != 0; });
    if (next != 0) write(next, offsetof(Words, waiting), 0);
    held_.erase(std::next(held).base());
    free_places_.push_back(place);
}

bool QueueLocks::is_free(const LockPlace& lock) {
    return load(lock.thread, lock.address + tail) == 0;
}

} // namespace lapwing::upc
