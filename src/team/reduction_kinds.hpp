#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace lapwing::detail::team {

/// A datatype and an operation of MPI, as ranks compare them: handles differ between processes.
struct ReductionKind {
    std::uint64_t type = 0;
    std::uint64_t operation = 0;
    /// Whether MPI_Reduce_local can combine such values: it has no communicator, so that an error in it ends the job.
    bool combines_locally = false;
    /// A minimum or maximum of unsigned integers.
    bool orders_naturals = false;

    /// Types of one representation, such as MPI_INT and MPI_INT32_T, are the same.
    [[nodiscard]] static ReductionKind of(MPI_Datatype type, MPI_Op operation, MPI_Aint extent);
};

/// "int64", "double"; or the name that MPI or the program has given it.
[[nodiscard]] std::string text_of_type(MPI_Datatype type);
/// "MPI_SUM", or "an operation of the program's".
[[nodiscard]] std::string text_of_operation(MPI_Op operation);

} // namespace lapwing::detail::team
