#include "src/team/lifecycle.hpp"

#include "src/support/backoff.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/host_waits.hpp"
#include "src/team/team_registry.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>

namespace lapwing::detail::team {
namespace {

using support::check_mpi;

} // namespace

void Lifecycle::check_nothing_open() {
    const auto refuse = [&](const std::string& open) {
        throw UsageError{fmt::format("{}: Team::close: {}; close windows, arrays and locks before their runtime",
                                     team_.who(), open)};
    };
    if (const std::string open = team_.epoch().still_open(); !open.empty()) refuse(open);
    team_.for_each_part([&](TeamPart& part) {
        if (const std::string open = part.still_open(); !open.empty()) refuse(open + " are open");
    });
}

void Lifecycle::check_other_closes() {
    const auto obstacle = TeamRegistry::instance().blocked_by(team_);
    if (!obstacle) return;
    throw UsageError{
        fmt::format("{}: Team::close: rank {} of this team waits in the close of another team, of {} ranks, that "
                    "this rank has not closed: the two would wait for each other. Close teams in the same order "
                    "on all ranks: close that one now, then call close again",
                    team_.who(), obstacle->rank, obstacle->team_size)};
}

TeamRegistry::LeftWindows Lifecycle::sum_up() {
    StatisticsValues total = team_.statistics().read();
    auto left_windows = TeamRegistry::instance().left_windows_of(team_);
    constexpr std::size_t bytes = sizeof total.values;
    TeamState::Memory memory = std::make_unique_for_overwrite<std::byte[]>(bytes + sizeof left_windows);
    std::memcpy(memory.get(), total.values.data(), bytes);
    std::memcpy(memory.get() + bytes, left_windows.data(), sizeof left_windows);
    team_.complete(memory, "Team::close", [&](std::byte* place) { // no rank has the sum before all have come
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Iallreduce(MPI_IN_PLACE, place, static_cast<int>(counter_count + left_windows.size()),
                                 MPI_UINT64_T, MPI_SUM, team_.communicator(), &request),
                  "MPI_Iallreduce", team_.who());
        return request;
    });
    std::memcpy(total.values.data(), memory.get(), bytes);
    std::memcpy(left_windows.data(), memory.get() + bytes, sizeof left_windows);
    total_at_close_ = total;
    return left_windows;
}

void Lifecycle::close() {
    if (closed_) return;
    if (TeamRegistry::mpi_ended())
        throw UsageError{
            fmt::format("{}: Team::close: MPI is finalized already; close runtimes before MPI_Finalize", team_.who())};
    check_nothing_open();
    team_.synchronisation().barrier_of_team_close([this] { check_other_closes(); });
    // Everything sent is acknowledged and everything owed has been sent; wait until that holds for all ranks, so that
    // no message is on its way when the receives are taken back.
    team_.wait_until([this] { return team_.engine().idle(); }, "Team::close");
    team_.epoch().leave_functions();
    team_.for_each_part([](TeamPart& part) { part.close(); });
    const TeamRegistry::LeftWindows left_windows = sum_up();
    team_.epoch().stop_flusher();
    TeamRegistry::instance().remove(team_); // before anything goes that closes of other teams look at
    HostWaits::remove(team_);
    team_.progress_driver().stop();
    team_.engine().stop();
    TeamRegistry::instance().free_left_windows(team_, left_windows);
    team_.free_mpi();
    closed_ = true;
    // What makes progress, except for this barrier itself, must be over on all ranks before any may finalize MPI: in
    // MPICH 4.0.2 over UCX's TCP, MPI_Finalize asks every rank for an acknowledgement, and ignores messages once it has
    // them all. A rank that gave its own before its MPI_Finalize waits there for ever.
    check_mpi(MPI_Barrier(team_.communicator()), "MPI_Barrier", team_.who());
    team_.communicators().close();
}

void Lifecycle::say_goodbye(LeaveReason reason) {
    messages::Engine& engine = team_.engine();
    {
        const std::lock_guard guard{engine.mutex()};
        team_.membership().announce_own(reason);
    }
    // The others may be gone too: notify those that still listen, for a bounded time.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    support::Backoff backoff{support::ProcessorShare::crowded};
    while (std::chrono::steady_clock::now() < end) {
        try {
            if (engine.idle()) return;
        } catch (const Error&) { // what has failed has been reported
        }
        backoff.pause();
    }
}

void Lifecycle::leave(bool by_exception) noexcept {
    if (closed_ || left_) return;
    left_ = true;
    if (TeamRegistry::mpi_ended()) return;
    try {
        LeaveReason reason;
        if (const auto& mismatch = team_.synchronisation().mismatch()) reason = *mismatch;
        else if (!by_exception) reason = team_.membership().reason_to_follow();
        say_goodbye(reason);
    } catch (...) { // leaving anyway
    }
    TeamRegistry::instance().remove(team_);
    team_.epoch().stop_flusher(); // after the others know: it may wait for one of them
    team_.progress_driver().stop();
    team_.engine().stop();
    // Communicators and windows stay: freeing them is collective, and the others are elsewhere.
}

void Lifecycle::on_finalize() noexcept {
    team_.progress_driver().stop();
    if (closed_ || left_) return;
    support::log_line(fmt::format(
        "{}: MPI_Finalize was called while a team is open; close runtimes, windows and arrays first", team_.who()));
    try {
        if (team_.size() > 1)
            say_goodbye({LeaveReason::finalize}); // MPI still works here, and the others may be waiting
    } catch (...) {                               // they are notified as far as possible
    }
    team_.engine().stop();
    team_.membership().end_by_finalize();
    team_.epoch().on_finalize();
}

} // namespace lapwing::detail::team
