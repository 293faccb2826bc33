#include "src/support/mpi_state.hpp"

#include "src/support/mpi_kind.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

namespace lapwing::detail::support {

bool mpi_has_sessions() noexcept {
#ifdef LAPWING_MPI_HAS_SESSIONS
    return true;
#else
    return false;
#endif
}

bool mpi_world_open() noexcept {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

void require_mpi(std::string_view call) {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (finalized == 0 && (initialized != 0 || mpi_has_sessions())) return;
    throw UsageError{fmt::format("{}: MPI is {}; make this call between MPI_Init and MPI_Finalize", call,
                                 initialized == 0 ? "not initialized" : "finalized already")};
}

int mpi_thread_level() noexcept {
    int level = MPI_THREAD_SINGLE;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return level; // Open MPI ends the program in MPI_Query_thread
    if constexpr (mpi_kind == MpiKind::other) {
        // A session tells its level to those who have the session: MPI_Query_thread belongs to MPI_Init.
        if (!mpi_world_open()) return level;
    }
    // Without MPI_Init, MPICH 4.0.2 and 4.2.1 report MPI_THREAD_MULTIPLE, which is right whatever a session asks for.
    // Open MPI 5.0.7 reports MPI_THREAD_SINGLE whatever level a session got.
    if (MPI_Query_thread(&level) != MPI_SUCCESS) level = MPI_THREAD_SINGLE;
    return level;
}

} // namespace lapwing::detail::support
