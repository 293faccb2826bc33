#include "upc/locks.hpp"

#include "src/team/retry_pause.hpp"
#include "src/team/team_state.hpp"
#include "upc/program.hpp"
#include "window/private_parts.hpp"

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

/// Another thread's, with LAPWING_PRIVATE: threads share nothing, and its words are not here.
[[nodiscard]] bool keeps_nobody_out(ProgramState& program, const lapwing_upc_pointer& lock) {
    return !is_null(lock) && lock.thread < static_cast<std::uint32_t>(program.threads().threads()) &&
           lapwing::detail::window::own_part_stands_for(program.heap().map(), rank_of(lock));
}

} // namespace

QueueLocks& Locks::queues() {
    if (!queues_) queues_.emplace(program_.heap(), offsetof(PartHeader, places), sizeof(PartHeader::places));
    return *queues_;
}

void Locks::find_places() {
    // Freed places have no lock's mark. A free by another thread is visible once its write is complete.
    const std::byte* const own = program_.heap().local().data();
    for (const Slab& slab : slabs_)
        for (std::uint64_t k = 0; k < slab.locks; ++k) {
            const std::uint64_t at = slab.begin + k * sizeof(LockWords);
            if (!is_lock_mark(reinterpret_cast<const LockWords*>(own + at)->mark)) free_places_.push_back(at);
        }
    std::uint64_t all = 0;
    for (const Slab& slab : slabs_) all += slab.locks;
    // If few were found, the search would soon be repeated.
    if (free_places_.size() * 4 > all) return;
    const std::uint64_t locks = std::clamp(all, first_slab, largest_slab);
    lapwing_upc_pointer memory{};
    try {
        memory = program_.allocation().allocate("upc_global_lock_alloc", locks * sizeof(LockWords));
    } catch (const RangeError&) {
        if (free_places_.empty()) throw;
        return; // the few that were found are enough
    }
    std::fill_n(reinterpret_cast<LockWords*>(program_.heap().local().data() + memory.address), locks, LockWords{});
    slabs_.push_back({memory.address, locks});
    for (std::uint64_t k = locks; k-- > 0;) free_places_.push_back(memory.address + k * sizeof(LockWords));
}

lapwing_upc_pointer Locks::allocate() {
    if (free_places_.empty()) find_places();
    const std::uint64_t at = free_places_.back();
    free_places_.pop_back();
    auto& words = *reinterpret_cast<LockWords*>(program_.heap().local().data() + at);
    const std::uint32_t generation =
        std::max(1U, generation_of(words.mark) + 1); // 0 is reserved for the runtime's own locks
    words = {.tail = 0, .mark = lock_mark(generation)};
    return {at, static_cast<std::uint32_t>(program_.own_thread()), generation};
}

lapwing_upc_pointer Locks::allocate_together() {
    return program_.allocation().from_first("upc_all_lock_alloc", {}, [&] {
        const lapwing_upc_pointer lock = allocate();
        program_.heap().release(); // others use it as soon as they know of it
        return lock;
    });
}

void Locks::throw_no_lock(const char* call, const lapwing_upc_pointer& lock) const {
    throw UsageError{fmt::format("{}: thread {}, address {:#x}: there is no lock, or it was freed; pass what "
                                 "upc_all_lock_alloc or upc_global_lock_alloc returned",
                                 program_.who(call), lock.thread, lock.address)};
}

LockPlace Locks::place(const char* call, const lapwing_upc_pointer& lock) {
    if (is_null(lock))
        throw UsageError{fmt::format(
            "{}: the null pointer is not a lock; pass what upc_all_lock_alloc or upc_global_lock_alloc returned",
            program_.who(call))};
    program_.require_in_part(call, lock, sizeof(LockWords));
    const LockPlace place{static_cast<int>(lock.thread), lock.address, lock.phase};
    LockPlace& seen = seen_[(lock.address / sizeof(LockWords) + lock.thread) % most_seen];
    if (!detail::heap_access.checked && seen == place) return place;
    if (lock.address % sizeof(LockWords) != 0 || !queues().is_lock(place)) throw_no_lock(call, lock);
    seen = place;
    return place;
}

void Locks::free(const char* call, const lapwing_upc_pointer& lock) {
    if (is_null(lock) || keeps_nobody_out(program_, lock)) return;
    const LockPlace place = this->place(call, lock);
    if (!queues().is_lock(place)) throw_no_lock(call, lock); // seen before, and freed since
    if (!queues().retire(place))
        throw UsageError{fmt::format(
            "{}: {}: this thread holds the lock while others wait for it, and they would wait forever; unlock it first",
            program_.who(call), text(lock))};
    if (place.thread == program_.own_thread()) {
        reinterpret_cast<LockWords*>(program_.heap().local().data() + place.address)->mark = place.generation;
        free_places_.push_back(place.address);
    } else {
        program_.heap().put(rank_of(lock), Offset{lock.address + offsetof(LockWords, mark)},
                            std::uint64_t{place.generation});
    }
}

void Locks::free_together(const lapwing_upc_pointer& lock) {
    constexpr const char* call = "upc_all_lock_free";
    if (!is_null(lock)) queues().forget({static_cast<int>(lock.thread), lock.address, lock.phase});
    program_.barrier_for(call, lock);
    if (program_.own_thread() == 0) free(call, lock);
}

void Locks::lock(const lapwing_upc_pointer& lock) {
    constexpr const char* call = "upc_lock";
    if (keeps_nobody_out(program_, lock)) return;
    const LockPlace place = this->place(call, lock);
    if (queues().holds(place))
        throw UsageError{fmt::format("{}: {}: the calling thread already holds the lock, and would wait for itself",
                                     program_.who(call), text(lock))};
    if (!queues().lock(place)) throw_no_lock(call, lock);
}

bool Locks::attempt(const lapwing_upc_pointer& lock) {
    constexpr const char* call = "upc_lock_attempt";
    if (keeps_nobody_out(program_, lock)) return true;
    const LockPlace place = this->place(call, lock);
    if (queues().holds(place))
        throw UsageError{
            fmt::format("{}: {}: the calling thread already holds the lock", program_.who(call), text(lock))};
    const QueueLocks::Attempt result = queues().attempt(place);
    if (result == QueueLocks::Attempt::freed) throw_no_lock(call, lock);
    if (result == QueueLocks::Attempt::done) {
        failed_attempts_ = 0;
        return true;
    }
    // Repeated attempts disturb the holder: its processor, and the thread that has the lock's word and serves the
    // holder's accesses, too.
    lapwing::detail::team::pause_after(failed_attempts_++, longest_pause, program_.team().state());
    // The holder may have left.
    if (failed_attempts_ > 1)
        program_.team().state().check_reachable(call, lapwing::detail::team::Membership::any_rank);
    return false;
}

void Locks::unlock(const lapwing_upc_pointer& lock) {
    constexpr const char* call = "upc_unlock";
    if (keeps_nobody_out(program_, lock)) return;
    const LockPlace place = this->place(call, lock);
    if (!queues().holds(place))
        throw UsageError{
            fmt::format("{}: {}: the calling thread does not hold the lock; only the thread that locked it unlocks it",
                        program_.who(call), text(lock))};
    if (!queues().unlock(place)) throw_no_lock(call, lock);
}

} // namespace lapwing::upc
