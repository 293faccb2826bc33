#pragma once

#include "src/support/mpi_error.hpp"

#include <mpi.h>

#include <span>
#include <type_traits>
#include <vector>

namespace lapwing::detail::mpi {

/// Collective. On rank 0 the values of all ranks, in the order of the ranks; nothing elsewhere. Each has as many: at
/// most 2^31 bytes.
template <class T>
    requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::vector<T> gather(MPI_Comm communicator, std::span<const T> own) {
    int rank = 0;
    int size = 0;
    support::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    support::check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    std::vector<T> all(rank == 0 ? own.size() * static_cast<std::size_t>(size) : 0);
    const int bytes = static_cast<int>(own.size_bytes());
    support::check_mpi(MPI_Gather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, 0, communicator),
                       "MPI_Gather");
    return all;
}

/// Collective. Rank r gets value r of those that rank 0 passes; the arguments of others are not read.
[[nodiscard]] inline int scatter(MPI_Comm communicator, std::span<const int> values) {
    int own = 0;
    support::check_mpi(MPI_Scatter(values.data(), 1, MPI_INT, &own, 1, MPI_INT, 0, communicator), "MPI_Scatter");
    return own;
}

} // namespace lapwing::detail::mpi
