#include "src/mpi/processors.hpp"

#include "src/support/mpi_error.hpp"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace lapwing::mpi {
namespace {

using support::check_mpi;

/// For each processor, by the system's number, the core that it is part of. Asked once: it takes milliseconds.
const std::vector<int>& core_of_processor() {
    static const std::vector<int> cores = [] {
        std::vector<int> found;
        hwloc_topology_t topology = nullptr;
        if (hwloc_topology_init(&topology) != 0) return found;
        if (hwloc_topology_load(topology) == 0) {
            for (hwloc_obj_t unit = nullptr; (unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != nullptr;) {
                const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
                if (found.size() <= unit->os_index) found.resize(unit->os_index + 1, -1);
                found[unit->os_index] = static_cast<int>((core != nullptr ? core : unit)->logical_index);
            }
        }
        hwloc_topology_destroy(topology);
        return found;
    }();
    return cores;
}

/// Cores with a processor of the set, of those that the operating system lets this job use; of all for an empty set.
int count_cores(const cpu_set_t& set) {
    std::set<int> cores;
    const std::vector<int>& all = core_of_processor();
    const bool any = CPU_COUNT(&set) == 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] >= 0 && (any || CPU_ISSET(i, &set))) cores.insert(all[i]);
    return std::max(1, static_cast<int>(cores.size()));
}

/// Where a process may run; empty if that is not known.
cpu_set_t affinity(pid_t process) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(process, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
}

/// Ranks of the job on this machine, as Open MPI's and MPICH's launchers tell; 0 if they do not.
int launched_ranks() {
    int ranks = 0;
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
        if (const char* const text = std::getenv(name)) {
            const std::string_view digits{text};
            std::from_chars(digits.data(), digits.data() + digits.size(), ranks);
        }
    return ranks;
}

} // namespace

Processors::Processors(MPI_Comm machine) {
    check_mpi(MPI_Comm_size(machine, &ranks_), "MPI_Comm_size");
    ranks_ = std::max(ranks_, launched_ranks());

    // Of the main thread: the calling one may be bound more closely, by OpenMP for example.
    const cpu_set_t own = affinity(getpid());
    cpu_set_t taken = own; // by any rank of this machine
    constexpr std::size_t words = sizeof(cpu_set_t) / sizeof(unsigned long);
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &taken, static_cast<int>(words), MPI_UNSIGNED_LONG, MPI_BOR, machine), "MPI_Allreduce");

    // Whoever started this process was bound by whoever limits the job (taskset, a container), not by the launcher.
    const cpu_set_t job = affinity(getppid());
    cpu_set_t usable;
    CPU_OR(&usable, &taken, &job);
    cores_ = count_cores(usable);
    if (CPU_COUNT(&own) == 0) return;
    cpu_set_t free;
    CPU_XOR(&free, &usable, &taken);
    CPU_OR(&for_progress_, &own, &free);
}

} // namespace lapwing::mpi
