#include "src/runtime/launcher.hpp"

#include "src/support/log.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace lapwing::runtime {
namespace {

/// What a launcher tells each process that it starts.
struct Launcher {
    const char* ranks; ///< variable with the number of ranks, or of those on this host
    const char* rank;  ///< variable with the process's own number
    const char* name;
};

constexpr std::array launchers{
    Launcher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's"},
    Launcher{"PMI_SIZE", "PMI_RANK", "MPICH's or one like it"},
    Launcher{"MPI_LOCALNRANKS", "MPI_LOCALRANKID", "MPICH's or one like it"},
    Launcher{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"},
};

#if defined(OPEN_MPI)
constexpr const char* own_mpi = "Open MPI";
constexpr const char* own_launcher = "mpirun.openmpi";
#elif defined(MPICH_VERSION)
constexpr const char* own_mpi = "MPICH";
constexpr const char* own_launcher = "mpirun.mpich";
#else
constexpr const char* own_mpi = "another";
constexpr const char* own_launcher = "its own mpirun";
#endif

/// -1 where there is no such number.
int number_in(const char* variable) {
    const char* const value = std::getenv(variable);
    if (value == nullptr) return -1;
    const std::string_view text{value};
    int number = -1;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && rest == text.data() + text.size() ? number : -1;
}

} // namespace

void warn_of_other_launcher() noexcept {
    static std::atomic<bool> looked{false};
    if (looked.exchange(true, std::memory_order_relaxed)) return;
    int size = 0;
    if (MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS) return;
    // One launcher may have started the other, for each of its ranks.
    for (const char* const of_all_hosts : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
        if (number_in(of_all_hosts) == size) return;
    for (const Launcher& launcher : launchers) {
        const int ranks = number_in(launcher.ranks);
        if (ranks <= size) continue;
        if (number_in(launcher.rank) > 0) return; // the first one says it
        try {
            support::log_line(fmt::format(
                "the launcher ({}: {}={}) started {} ranks, and MPI_COMM_WORLD has {}: this program was built with {}, whose ranks that "
                "launcher does not bring together, so each works alone. Start it with {} (where one MPI is installed: the mpirun beside "
                "its mpicxx), or build it with the MPI of that launcher",
                launcher.name, launcher.ranks, ranks, ranks, size, own_mpi, own_launcher));
        } catch (const std::exception&) { // no memory for a line
        }
        return;
    }
}

} // namespace lapwing::runtime
