#pragma once

#include <lapwing/settings.hpp>

namespace lapwing::detail::mpi {

/// The level at which threads may call MPI: what MPI says after MPI_Init. A session tells its level to nobody but its
/// program, which may say it by LAPWING_THREAD_LEVEL; without, it is what MPI says all the same
/// (support::mpi_thread_level()).
[[nodiscard]] int thread_level(const Settings& settings);

} // namespace lapwing::detail::mpi
