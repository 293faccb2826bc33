#include "runtime/launcher.hpp"

#include "src/support/log.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace lapwing::detail::runtime {
namespace {

using support::MpiKind;

/// What a launcher tells each process that it starts.
struct Launcher {
    const char* ranks; ///< variable with the number of ranks, or of those on this host; null: it tells no number
    const char* rank;  ///< variable with the process's own number
    const char* name;
    const char*
        beside; ///< variable that this launcher sets as well, and others that set `ranks` do not; null: there is none
};

constexpr const char* hydra = "MPICH's or one like it";

// A launcher may have been started inside a job step of srun, which therefore comes last. Hydra and srun both set
// PMI_SIZE.
constexpr std::array launchers{
    Launcher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's", nullptr},
    Launcher{"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MVAPICH's", nullptr},
    Launcher{"MVP_COMM_WORLD_SIZE", "MVP_COMM_WORLD_RANK", "MVAPICH's", nullptr},
    Launcher{"PMI_SIZE", "PMI_RANK", hydra, "MPI_LOCALNRANKS"},
    Launcher{"MPI_LOCALNRANKS", "MPI_LOCALRANKID", hydra, nullptr},
    Launcher{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", nullptr},
    Launcher{"PMI_SIZE", "PMI_RANK", "one that speaks PMI", nullptr},
    Launcher{nullptr, "PALS_RANKID", "PALS's", nullptr},
    Launcher{nullptr, "ALPS_APP_PE", "aprun", nullptr},
    Launcher{nullptr, "PMIX_RANK", "one that speaks PMIx", nullptr},
};

struct Own {
    const char* name;
    const char* launcher;
    const char* srun; ///< what makes srun one of its launchers
};

constexpr Own own_of(MpiKind kind) {
    switch (kind) {
    case MpiKind::open_mpi: return {"Open MPI", "mpirun.openmpi", "srun --mpi=pmix"};
    case MpiKind::mpich: return {"MPICH", "mpirun.mpich", "srun --mpi=pmi2"};
    case MpiKind::other: break;
    }
    return {"another", "its own mpirun", "another kind of srun --mpi="};
}

/// -1 if there is no such number.
int number_in(const char* value) {
    if (value == nullptr) return -1;
    const std::string_view text{value};
    int number = -1;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && rest == text.data() + text.size() ? number : -1;
}

/// Whether a launcher agrees with MPI on this world. One launcher may have started another for each of its ranks. A
/// foreign launcher of a world of one rank proves nothing: mpirun may be called in a shell in a job step of one task.
bool confirmed(const std::function<const char*(const char*)>& variable, MpiKind own, int size) {
    constexpr std::array sizes{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE",
                               "SLURM_STEP_NUM_TASKS"};
    for (const std::string_view name : sizes) {
        if (number_in(variable(name.data())) != size) continue;
        if (size > 1) return true;
        if (name == "SLURM_STEP_NUM_TASKS") continue;
        if (own == MpiKind::other || (name == "OMPI_COMM_WORLD_SIZE") == (own == MpiKind::open_mpi)) return true;
    }
    return false;
}

} // namespace

std::string other_launcher(const std::function<const char*(const char*)>& variable, MpiKind kind, int size) {
    if (confirmed(variable, kind, size)) return {};
    const Own own = own_of(kind);
    for (const Launcher& launcher : launchers) {
        if (launcher.beside != nullptr && variable(launcher.beside) == nullptr) continue;
        const int rank = number_in(variable(launcher.rank));
        if (launcher.ranks == nullptr) {
            if (rank < size) continue;
            // Reported by the first process whose number is outside of its world.
            if (rank > size) return {};
            return fmt::format("the launcher ({}: {}={}) started at least {} ranks, and MPI_COMM_WORLD has {}: this "
                               "program was built with {}, whose "
                               "ranks that launcher does not bring together, so each works alone. Start it with {} or "
                               "{}, or build it with the MPI of "
                               "that launcher",
                               launcher.name, launcher.rank, rank, rank + 1, size, own.name, own.launcher, own.srun);
        }
        const int ranks = number_in(variable(launcher.ranks));
        if (ranks <= size) continue;
        if (rank > 0) return {}; // the first one says it
        const std::string what = fmt::format("the launcher ({}: {}={}) started {} ranks, and MPI_COMM_WORLD has {}: "
                                             "this program was built with {}, whose ranks that "
                                             "launcher does not bring together, so each works alone. ",
                                             launcher.name, launcher.ranks, ranks, ranks, size, own.name);
        if (launcher.name == std::string_view{"srun"})
            return what +
                   fmt::format(
                       "Start it with {} (srun --mpi=list names the kinds that there are), or inside the job with {}",
                       own.srun, own.launcher);
        return what + fmt::format("Start it with {} (where one MPI is installed: the mpirun beside its mpicxx), or "
                                  "build it with the MPI of that "
                                  "launcher",
                                  own.launcher);
    }
    return {};
}

void warn_of_other_launcher() noexcept {
    static std::atomic<bool> looked{false};
    if (looked.exchange(true, std::memory_order_relaxed)) return;
    int size = 0;
    if (MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS) return;
    try {
        const std::string line =
            other_launcher([](const char* name) { return std::getenv(name); }, support::mpi_kind, size);
        if (!line.empty()) support::log_line(line);
    } catch (const std::exception&) { // no memory for a line
    }
}

} // namespace lapwing::detail::runtime
