#include "upc/queue_lock.hpp"

#include "src/team/team_state.hpp"
#include "window/window_state.hpp"

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
    : heap_{heap},
      one_node_{heap.team().nodes() == 1},
      processor_atomics_{one_node_ || !heap.state().facts().mpi_atomics},
      thread_{heap.team().rank().value},
      places_{places} {
    for (std::uint64_t place = bytes / sizeof(Words); place-- > 0;) free_places_.push_back(place);
}

std::uint64_t QueueLocks::take_place(const LockPlace& lock) {
    if (free_places_.empty())
        throw RangeError{fmt::format("thread {}: upc_lock: a thread may hold {} locks at a time, and holds that many; "
                                     "unlock one before requesting that of "
                                     "thread {} at {:#x}",
                                     thread_, held_.size(), lock.thread, lock.address)};
    const std::uint64_t place = free_places_.back();
    free_places_.pop_back();
    return place;
}

bool QueueLocks::holds(const LockPlace& lock) const noexcept {
    return std::any_of(held_.rbegin(), held_.rend(), [&](const Held& held) { return held.lock == lock; });
}

std::int64_t* QueueLocks::word(int thread, std::uint64_t address) const noexcept {
    std::byte* const base = processor_atomics_ ? heap_.map().base(thread) : nullptr;
    return base == nullptr ? nullptr : reinterpret_cast<std::int64_t*>(base + address);
}

// Acquire and release: a thread that sees the lock passed on, or free, sees what was done under it.
std::int64_t QueueLocks::load(int thread, std::uint64_t address) {
    if (std::int64_t* const here = word(thread, address)) return std::atomic_ref{*here}.load(std::memory_order_acquire);
    return heap_.atomic<std::int64_t>(Rank{thread}, Offset{address}).load();
}
void QueueLocks::store(int thread, std::uint64_t address, std::int64_t value) {
    if (std::int64_t* const here = word(thread, address))
        std::atomic_ref{*here}.store(value, std::memory_order_release);
    else heap_.atomic<std::int64_t>(Rank{thread}, Offset{address}).store(value);
}
std::int64_t QueueLocks::swap(int thread, std::uint64_t address, std::int64_t value) {
    if (std::int64_t* const here = word(thread, address))
        return std::atomic_ref{*here}.exchange(value, std::memory_order_acq_rel);
    return heap_.atomic<std::int64_t>(Rank{thread}, Offset{address}).exchange(value);
}
std::int64_t QueueLocks::compare_swap(int thread, std::uint64_t address, std::int64_t expected, std::int64_t desired) {
    std::int64_t* const here = word(thread, address);
    if (here == nullptr)
        return heap_.atomic<std::int64_t>(Rank{thread}, Offset{address}).compare_swap(expected, desired);
    std::atomic_ref{*here}.compare_exchange_strong(expected, desired, std::memory_order_acq_rel);
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

void QueueLocks::release() {
    lapwing::detail::team::Epoch& epoch = heap_.team().state().epoch();
    // Loads and stores are ordered by the lock's words themselves.
    if (!one_node_ || !epoch.only_memory()) epoch.release();
}

void QueueLocks::acquire() {
    lapwing::detail::team::Epoch& epoch = heap_.team().state().epoch();
    if (!one_node_ || !epoch.only_memory()) epoch.acquire();
}

bool QueueLocks::lock(const LockPlace& lock) {
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
    bool is_there = before != freed_tail;
    if (is_there && before != 0) {
        write(before, offsetof(Words, next), own);
        is_there =
            wait_for(place, offsetof(Words, waiting), [](std::int64_t waiting) { return waiting != 1; }) != lock_freed;
    }
    if (!is_there) {
        // Threads that have queued since then are notified, too.
        if (const std::int64_t last = compare_swap(lock.thread, lock.address + tail, own, freed_tail);
            last != own && last != 0)
            write(wait_for(place, offsetof(Words, next), [](std::int64_t name) { return name != 0; }),
                  offsetof(Words, waiting), lock_freed);
        free_places_.push_back(place);
        return false;
    }
    held_.push_back({lock, place});
    acquire();
    return true;
}

QueueLocks::Attempt QueueLocks::attempt(const LockPlace& lock) {
    const std::uint64_t place = take_place(lock);
    const std::int64_t own = name(thread_, place);
    write(own, offsetof(Words, next), 0);
    if (const std::int64_t before = compare_swap(lock.thread, lock.address + tail, 0, own); before != 0) {
        free_places_.push_back(place);
        return before == freed_tail ? Attempt::freed : Attempt::taken;
    }
    held_.push_back({lock, place});
    acquire();
    return Attempt::done;
}

bool QueueLocks::unlock(const LockPlace& lock) {
    release();
    const auto held = std::find_if(held_.rbegin(), held_.rend(), [&](const Held& held) { return held.lock == lock; });
    const std::uint64_t place = held->place;
    const std::int64_t own = name(thread_, place);
    std::int64_t next = load(thread_, offset(place) + offsetof(Words, next));
    bool is_there = true;
    if (next == 0 && compare_swap(lock.thread, lock.address + tail, own, 0) != own) {
        // Another thread is about to announce that it waits; or the lock was freed, and there may be a new one.
        is_there = lock.generation == 0 || is_lock(lock);
        if (is_there) next = wait_for(place, offsetof(Words, next), [](std::int64_t name) { return name != 0; });
    }
    if (next != 0) write(next, offsetof(Words, waiting), 0);
    held_.erase(std::next(held).base());
    free_places_.push_back(place);
    return is_there;
}

bool QueueLocks::retire(const LockPlace& lock) {
    const auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.lock == lock; });
    if (held == held_.end()) {
        static_cast<void>(swap(lock.thread, lock.address + tail, freed_tail));
        return true;
    }
    const std::int64_t own = name(thread_, held->place);
    if (compare_swap(lock.thread, lock.address + tail, own, freed_tail) != own) return false;
    forget(lock);
    return true;
}

void QueueLocks::forget(const LockPlace& lock) {
    const auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.lock == lock; });
    if (held == held_.end()) return;
    free_places_.push_back(held->place);
    held_.erase(held);
}

bool QueueLocks::is_lock(const LockPlace& lock) {
    // Not a read, which may have been cached since before the lock was made.
    return static_cast<std::uint64_t>(load(lock.thread, lock.address + offsetof(LockWords, mark))) ==
           lock_mark(lock.generation);
}

} // namespace lapwing::upc
