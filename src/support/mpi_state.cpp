#include "src/support/mpi_state.hpp"

#include "src/support/mpi_kind.hpp"

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

int mpi_thread_level() noexcept {
    int level = MPI_THREAD_SINGLE;
    if constexpr (mpi_kind == MpiKind::other) {
        // A session says its own level, to whoever has the session: MPI_Query_thread is part of MPI_Init's model.
        if (!mpi_world_open()) return level;
    }
    // Without MPI_Init, MPICH 4.0.2 and 4.2.1 say MPI_THREAD_MULTIPLE, which they work at whatever a session asks for.
    // Open MPI 5.0.7 says MPI_THREAD_SINGLE whatever a session has been given.
    if (MPI_Query_thread(&level) != MPI_SUCCESS) level = MPI_THREAD_SINGLE;
    return level;
}

} // namespace lapwing::detail::support
