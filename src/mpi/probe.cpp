#include "src/mpi/probe.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/components.hpp"
#include "src/mpi/creation_lock.hpp"
#include "src/mpi/trial_window.hpp"
#include "src/mpi/watch.hpp"
#include "src/mpi/watched_call.hpp"
#include "src/mpi/window_trial.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

namespace lapwing::detail::mpi {
namespace {

using support::check_mpi;
using Clock = std::chrono::steady_clock;

/// Some hundred times what a trial takes on an idle machine: ranks that share busy processors may be slow.
constexpr std::chrono::milliseconds longest{10'000};
/// The ranks that create a window exchange keys with each other.
constexpr int ranks_a_millisecond = 5;

std::chrono::milliseconds longest_trial(MPI_Comm communicator) {
    int ranks = 0;
    MPI_Comm_size(communicator, &ranks);
    const std::chrono::milliseconds of_ranks{ranks / ranks_a_millisecond};
    // Another job may hold the lock for as long as it is stopped in a debugger.
    return longest + of_ranks + CreationLock::longest_wait(communicator);
}

void try_window(const ProbeRequest& request, WindowTrial& trial, ProbeResult& result) {
    result.emulated = !trial.operations_are_fast();
    if (result.emulated) {
        result.reason = trial.first_problem();
        if (!result.reason.empty()) return;
        if (!request.emulated_too) {
            result.works = true;
            return;
        }
    }
    if (!trial.moves_data()) {
        result.reason = trial.first_problem();
        return;
    }
    result.works = true;
    const bool crashes = request.topology->one_machine() && compare_and_swap_crashes();
    result.swaps_tried = all_agree(request.communicator, !crashes);
    result.atomics = trial.try_atomics(result.swaps_tried);
    const auto all_trusted = [&] { return result.atomics.bits() == TrustedAtomics::all().bits(); };
    if (!all_trusted()) result.doubt = trial.first_problem();
    const bool sufficed = result.atomics.suffice();
    if (!result.emulated && request.topology->nodes() > 1) {
        const WindowTrial::WithoutTarget outside =
            trial.tries_sleeping_targets(request.sleep_outside_mpi, result.atomics);
        result.target_idle = outside.proved;
        result.works = outside.works;
        if (!outside.works) result.reason = trial.first_problem();
        if (!all_trusted() && (result.doubt.empty() || sufficed != result.atomics.suffice()))
            result.doubt = trial.first_problem();
    }
}

TrialTerms::Use use_of(const ProbeRequest& request) {
    if (request.adopted) return TrialTerms::Use::adopted;
    if (!request.progress_threads) return TrialTerms::Use::no_threads;
    return request.emulated_too ? TrialTerms::Use::asked_for : TrialTerms::Use::if_faster;
}

TrialTerms terms_of(const ProbeRequest& request) {
    return {.use = use_of(request), .unit = request.unit, .threads = request.thread_level == MPI_THREAD_MULTIPLE};
}

ProbeResult probe(const ProbeRequest& request) {
    TrialWindow window{request};
    ProbeResult result{.works = false, .reason = window.problem()};
    result.kind = window.kind();
    std::optional<WindowTrial> trial; // until the end of the epoch, which may still read and write its buffers
    if (result.reason.empty()) {
        trial.emplace(request.communicator, *request.topology, window.window(), window.memory(), terms_of(request));
        try_window(request, *trial, result);
    }
    if (std::string problem = window.end(); !problem.empty() && result.works) {
        result.works = false;
        result.reason = std::move(problem);
    }
    return result;
}

/// The same in a thread that is watched. Collective: what keeps one rank from its end, by time or by an exception, ends
/// the trial on all, though others may still be in it.
ProbeResult probe_watched(MPI_Comm communicator, const ProbeRequest& request) {
    const std::chrono::milliseconds limit = longest_trial(request.communicator);
    const auto found = std::make_shared<ProbeResult>();
    std::string problem;
    try {
        if (!ends_within(limit, [found, request] { *found = probe(request); }))
            problem = fmt::format("{} had not returned after {} s", WindowTrial::call_under_way().load(),
                                  std::chrono::duration_cast<std::chrono::seconds>(limit).count());
    } catch (const std::exception& error) {
        problem = fmt::format("the trial failed: {}", error.what());
    }
    const Problem first = first_problem(communicator, problem);
    if (first.text.empty()) return *found;
    return {.works = false, .reason = fmt::format("on rank {} {}", first.rank, first.text), .hangs = true};
}

/// Where MPI permits no second thread in it, a trial that hangs cannot be given up: it is reported.
ProbeResult probe_reported(const ProbeRequest& request) {
    const std::chrono::milliseconds limit = longest_trial(request.communicator);
    int rank = 0;
    MPI_Comm_rank(request.communicator, &rank);
    const Watch watch{limit, [rank, limit] {
                          support::log_line(fmt::format(
                              "rank {}: the trial of MPI's windows has not ended after {} s, in {}; it cannot be given "
                              "up without MPI_THREAD_MULTIPLE. LAPWING_PATH=service starts without it",
                              rank, std::chrono::duration_cast<std::chrono::seconds>(limit).count(),
                              WindowTrial::call_under_way().load()));
                      }};
    return probe(request);
}

} // namespace

ProbeResult probe_windows(const ProbeRequest& request) {
    const Clock::time_point begin = Clock::now();
    if (!all_agree(request.communicator, !window_creation_would_print(request.thread_level)))
        return {.works = false,
                .reason = "Open MPI's osc/pt2pt, the only component that could, refuses MPI_THREAD_MULTIPLE"};
    // On a communicator of its own: a trial that hangs must not disturb other messages.
    ProbeRequest own = request;
    check_mpi(MPI_Comm_dup(request.communicator, &own.communicator), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(own.communicator, MPI_ERRORS_RETURN);
    if (request.kind == WindowKind::created_over_shared)
        check_mpi(MPI_Comm_dup(request.topology->node_communicator(), &own.node_communicator), "MPI_Comm_dup");
    ProbeResult result =
        request.thread_level == MPI_THREAD_MULTIPLE ? probe_watched(request.communicator, own) : probe_reported(own);
    if (!result.hangs) {
        MPI_Comm_free(&own.communicator);
        if (own.node_communicator != MPI_COMM_NULL) MPI_Comm_free(&own.node_communicator);
    }
    result.taken = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
    return result;
}

} // namespace lapwing::detail::mpi
