#pragma once

#include "src/support/mpi_error.hpp"

#include <mpi.h>

namespace lapwing::detail::datatype {

/// From an offset of bytes, which may be negative, on.
struct MpiRange {
    MPI_Count lower = 0;
    MPI_Count extent = 0;
};

// By the calls of MPI 4 where MPI has them, which deprecates those of MPI 3.

/// The bytes that a datatype moves.
[[nodiscard]] inline MPI_Count mpi_size(MPI_Datatype type) {
    MPI_Count bytes = 0;
#if MPI_VERSION >= 4
    support::check_mpi(MPI_Type_size_c(type, &bytes), "MPI_Type_size_c");
#else
    support::check_mpi(MPI_Type_size_x(type, &bytes), "MPI_Type_size_x");
#endif
    return bytes;
}

/// From its lower bound on, as markers may have moved it.
[[nodiscard]] inline MpiRange mpi_extent(MPI_Datatype type) {
    MpiRange range;
#if MPI_VERSION >= 4
    support::check_mpi(MPI_Type_get_extent_c(type, &range.lower, &range.extent), "MPI_Type_get_extent_c");
#else
    support::check_mpi(MPI_Type_get_extent_x(type, &range.lower, &range.extent), "MPI_Type_get_extent_x");
#endif
    return range;
}

/// From its first byte of data to its last.
[[nodiscard]] inline MpiRange mpi_true_extent(MPI_Datatype type) {
    MpiRange range;
#if MPI_VERSION >= 4
    support::check_mpi(MPI_Type_get_true_extent_c(type, &range.lower, &range.extent), "MPI_Type_get_true_extent_c");
#else
    support::check_mpi(MPI_Type_get_true_extent_x(type, &range.lower, &range.extent), "MPI_Type_get_true_extent_x");
#endif
    return range;
}

} // namespace lapwing::detail::datatype
