#include "src/mpi/trial_window.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/creation_lock.hpp"
#include "src/mpi/window_info.hpp"
#include "src/mpi/window_targets.hpp"
#include "src/mpi/window_trial.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <sys/statvfs.h>

namespace lapwing::detail::mpi {
namespace {

constexpr std::uintptr_t alignment = 64;

std::string failure(int code, const char* call) {
    return code == MPI_SUCCESS ? "" : fmt::format("{} failed with {}", call, support::mpi_error_text(code));
}

bool is_aligned(const std::byte* memory) { return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0; }

} // namespace

TrialWindow::TrialWindow(const ProbeRequest& request) : request_{request}, kind_{request.kind} {
    if (!make()) return;
    // As WindowMemory does if MPI does not align its memory.
    if (kind_ == WindowKind::allocated && !request.adopted && !all_agree(request.communicator, is_aligned(memory_))) {
        MPI_Win_free(&window_);
        made_ = false;
        kind_ = WindowKind::created;
        if (!make()) return;
    }
    begin_epoch();
}

bool TrialWindow::make() {
    if (kind_ == WindowKind::created) {
        if (!map_memory()) return false;
    } else {
        if (!agrees(lack_of_memory())) return false;
        if (kind_ == WindowKind::created_over_shared && !share_memory()) return false;
    }
    if (request_.adopted) return make(MPI_INFO_NULL);
    constexpr bool same_size = true;
    return make(WindowInfo{same_size}.get());
}

bool TrialWindow::make(MPI_Info info) {
    CreationLock lock{request_.communicator, *request_.topology};
    const auto bytes = static_cast<MPI_Aint>(WindowTrial::memory_bytes);
    const char* call = "MPI_Win_create";
    int code = MPI_SUCCESS;
    if (kind_ == WindowKind::allocated) {
        call = "MPI_Win_allocate";
        WindowTrial::call_under_way() = call;
        code = MPI_Win_allocate(bytes, request_.unit, info, request_.communicator, &memory_, &window_);
    } else if (kind_ == WindowKind::shared) {
        call = "MPI_Win_allocate_shared";
        WindowTrial::call_under_way() = call;
        code = MPI_Win_allocate_shared(bytes, request_.unit, info, request_.communicator, &memory_, &window_);
    } else {
        WindowTrial::call_under_way() = call;
        code = MPI_Win_create(memory_, bytes, request_.unit, info, request_.communicator, &window_);
    }
    // A window that was created but cannot be used is kept: freeing it is collective.
    made_ = agrees(failure(code, call));
    lock.end();
    return made_;
}

bool TrialWindow::share_memory() {
    const NodeSource source = request_.topology->node_source();
    WindowTrial::call_under_way() = source == NodeSource::mpi ? "MPI_Win_allocate_shared" : "MPI_Allgather";
    const std::string problem = shared_.make(request_.node_communicator, source, WindowTrial::memory_bytes + alignment);
    has_shared_ = agrees(problem);
    if (!has_shared_) {
        if (source == NodeSource::own) shared_.close();
        return false;
    }
    std::byte* const start = shared_.bases()[static_cast<std::size_t>(request_.topology->node_rank())];
    memory_ = start + (alignment - reinterpret_cast<std::uintptr_t>(start) % alignment) % alignment;
    return true;
}

/// Both MPIs put memory that ranks of a machine share in files of /dev/shm. MPICH does not reserve it, and a write to
/// what is not there is a SIGBUS; see memory_limit() of window/window_memory.cpp.
std::string TrialWindow::lack_of_memory() const {
    const auto ranks = static_cast<std::uint64_t>(request_.topology->ranks_of_machine());
    const bool own = kind_ == WindowKind::created_over_shared && request_.topology->node_source() == NodeSource::own;
    if (ranks == 1 || own) return {};
    const std::uint64_t needed = ranks * (WindowTrial::memory_bytes + alignment);
    struct statvfs file_system{};
    if (statvfs("/dev/shm", &file_system) != 0 || file_system.f_blocks == 0) return {};
    const std::uint64_t available = static_cast<std::uint64_t>(file_system.f_bavail) * file_system.f_frsize;
    if (needed <= available) return {};
    return fmt::format(
        "windows were not tried: its machine's {} ranks need {} bytes of /dev/shm for that, and {} are free; make it "
        "larger (in a container: --shm-size; else mount -o remount,size=… /dev/shm)",
        ranks, needed, available);
}

bool TrialWindow::map_memory() {
    void* const mapping =
        mmap(nullptr, WindowTrial::memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped_ = mapping != MAP_FAILED;
    memory_ = mapped_ ? static_cast<std::byte*>(mapping) : nullptr;
    return agrees(mapped_ ? ""
                          : fmt::format("{} bytes of memory cannot be mapped ({})", WindowTrial::memory_bytes,
                                        std::strerror(errno)));
}

void TrialWindow::begin_epoch() {
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    int ranks = 0;
    int rank = 0;
    MPI_Comm_size(request_.communicator, &ranks);
    MPI_Comm_rank(request_.communicator, &rank);
    const char* call = "MPI_Win_lock";
    WindowTrial::call_under_way() = call;
    int code = WindowTargets::enter(window_, ranks, rank);
    if (code == MPI_SUCCESS) {
        call = "MPI_Win_lock_all";
        WindowTrial::call_under_way() = call;
        code = MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
        locked_ = code == MPI_SUCCESS;
    }
    if (!agrees(failure(code, call))) return;
    // With two copies of the memory, a rank's loads and stores would need calls around them that others cannot make.
    void* model = nullptr;
    int has_model = 0;
    MPI_Win_get_attr(window_, MPI_WIN_MODEL, &model, &has_model);
    const bool unified = has_model != 0 && *static_cast<int*>(model) == MPI_WIN_UNIFIED;
    agrees(unified ? "" : "the memory model of MPI's windows is MPI_WIN_SEPARATE");
}

bool TrialWindow::agrees(const std::string& problem) {
    WindowTrial::call_under_way() = "a collective call of the trial";
    const Problem first = first_problem(request_.communicator, problem);
    if (!first.text.empty()) problem_ = fmt::format("on rank {} {}", first.rank, first.text);
    return first.text.empty();
}

std::string TrialWindow::end() {
    bool unlocked = true;
    if (made_) {
        WindowTrial::call_under_way() = "MPI_Win_unlock_all";
        const int code = locked_ ? MPI_Win_unlock_all(window_) : MPI_SUCCESS;
        unlocked = agrees(failure(code, "MPI_Win_unlock_all"));
        WindowTrial::call_under_way() = "MPI_Win_free";
        MPI_Win_free(&window_);
    }
    WindowTrial::call_under_way() = "MPI_Win_free";
    if (window_ != MPI_WIN_NULL) unfreed_.fetch_add(1);
    // Freeing is collective: a window that some ranks alone have stays, and its memory with it.
    if (!all_agree(request_.communicator, window_ == MPI_WIN_NULL)) return "";
    if (has_shared_) shared_.close();
    if (mapped_) munmap(memory_, WindowTrial::memory_bytes);
    return unlocked ? "" : problem_;
}

} // namespace lapwing::detail::mpi
