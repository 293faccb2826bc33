#include "upc/locks.hpp"

#include "upc/program.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/error.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace lapwing::upc {

namespace {

constexpr std::uint64_t first_slab = 64; ///< locks
constexpr std::uint64_t largest_slab = 4096;

} // namespace

QueueLocks& Locks::queues() {
    if (!queues_) queues_.emplace(program_.heap(), offsetof(PartHeader, places), sizeof(PartHeader::places));
    return *queues_;
}

void Locks::find_places() {
    // Freed places have no mark. That another thread has freed one is seen when it has completed its write.
    const std::byte* const own = program_.heap().local().data();
    for (const Slab& slab : slabs_)
        for (std::uint64_t k = 0; k < slab.locks; ++k) {
            const std::uint64_t at = slab.begin + k * sizeof(LockWords);
            if (reinterpret_cast<const LockWords*>(own + at)->mark == 0) free_places_.push_back(at);
        }
    std::uint64_t all = 0;
    for (const Slab& slab : slabs_) all += slab.locks;
    // Where few were found it would be looked for again soon.
    if (free_places_.size() * 4 > all) return;
    const std::uint64_t locks = std::clamp(all, first_slab, largest_slab);
    lapwing_upc_pointer memory{};
    try {
        memory = program_.allocation().allocate("upc_global_lock_alloc", locks * sizeof(LockWords));
    } catch (const RangeError&) {
        if (free_places_.empty()) throw;
        return; // the few that were found will do
    }
    std::fill_n(reinterpret_cast<LockWords*>(program_.heap().local().data() + memory.address), locks, LockWords{});
    slabs_.push_back({memory.address, locks});
    for (std::uint64_t k = locks; k-- > 0;) free_places_.push_back(memory.address + k * sizeof(LockWords));
}

lapwing_upc_pointer Locks::allocate() {
    if (free_places_.empty()) find_places();
    const std::uint64_t at = free_places_.back();
    free_places_.pop_back();
    *reinterpret_cast<LockWords*>(program_.heap().local().data() + at) = {.tail = 0, .mark = lock_mark};
    return {at, static_cast<std::uint32_t>(program_.own_thread()), 0};
}

lapwing_upc_pointer Locks::allocate_together() {
    return program_.allocation().from_first([&] {
        const lapwing_upc_pointer lock = allocate();
        program_.heap().release(); // others take it as soon as they know of it
        return lock;
    });
}

bool Locks::is_lock(const lapwing_upc_pointer& lock) const {
    // Not by a read, which may be cached since before the lock was made.
    return program_.heap().atomic_read<std::uint64_t>(rank_of(lock), Offset{lock.address + offsetof(LockWords, mark)}) == lock_mark;
}

LockPlace Locks::place(const char* call, const lapwing_upc_pointer& lock) const {
    program_.require_in_part(call, lock, sizeof(LockWords));
    if constexpr (assertion_level >= 2) {
        if (!is_lock(lock))
            throw UsageError{fmt::format("{}: {}: there is no lock, or it was freed; pass what upc_all_lock_alloc or upc_global_lock_alloc returned",
                                         program_.who(call), text(lock))};
    }
    return {static_cast<int>(lock.thread), lock.address};
}

void Locks::free(const char* call, const lapwing_upc_pointer& lock) {
    if (is_null(lock)) return;
    const LockPlace place = this->place(call, lock);
    if (!is_lock(lock))
        throw UsageError{fmt::format("{}: {}: there is no lock, or it was freed before; pass what upc_all_lock_alloc or upc_global_lock_alloc returned",
                                     program_.who(call), text(lock))};
    if (!queues().is_free(place))
        throw UsageError{fmt::format("{}: {}: a thread holds the lock{}; unlock it first", program_.who(call), text(lock), queues().holds(place) ? ", this one" : "")};
    if (place.thread == program_.own_thread()) {
        reinterpret_cast<LockWords*>(program_.heap().local().data() + place.address)->mark = 0;
        free_places_.push_back(place.address);
    } else {
        program_.heap().put(rank_of(lock), Offset{lock.address + offsetof(LockWords, mark)}, std::uint64_t{0});
    }
}

void Locks::free_together(const lapwing_upc_pointer& lock) {
    program_.team().barrier();
    if (program_.own_thread() == 0) free("upc_all_lock_free", lock);
}

void Locks::lock(const lapwing_upc_pointer& lock) {
    const LockPlace place = this->place("upc_lock", lock);
    if (queues().holds(place))
        throw UsageError{fmt::format("{}: {}: the calling thread holds the lock already, and would wait for itself", program_.who("upc_lock"), text(lock))};
    queues().lock(place);
}

bool Locks::attempt(const lapwing_upc_pointer& lock) {
    const LockPlace place = this->place("upc_lock_attempt", lock);
    if (queues().holds(place))
        throw UsageError{fmt::format("{}: {}: the calling thread holds the lock already", program_.who("upc_lock_attempt"), text(lock))};
    return queues().attempt(place);
}

void Locks::unlock(const lapwing_upc_pointer& lock) {
    const LockPlace place = this->place("upc_unlock", lock);
    if (!queues().holds(place))
        throw UsageError{
            fmt::format("{}: {}: the calling thread does not hold the lock; only the thread that locked it unlocks it", program_.who("upc_unlock"), text(lock))};
    queues().unlock(place);
}

} // namespace lapwing::upc
