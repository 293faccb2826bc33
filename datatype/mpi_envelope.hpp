#pragma once

#include "src/support/mpi_error.hpp"

#include <mpi.h>

namespace lapwing::detail::datatype {

// With MPI 4 a type may have been made with large counts, and only the calls with large counts can then look inside.
#if MPI_VERSION >= 4
using Count = MPI_Count;
#else
using Count = int;
#endif

/// How a datatype was made. Every question about it is asked by this one.
struct Envelope {
    Count integers = 0;
    Count addresses = 0;
    Count large = 0;
    Count types = 0;
    int combiner = MPI_COMBINER_NAMED;

    explicit Envelope(MPI_Datatype type) {
#if MPI_VERSION >= 4
        support::check_mpi(MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner),
                           "MPI_Type_get_envelope_c");
#else
        support::check_mpi(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner),
                           "MPI_Type_get_envelope");
#endif
    }

    /// The unnamed types of Fortran are predefined too, and not ours to free (MPI 3.1, section 4.1.13).
    [[nodiscard]] bool is_predefined() const noexcept {
        return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
               combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
    }
};

} // namespace lapwing::detail::datatype
