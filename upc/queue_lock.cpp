#include "upc/queue_lock.hpp"

#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <atomic>

namespace lapwing::upc {

namespace {

constexpr std::uint64_t tail = offsetof(LockWords, tail);

} // namespace

QueueLocks::QueueLocks(Window& heap, std::uint64_t places, std::uint64_t bytes)
    : heap_{heap}, thread_{heap.team().rank().value}, places_{places} {
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

void QueueLocks::write(std::int64_t name, std::uint64_t word, std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(name);
    heap_.atomic_write(Rank{static_cast<int>(bits >> 32) - 1}, Offset{offset(bits & 0xffffffff) + word}, value, std::memory_order_relaxed);
}

template <class Done>
std::int64_t QueueLocks::wait_for(std::uint64_t place, std::uint64_t word, Done done) {
    std::int64_t found = 0;
    heap_.team().state().wait_until(
        [&] {
            found = heap_.atomic_read<std::int64_t>(Rank{thread_}, Offset{offset(place) + word});
            return done(found);
        },
        "upc_lock");
    return found;
}

void QueueLocks::lock(const LockPlace& lock) {
    const std::uint64_t place = take_place(lock);
    const std::int64_t own = name(thread_, place);
    write(own, offsetof(Words, next), 0);
    write(own, offsetof(Words, waiting), 1);
    std::int64_t before = 0;
    try {
        before = heap_.swap(Rank{lock.thread}, Offset{lock.address + tail}, own);
    } catch (...) {
        free_places_.push_back(place); // nobody knows of it
        throw;
    }
    if (before != 0) {
        write(before, offsetof(Words, next), own);
        wait_for(place, offsetof(Words, waiting), [](std::int64_t waiting) { return waiting == 0; });
    }
    held_.emplace(lock, place);
    heap_.acquire();
}

bool QueueLocks::attempt(const LockPlace& lock) {
    const std::uint64_t place = take_place(lock);
    const std::int64_t own = name(thread_, place);
    write(own, offsetof(Words, next), 0);
    if (heap_.compare_swap<std::int64_t>(Rank{lock.thread}, Offset{lock.address + tail}, 0, own) != 0) {
        free_places_.push_back(place);
        return false;
    }
    held_.emplace(lock, place);
    heap_.acquire();
    return true;
}

void QueueLocks::unlock(const LockPlace& lock) {
    heap_.release();
    const std::uint64_t place = held_.at(lock);
    const std::int64_t own = name(thread_, place);
    std::int64_t next = heap_.atomic_read<std::int64_t>(Rank{thread_}, Offset{offset(place) + offsetof(Words, next)});
    if (next == 0 && heap_.compare_swap<std::int64_t>(Rank{lock.thread}, Offset{lock.address + tail}, own, 0) != own)
        next = wait_for(place, offsetof(Words, next), [](std::int64_t name) { return name != 0; });
    if (next != 0) write(next, offsetof(Words, waiting), 0);
    held_.erase(lock);
    free_places_.push_back(place);
}

bool QueueLocks::is_free(const LockPlace& lock) {
    return heap_.atomic_read<std::int64_t>(Rank{lock.thread}, Offset{lock.address + tail}) == 0;
}

} // namespace lapwing::upc
