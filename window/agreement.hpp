#pragma once

#include "src/support/mpi_error.hpp"

#include <mpi.h>

namespace lapwing::window {

/// Collective. Whether `own` holds on all ranks.
[[nodiscard]] inline bool all_agree(MPI_Comm communicator, bool own) {
    int agreed = own ? 1 : 0;
    support::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &agreed, 1, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
    return agreed == 1;
}

} // namespace lapwing::window
