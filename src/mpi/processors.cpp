#include "src/mpi/processors.hpp"

#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

namespace lapwing::detail::mpi {
namespace {

using support::check_mpi;

/// Processors that the system lets this job use, whatever its processes are bound to: a cgroup may have fewer than the
/// machine. A thread that asks for all processors is given these; empty if that is not known.
cpu_set_t permitted() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::thread{[&set] {
        cpu_set_t all;
        std::memset(&all, 0xff, sizeof all);
        if (sched_setaffinity(0, sizeof all, &all) != 0 || sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    }}.join();
    return set;
}

/// For each processor that the job may use, by the system's number, its core; -1 for others. Computed once: it reads
/// many files.
const std::vector<int>& core_of_processor() {
    static const std::vector<int>& cores = *new std::vector<int>{[] { // never destroyed: teams may be made at exit
        std::vector<int> found = cores_of_processors("/sys/devices/system/cpu");
        const cpu_set_t ours = permitted();
        for (std::size_t i = 0; i < found.size(); ++i)
            if (CPU_COUNT(&ours) != 0 && !CPU_ISSET(i, &ours)) found[i] = -1;
        return found;
    }()};
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

/// Ranks of the job on this machine, as the launchers of Open MPI, MPICH (Intel MPI's, too) and MVAPICH 2 and 3 say; 0
/// if they do not.
int launched_ranks() {
    int ranks = 0;
    for (const char* name :
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE", "MVP_COMM_WORLD_LOCAL_SIZE"})
        if (const char* const text = std::getenv(name)) {
            const std::string_view digits{text};
            std::from_chars(digits.data(), digits.data() + digits.size(), ranks);
        }
    return ranks;
}

} // namespace

std::vector<int> cores_of_processors(const std::string& directory) {
    std::vector<int> cores;
    // Numbers may have gaps, where processors are switched off.
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        std::ifstream file{fmt::format("{}/cpu{}/topology/thread_siblings_list", directory, i)};
        // "2,34" or "2-3": the processors of the core in ascending order; the first represents the core.
        int core = -1;
        if (!(file >> core)) continue;
        cores.resize(static_cast<std::size_t>(i) + 1, -1);
        cores.back() = core;
    }
    if (!cores.empty()) return cores;
    // A container may hide the files: then each processor counts as a core.
    cores.resize(static_cast<std::size_t>(std::clamp(sysconf(_SC_NPROCESSORS_CONF), 1L, long{CPU_SETSIZE})));
    std::iota(cores.begin(), cores.end(), 0);
    return cores;
}

Processors::Processors(MPI_Comm machine) {
    check_mpi(MPI_Comm_size(machine, &ranks_), "MPI_Comm_size");
    ranks_ = std::max(ranks_, launched_ranks());

    // Of the main thread: the calling one may be bound more closely, by OpenMP for example.
    const cpu_set_t own = affinity(getpid());
    cpu_set_t taken = own; // by any rank of this machine
    constexpr std::size_t words = sizeof(cpu_set_t) / sizeof(unsigned long);
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &taken, static_cast<int>(words), MPI_UNSIGNED_LONG, MPI_BOR, machine),
              "MPI_Allreduce");

    // Whatever bound the launcher (taskset, a container) limits the job; the launcher itself did not.
    const cpu_set_t job = affinity(getppid());
    cpu_set_t usable;
    CPU_OR(&usable, &taken, &job);
    cores_ = count_cores(usable);
    if (CPU_COUNT(&own) == 0) return;
    cpu_set_t free;
    CPU_XOR(&free, &usable, &taken);
    CPU_OR(&for_progress_, &own, &free);
}

} // namespace lapwing::detail::mpi
