#include <lapwing/runtime.hpp>

#include "runtime/launcher.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_state.hpp"
#include "src/support/mutex.hpp"
#include "src/team/team_registry.hpp"

#include <mpi.h>

#include <cstdlib>
#include <exception>
#include <mutex>

namespace lapwing::detail::runtime {
namespace {

support::Mutex uses_mutex{support::LockRank::mpi_use};
int uses = 0;
bool ours = false;    ///< a use initialised MPI
bool at_exit = false; ///< finalize_at_exit() is to be called

void finalize_at_exit() {
    const std::lock_guard guard{uses_mutex};
    at_exit = false;
    if (uses > 0) return; // of a static object that ends later
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && team::TeamRegistry::instance().can_finalize()) MPI_Finalize();
}

} // namespace

MpiUse::MpiUse(MPI_Comm communicator, const Settings& settings) : exceptions_at_start_{std::uncaught_exceptions()} {
    const std::lock_guard guard{uses_mutex};
    int initialized = 0;
    MPI_Initialized(&initialized);
    // Any other communicator comes from a session of the program's, so MPI_Init is left to the program.
    if (initialized == 0 && (communicator == MPI_COMM_WORLD || communicator == MPI_COMM_SELF)) {
        // A progress thread needs MPI_THREAD_MULTIPLE. Without one, ask for no more than needed: some MPI components
        // (Open MPI's osc/pt2pt) work at lower levels only.
        const int wanted = settings.text("LAPWING_PROGRESS") == "caller" ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
        int provided = 0;
        support::check_mpi(MPI_Init_thread(nullptr, nullptr, wanted, &provided), "MPI_Init_thread");
        ours = true;
    }
    if (support::mpi_world_open()) warn_of_other_launcher();
    ++uses;
}

MpiUse::~MpiUse() {
    const std::lock_guard guard{uses_mutex};
    if (--uses > 0 || !ours) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    if (std::uncaught_exceptions() == exceptions_at_start_ && !team::TeamRegistry::instance().left_windows()) {
        MPI_Finalize();
    } else if (!at_exit) {
        at_exit = std::atexit(finalize_at_exit) == 0;
    }
}

} // namespace lapwing::detail::runtime
