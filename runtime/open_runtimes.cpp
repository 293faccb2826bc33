#include "runtime/open_runtimes.hpp"

#include "src/support/mpi_state.hpp"
#include "src/support/mutex.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <mutex>
#include <thread>
#include <vector>

namespace lapwing::detail::runtime {
namespace {

struct OpenRuntimes {
    support::Mutex mutex{support::LockRank::leaf};
    std::vector<Runtime*> runtimes;
};

OpenRuntimes& open_runtimes() {
    static auto* const open = new OpenRuntimes; // never destroyed: runtimes may be static objects of the program
    return *open;
}

} // namespace

void add_open(Runtime& runtime) {
    OpenRuntimes& open = open_runtimes();
    const std::lock_guard guard{open.mutex};
    open.runtimes.push_back(&runtime);
}

void remove_open(const Runtime& runtime) noexcept {
    OpenRuntimes& open = open_runtimes();
    const std::lock_guard guard{open.mutex};
    std::erase(open.runtimes, &runtime);
}

Runtime* open_over_world() {
    if (!support::mpi_world_open()) return nullptr;
    OpenRuntimes& open = open_runtimes();
    const std::lock_guard guard{open.mutex};
    for (Runtime* const runtime : open.runtimes) {
        if (runtime->closed() || runtime->state().lifecycle().maker() != std::this_thread::get_id()) continue;
        int relation = MPI_UNEQUAL;
        MPI_Comm_compare(MPI_COMM_WORLD, runtime->state().communicator(), &relation);
        if (relation == MPI_CONGRUENT) return runtime;
    }
    return nullptr;
}

} // namespace lapwing::detail::runtime
