#include "src/mpi/probe.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/components.hpp"
#include "src/mpi/creation_lock.hpp"
#include "src/mpi/watched_call.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace lapwing::detail::mpi {
namespace {

using support::check_mpi;
using Clock = std::chrono::steady_clock;

/// A thousand times what a trial takes on an idle machine: ranks that share busy processors may take long.
constexpr std::chrono::milliseconds longest{20'000};

/// A window for the trial, in an epoch, on all ranks or on none.
class TrialWindow {
public:
    TrialWindow(MPI_Comm communicator, const Topology& topology, WindowKind kind) : communicator_{communicator} {
        CreationLock lock{communicator, topology};
        const auto size = static_cast<MPI_Aint>(WindowTrial::memory_bytes);
        int code = MPI_SUCCESS;
        const char* call = "MPI_Win_allocate";
        switch (kind) {
        case WindowKind::allocated:
            code = MPI_Win_allocate(size, 1, MPI_INFO_NULL, communicator, &memory_, &window_);
            break;
        case WindowKind::shared:
            call = "MPI_Win_allocate_shared";
            code = MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, communicator, &memory_, &window_);
            break;
        case WindowKind::created:
            call = "MPI_Win_create";
            own_memory_ = support::allocate_zeroed(WindowTrial::memory_bytes);
            memory_ = own_memory_.get();
            code = MPI_Win_create(memory_, size, 1, MPI_INFO_NULL, communicator, &window_);
            break;
        }
        created_ = all_agree(communicator, code == MPI_SUCCESS);
        lock.end();
        if (!created_) {
            // Where it was created here it stays: freeing is collective.
            problem_ = code == MPI_SUCCESS ? "windows could not be created on some ranks"
                                           : fmt::format("{} failed with {}", call, support::mpi_error_text(code));
            return;
        }
        MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
        locked_ = MPI_Win_lock_all(MPI_MODE_NOCHECK, window_) == MPI_SUCCESS;
        if (!all_agree(communicator, locked_)) problem_ = "MPI_Win_lock_all failed on some rank";
        // With two copies of the memory a rank's loads and stores would need calls around them that others cannot make.
        void* model = nullptr;
        int has_model = 0;
        MPI_Win_get_attr(window_, MPI_WIN_MODEL, &model, &has_model);
        const bool unified = has_model != 0 && *static_cast<int*>(model) == MPI_WIN_UNIFIED;
        if (!all_agree(communicator, unified)) problem_ = "the memory model of MPI's windows is MPI_WIN_SEPARATE";
    }
    TrialWindow(const TrialWindow&) = delete;
    TrialWindow& operator=(const TrialWindow&) = delete;

    /// Collective. Empty: nothing.
    [[nodiscard]] std::string end() {
        if (!created_) return "";
        const bool unlocked = !locked_ || MPI_Win_unlock_all(window_) == MPI_SUCCESS;
        const bool ended = all_agree(communicator_, unlocked);
        MPI_Win_free(&window_);
        return ended ? "" : "MPI_Win_unlock_all failed on some rank";
    }

    [[nodiscard]] const std::string& problem() const noexcept {
        return problem_;
    } ///< alike on all ranks whether there is one
    [[nodiscard]] MPI_Win window() const noexcept { return window_; }
    [[nodiscard]] std::byte* memory() const noexcept { return memory_; }

private:
    MPI_Comm communicator_;
    MPI_Win window_ = MPI_WIN_NULL;
    support::AlignedMemory own_memory_;
    std::byte* memory_ = nullptr;
    bool created_ = false;
    bool locked_ = false;
    std::string problem_;
};

ProbeResult try_window(const ProbeRequest& request, WindowTrial& trial) {
    ProbeResult result;
    result.emulated = !trial.operations_are_fast();
    if (result.emulated && !request.emulated_too) {
        result.reason = trial.first_problem();
        result.works = result.reason.empty();
        return result;
    }
    if (!trial.moves_data()) {
        result.reason = trial.first_problem();
        return result;
    }
    result.works = true;
    const bool crashes = request.topology->one_machine() && compare_and_swap_crashes();
    result.atomics = trial.try_atomics(all_agree(request.communicator, !crashes));
    if (!result.emulated)
        result.target_idle = trial.completes_without_target(request.sleep_outside_mpi, result.atomics);
    if (result.atomics.bits() != TrustedAtomics::all().bits()) result.doubt = trial.first_problem();
    return result;
}

ProbeResult probe(const ProbeRequest& request) {
    TrialWindow window{request.communicator, *request.topology, request.kind};
    ProbeResult result{.works = false, .reason = window.problem()};
    if (result.reason.empty()) {
        WindowTrial trial{request.communicator, *request.topology, window.window(), window.memory()};
        result = try_window(request, trial);
    }
    if (std::string problem = window.end(); !problem.empty() && result.works) {
        result.works = false;
        result.reason = std::move(problem);
    }
    return result;
}

} // namespace

ProbeResult probe_windows(const ProbeRequest& request) {
    const Clock::time_point begin = Clock::now();
    if (!all_agree(request.communicator, !window_creation_would_print(request.thread_level)))
        return {.works = false,
                .reason = "Open MPI's osc/pt2pt, the only component that could, refuses MPI_THREAD_MULTIPLE"};
    // What hangs must not keep others from talking.
    ProbeRequest own = request;
    check_mpi(MPI_Comm_dup(request.communicator, &own.communicator), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(own.communicator, MPI_ERRORS_RETURN);
    ProbeResult result;
    if (request.thread_level == MPI_THREAD_MULTIPLE) {
        const auto found = std::make_shared<ProbeResult>();
        const bool ended = ends_within(longest, [found, own] { *found = probe(own); });
        const Problem hanging =
            first_problem(request.communicator,
                          ended ? std::string{}
                                : fmt::format("{} had not returned after {} s", WindowTrial::call_under_way(),
                                              std::chrono::duration_cast<std::chrono::seconds>(longest).count()));
        if (!hanging.text.empty())
            return {.works = false,
                    .reason = fmt::format("on rank {} {}", hanging.rank, hanging.text),
                    .hangs = true,
                    .taken = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin)};
        result = std::move(*found);
    } else {
        result = probe(own);
    }
    MPI_Comm_free(&own.communicator);
    result.taken = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
    return result;
}

bool probe_shared_windows(MPI_Comm node) {
    MPI_Win window = MPI_WIN_NULL;
    void* memory = nullptr;
    const int code = MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, node, &memory, &window);
    const bool works = all_agree(node, code == MPI_SUCCESS);
    if (works) MPI_Win_free(&window);
    return works;
}

} // namespace lapwing::detail::mpi
