#include <lapwing/runtime.hpp>

#include "src/runtime/launcher.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_registry.hpp"

#include <mpi.h>

#include <cstdlib>
#include <exception>
#include <mutex>

namespace lapwing::runtime {
namespace {

std::mutex sessions_mutex;
int sessions = 0;
bool ours = false;         ///< a session initialised MPI
bool at_exit = false;      ///< finalize_at_exit() is to be called

void finalize_at_exit() {
    const std::lock_guard guard{sessions_mutex};
    at_exit = false;
    if (sessions > 0) return; // of a static object that ends later
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && team::TeamRegistry::instance().can_finalize()) MPI_Finalize();
}

} // namespace

MpiSession::MpiSession(const Settings& settings) : exceptions_at_start_{std::uncaught_exceptions()} {
    const std::lock_guard guard{sessions_mutex};
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0) {
        // A progress thread needs MPI_THREAD_MULTIPLE. Without one, ask for no more than needed: some MPI components (Open
        // MPI's osc/pt2pt) work at lower levels only.
        const int wanted = settings.text("LAPWING_PROGRESS") == "caller" ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
        int provided = 0;
        support::check_mpi(MPI_Init_thread(nullptr, nullptr, wanted, &provided), "MPI_Init_thread");
        ours = true;
    }
    warn_of_other_launcher();
    ++sessions;
}

MpiSession::~MpiSession() {
    const std::lock_guard guard{sessions_mutex};
    if (--sessions > 0 || !ours) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    if (std::uncaught_exceptions() == exceptions_at_start_ && !team::TeamRegistry::instance().left_windows()) {
        MPI_Finalize();
    } else if (!at_exit) {
        at_exit = std::atexit(finalize_at_exit) == 0;
    }
}

} // namespace lapwing::runtime
