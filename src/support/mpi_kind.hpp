#pragma once

#include <mpi.h>

namespace lapwing::detail::support {

/// Which MPI this is, or was made from. What holds for one of them holds for those made from it until the contrary is
/// seen.
enum class MpiKind { open_mpi, mpich, other };

// The one place that tells them apart by names from mpi.h, which CMake asks, too (cmake/LapwingDependencies.cmake).
// MPIs made from Open MPI (IBM's, NVIDIA's, Bull's) have its name. Those made from MPICH have names of their own, and
// some have not kept MPICH's version, which is not theirs: MVAPICH 2, MVAPICH 3, Intel MPI and Cray MPICH.
#if defined(OPEN_MPI)
inline constexpr MpiKind mpi_kind = MpiKind::open_mpi;
#elif defined(MPICH_VERSION) || defined(MPICH_NAME) || defined(MVAPICH2_VERSION) || defined(MVAPICH_VERSION) || \
    defined(I_MPI_VERSION) || defined(CRAY_MPICH_VERSION)
inline constexpr MpiKind mpi_kind = MpiKind::mpich;
#else
inline constexpr MpiKind mpi_kind = MpiKind::other;
#endif

} // namespace lapwing::detail::support
