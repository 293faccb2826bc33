#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdint>

namespace test {

/// Collective over MPI_COMM_WORLD, with nothing under way: a number for the names of a run's files, the same on all
/// ranks, which no concurrent run on the machine has.
[[nodiscard]] inline std::int64_t run_number() {
    std::int64_t number = getpid();
    MPI_Bcast(&number, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return number;
}

} // namespace test
