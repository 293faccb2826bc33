#include "window/lock_state.hpp"

#include "src/support/log.hpp"
#include "src/team/retry_pause.hpp"
#include "src/team/team_registry.hpp"
#include "window/repeated_looks.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/wait_hook.hpp>

#include <fmt/format.h>

#include <exception>

namespace lapwing::detail::window {

namespace {
/// Attempts of a thread that failed, in a row, at whichever locks.
thread_local std::uint32_t failed_attempts = 0;
constexpr std::uint32_t longest_pause = 6; // in doublings: the thread may have other work
} // namespace

LockState::LockState(Team& team, Rank home)
    : state_{team.state()},
      home_{home},
      one_node_{state_.topology().nodes() == 1},
      table_{state_.part<LockTable>()},
      slot_{table_.take(team, home_)} {}

LockState::~LockState() {
    if (held()) {
        support::log_line(fmt::format("{}: Lock: destroyed while this rank holds it; unlock it first", state_.who()));
        if (held_by_this_thread()) { // only its thread may release the mutex
            try {
                if (std::uncaught_exceptions() == exceptions_at_start_) unlock();
            } catch (const std::exception& error) {
                support::log_line(error.what());
            }
            if (held()) passed_on();
        }
    }
    if (!open_) return;
    if (std::uncaught_exceptions() == exceptions_at_start_ && !state_.lifecycle().has_left() &&
        !state_.membership().broken()) {
        try {
            end();
            return;
        } catch (const std::exception& error) {
            support::log_line(error.what());
        }
    }
    table_.leave();
}

std::atomic_ref<std::int64_t> LockState::word(Rank rank, std::uint64_t word) const noexcept {
    return std::atomic_ref<std::int64_t>{
        *reinterpret_cast<std::int64_t*>(slot_.block->map().base(rank) + slot_.offset.bytes + word)};
}

bool LockState::is_over(std::int64_t ticket) const noexcept {
    return ticket == 0 || word(rank_of(ticket), passed).load(std::memory_order_acquire) == number_of(ticket);
}

std::int64_t LockState::next_ticket() const noexcept {
    return ticket_of(own(),
                     static_cast<std::uint32_t>(word(state_.rank(), passed).load(std::memory_order_relaxed)) + 1);
}

std::int64_t LockState::swap(Rank rank, std::uint64_t word, std::int64_t value, mpi::AtomicOperation operation) {
    std::int64_t before = 0;
    slot_.block->atomics().fetch(operation, mpi::AtomicType::int64, rank, slot_.offset.bytes + word, &value, &before,
                                 std::memory_order_relaxed);
    return before;
}

std::int64_t LockState::compare_swap(std::uint64_t word, std::int64_t expected, std::int64_t desired) {
    std::int64_t before = 0;
    slot_.block->atomics().compare_swap(mpi::AtomicType::int64, home_, slot_.offset.bytes + word, &expected, &desired,
                                        &before, std::memory_order_relaxed);
    return before;
}

template <class Step>
auto LockState::at(Rank rank, const char* call, Step&& step) {
    try {
        return step();
    } catch (const PeerLeftError&) {
        state_.check_reachable(call, rank); // the same, in the words of the call that the program has made
        state_.check_reachable(call, team::Membership::any_rank);
        throw;
    } catch (const MpiError& error) {
        throw MpiError{
            fmt::format("{}: {}: the queue of the lock at rank {}: {}", state_.who(), call, rank.value, error.what()),
            error.code()};
    } catch (const InterruptedError& error) {
        throw InterruptedError{
            fmt::format("{}: {}: the queue of the lock at rank {}: {}", state_.who(), call, rank.value, error.what())};
    }
}

template <class Done>
void LockState::wait_for_hand_over(Done&& done, const char* call) {
    // A lock in memory changes hands within a fraction of a microsecond, in which a round of progress would only delay
    // it; unless the holder needs this rank's processor.
    constexpr int looks = 64; // about a microsecond
    const bool at_once = one_node_ && state_.topology().processors().share() != support::ProcessorShare::crowded;
    for (int i = 0; at_once && i < looks; ++i) {
        if (done()) return;
        support::relax_processor();
    }
    state_.wait_until(done, call);
}

void LockState::take(Place& place) {
    state_.epoch().acquire();
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    failed_attempts = 0;
    place.keep();
}

void LockState::lock() {
    constexpr const char* call = "Lock::lock";
    state_.check_usable(call);
    state_.epoch().functions().send_gathered(); // its holder may wait for it
    if (held_by_this_thread())
        throw UsageError{
            fmt::format("{}: Lock::lock: this thread holds the lock already; unlock it first", state_.who())};
    Place place{*this};
    if (!place.got()) state_.wait_until([&] { return place.ask(); }, call); // another thread of this rank has it
    if (one_node_) {
        // Acquire, with that of is_over(): what was done under the lock before. Release: this rank's `passed` is older
        // than this ticket.
        const std::int64_t before = word(home_, tail).exchange(next_ticket(), std::memory_order_acq_rel);
        wait_for_hand_over([&] { return is_over(before); }, call);
        return take(place);
    }
    write(state_.rank(), next, 0);
    write(state_.rank(), waiting, 1);
    const std::int64_t before = at(home_, call, [&] { return swap(home_, tail, own()); });
    if (before != 0) {
        const Rank predecessor = rank_of(before);
        at(predecessor, call, [&] { write(predecessor, next, own()); });
        wait_for_hand_over([&] { return word(state_.rank(), waiting).load(std::memory_order_acquire) == 0; }, call);
    }
    take(place);
}

bool LockState::try_lock() {
    constexpr const char* call = "Lock::try_lock";
    state_.check_usable(call);
    if (held_by_this_thread()) return false;
    Place place{*this};
    if (!place.got()) return false;
    if (one_node_) {
        state_.progress_driver().serve_now_and_then();
        std::int64_t before = word(home_, tail).load(std::memory_order_relaxed);
        if (!is_over(before) ||
            !word(home_, tail).compare_exchange_strong(before, next_ticket(), std::memory_order_acq_rel))
            return not_taken(before, call);
    } else {
        write(state_.rank(), next, 0);
        if (const std::int64_t before = at(home_, call, [&] { return compare_swap(tail, 0, own()); }); before != 0)
            return not_taken(before, call);
    }
    take(place);
    return true;
}

bool LockState::not_taken(std::int64_t before, const char* call) {
    // A rank that asks again and finds the same ticket polls for its end, which may not come: see lock().
    if (state_.membership().troubled() && RepeatedLooks::again(this, home_, 0, static_cast<std::uint64_t>(before)))
        state_.check_reachable(call, team::Membership::any_rank);
    team::pause_after(failed_attempts++, longest_pause, state_);
    return false;
}

void LockState::unlock() {
    constexpr const char* call = "Lock::unlock";
    if (!held_by_this_thread())
        throw UsageError{
            fmt::format("{}: Lock::unlock: this thread does not hold the lock; unlock only after lock or a successful "
                        "try_lock, in the same thread",
                        state_.who())};
    // What functions of this rank's have thrown elsewhere is no reason to keep the others waiting.
    std::exception_ptr failed;
    try {
        state_.epoch().release();
    } catch (const FunctionError&) {
        failed = std::current_exception();
    }
    hand_over(call);
    if (failed != nullptr) std::rethrow_exception(failed);
}

void LockState::hand_over(const char* call) {
    if (one_node_) {
        // Release: a rank that finds this ticket over sees what was done under the lock.
        word(state_.rank(), passed).store(number_of(next_ticket()), std::memory_order_release);
        return passed_on();
    }
    // Others write this rank's words atomically: directly, by the service thread, or because MPI's memory model is
    // unified.
    const auto own_next = [&] { return word(state_.rank(), next).load(std::memory_order_acquire); };
    if (own_next() == 0) {
        if (at(home_, call, [&] { return compare_swap(tail, own(), 0); }) == own()) return passed_on();
        // A rank has joined the queue and is about to name itself.
        wait_for_hand_over([&] { return own_next() != 0; }, call);
    }
    const Rank successor = rank_of(own_next());
    at(successor, call, [&] { write(successor, waiting, 0); });
    passed_on();
}

Rank LockState::last_in_queue() {
    if (!one_node_) return rank_of(swap(home_, tail, 0, mpi::AtomicOperation::read));
    const std::int64_t last = word(home_, tail).load(std::memory_order_acquire);
    return is_over(last) ? Rank{-1} : rank_of(last);
}

void LockState::close() {
    if (held())
        throw UsageError{fmt::format("{}: Lock::close: this rank holds the lock; unlock it first", state_.who())};
    end();
}

void LockState::end() {
    if (team::TeamRegistry::mpi_ended())
        throw UsageError{
            fmt::format("{}: Lock::close: MPI is finalized already; close locks before MPI_Finalize", state_.who())};
    table_.give_back(state_, slot_, home_);
    open_ = false;
    // Nothing is read before the barrier of the next lock in this slot, whose home may be another: ranks' tickets then
    // continue past this tail.
    if (one_node_ && state_.rank() == home_) word(home_, tail).store(0, std::memory_order_relaxed);
}

void LockState::passed_on() {
    holder_.store(std::thread::id{}, std::memory_order_relaxed);
    place_taken_.store(false, std::memory_order_release);
}

} // namespace lapwing::detail::window
