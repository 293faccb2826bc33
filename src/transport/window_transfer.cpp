#include "src/transport/window_transfer.hpp"

#include "src/support/backoff.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_registry.hpp"
#include "src/transport/access_ledger.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <exception>

namespace lapwing::detail::transport {

const WindowFacts& WindowTransfer::window() const noexcept { return ledger_.load(std::memory_order_acquire)->facts(); }

bool WindowTransfer::test() {
    check_lost();
    if (!attached()) return true;
    const WindowFacts& facts = window();
    if (!arrived()) {
        facts.state.progress();
        if (!arrived()) {
            if (!facts.state.membership().troubled()) return false;
            if (!arrived()) { // or the trouble came after it
                check_hope(facts, "Completion::test");
                return false;
            }
        }
    }
    finish(facts, "Completion::test");
    return true;
}

void WindowTransfer::finish(const WindowFacts& window, const char* call) {
    leave_window();
    if (dropped()) throw_freed_at(window, call, target_);
}

void WindowTransfer::check_hope(const WindowFacts& window, const char* call) {
    team::TeamState& team = window.state;
    try {
        if (team.lifecycle().has_left())
            throw UsageError{
                fmt::format("{}: this rank has left the team, so the transfer with rank {} cannot complete; "
                            "wait for transfers before the team ends",
                            window.who(call), target_.value)};
        team.check_reachable(call, target_);
    } catch (...) {
        give_up();
        leave_window();
        throw;
    }
}

void WindowTransfer::wait() {
    check_lost();
    if (!attached()) return;
    const WindowFacts& facts = window(); // of a window that is lost meanwhile, too, which stays as long as calls on it
    team::TeamState& team = facts.state;
    try {
        team.wait_until(
            [&] {
                if (lost_.load(std::memory_order_acquire) || arrived()) return true;
                if (team.lifecycle().has_left()) check_hope(facts, "Completion::wait");
                return false;
            },
            "Completion::wait", target_);
    } catch (...) {
        if (attached()) give_up();
        leave_window();
        throw;
    }
    check_lost();
    finish(facts, "Completion::wait");
}

void WindowTransfer::detach() {
    while (!arrived()) window().state.progress();
    ledger_.store(nullptr, std::memory_order_release);
}

void WindowTransfer::lose() noexcept {
    bool lost = true;
    try {
        lost = !arrived() || dropped();
    } catch (const std::exception&) { // MPI does not know it any more
    }
    if (lost) give_up();
    lost_.store(lost, std::memory_order_release); // before the ledger goes: a thread that waits looks at it first
    ledger_.store(nullptr, std::memory_order_release);
}

void WindowTransfer::check_lost() const {
    if (lost_.load(std::memory_order_acquire))
        throw UsageError{"Completion: the program freed the window with MPI_Win_free before this transfer was "
                         "complete; wait for transfers, "
                         "and close the window, before"};
}

void WindowTransfer::leave_window() noexcept {
    AccessLedger* const ledger = ledger_.load(std::memory_order_acquire);
    if (ledger == nullptr) return;
    ledger->remove(*this);
    ledger_.store(nullptr, std::memory_order_release);
}

RmaTransfer::~RmaTransfer() {
    if (!attached()) return;
    give_up();
    leave_window();
}

bool RmaTransfer::arrived() {
    if (team::TeamRegistry::mpi_ended()) return false;
    int done = 0;
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) support::throw_mpi_error(code, "MPI_Testall", window().who("Completion"));
    return done != 0;
}

void RmaTransfer::give_up() noexcept {
    // Requests of one-sided operations can neither be cancelled nor freed (MPI 3.1, section 11.3.5), so they are
    // completed: a target that has left the team still answers for its memory, at the latest in MPI_Finalize. After an
    // interruption nobody waits so long; MPI may then use the memory until it is finalized.
    support::Backoff backoff{support::ProcessorShare::crowded};
    int done = 0;
    while (!team::TeamRegistry::mpi_ended() && !window().state.membership().interrupted() &&
           !window().freed.load(std::memory_order_acquire) && // of a window that is gone nobody completes them
           MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE) ==
               MPI_SUCCESS &&
           done == 0)
        backoff.pause();
}

ServiceTransfer::~ServiceTransfer() {
    if (!attached()) return;
    give_up();
    leave_window();
}

void ServiceTransfer::give_up() noexcept {
    if (!operation_.done()) window().state.engine().abandon(operation_);
}

} // namespace lapwing::detail::transport
