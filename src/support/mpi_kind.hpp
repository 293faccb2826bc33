#pragma once

#include <mpi.h>

namespace lapwing::detail::support {

/// Which MPI this is, or is derived from. What is known of one is assumed for those derived from it.
enum class MpiKind { open_mpi, mpich, other };

// The only place that distinguishes them by names from mpi.h; CMake asks it, too (cmake/LapwingDependencies.cmake).
// MPIs derived from Open MPI (IBM's, NVIDIA's, Bull's) have its name. Those derived from MPICH have names of their own,
// and some do not define MPICH's version: MVAPICH 2, MVAPICH 3, Intel MPI and Cray MPICH.
#if defined(OPEN_MPI)
inline constexpr MpiKind mpi_kind = MpiKind::open_mpi;
#elif defined(MPICH_VERSION) || defined(MPICH_NAME) || defined(MVAPICH2_VERSION) || defined(MVAPICH_VERSION) || \
    defined(I_MPI_VERSION) || defined(CRAY_MPICH_VERSION)
inline constexpr MpiKind mpi_kind = MpiKind::mpich;
#else
inline constexpr MpiKind mpi_kind = MpiKind::other;
#endif

} // namespace lapwing::detail::support
