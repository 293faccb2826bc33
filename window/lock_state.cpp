#include "window/lock_state.hpp"

#include "src/support/log.hpp"
#include "window/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

namespace lapwing::window {

LockState::LockState(Team& team, Rank home)
    : team_{team}, home_{home}, window_{team, sizeof(Entry), {.name = "lock", .notification_counters = 0}} {}

LockState::~LockState() {
    if (!held()) return;
    support::log_line(fmt::format("{}: Lock: destroyed while this rank holds it; unlock it first", team_.who()));
    if (!held_by_this_thread()) return; // and only its thread may release the mutex
    try {
        if (std::uncaught_exceptions() == exceptions_at_start_) unlock();
    } catch (const std::exception& error) {
        support::log_line(error.what());
    }
    if (held()) passed_on();
}

template <class Step>
auto LockState::at(Rank rank, const char* call, Step&& step) {
    try {
        return step();
    } catch (const PeerLeftError&) {
        team_.state().check_reachable(call, rank.value); // the same, in the words of the call that the program has made
        team_.state().check_reachable(call, TeamState::any_rank);
        throw;
    } catch (const MpiError& error) {
        throw MpiError{fmt::format("{}: {}: the queue of the lock at rank {}: {}", team_.who(), call, rank.value, error.what()),
                       error.code()};
    }
}

void LockState::take(std::unique_lock<std::mutex>& turn) {
    team_.acquire();
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    turn.release();
}

void LockState::lock() {
    if (held_by_this_thread())
        throw UsageError{fmt::format("{}: Lock::lock: this thread holds the lock already; unlock it first", team_.who())};
    std::unique_lock turn{turn_};
    window_.atomic_write(team_.rank(), next, std::int64_t{0});
    window_.atomic_write(team_.rank(), waiting, std::int64_t{1});
    const auto before = at(home_, "Lock::lock", [&] { return window_.swap(home_, tail, own(), std::memory_order_release); });
    if (before != 0) {
        const Rank predecessor{static_cast<int>(before - 1)};
        at(predecessor, "Lock::lock", [&] { window_.atomic_write(predecessor, next, own()); });
        team_.state().wait_until([&] { return own_word(waiting) == 0; }, "Lock::lock");
    }
    take(turn);
}

bool LockState::try_lock() {
    if (held_by_this_thread()) return false;
    std::unique_lock turn{turn_, std::try_to_lock};
    if (!turn.owns_lock()) return false;
    window_.atomic_write(team_.rank(), next, std::int64_t{0});
    if (at(home_, "Lock::try_lock", [&] { return window_.compare_swap(home_, tail, std::int64_t{0}, own()); }) != 0) return false;
    take(turn);
    return true;
}

void LockState::unlock() {
    if (!held_by_this_thread())
        throw UsageError{fmt::format("{}: Lock::unlock: this thread does not hold the lock; unlock only after lock or a successful "
                                     "try_lock, in the same thread",
                                     team_.who())};
    team_.release();
    if (own_word(next) == 0) {
        if (at(home_, "Lock::unlock", [&] { return window_.compare_swap(home_, tail, own(), std::int64_t{0}); }) == own())
            return passed_on();
        // Somebody is in the queue and about to say so.
        team_.state().wait_until([&] { return own_word(next) != 0; }, "Lock::unlock");
    }
    const Rank successor{static_cast<int>(own_word(next) - 1)};
    at(successor, "Lock::unlock", [&] { window_.atomic_write(successor, waiting, std::int64_t{0}); });
    passed_on();
}

void LockState::close() {
    if (held()) throw UsageError{fmt::format("{}: Lock::close: this rank holds the lock; unlock it first", team_.who())};
    window_.close();
}

/// A word of this rank's entry, which others write atomically. Reading it in memory sees their writes: directly, by the
/// service thread, or because MPI's memory model is unified.
std::int64_t LockState::own_word(Offset word) const {
    auto& cell = window_.local_as<std::int64_t>()[word.bytes / sizeof(std::int64_t)];
    return std::atomic_ref<std::int64_t>{cell}.load(std::memory_order_acquire);
}

void LockState::passed_on() {
    holder_.store(std::thread::id{}, std::memory_order_relaxed);
    turn_.unlock();
}

} // namespace lapwing::window
