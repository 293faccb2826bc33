#pragma once

#include <lapwing/settings.hpp>

namespace lapwing::detail::mpi {

/// The level at which threads may call MPI: what MPI says after MPI_Init. A session tells its level only to its
/// program, which may pass it on by LAPWING_THREAD_LEVEL; without that, the level is what MPI says
/// (support::mpi_thread_level()).
[[nodiscard]] int thread_level(const Settings& settings);

} // namespace lapwing::detail::mpi
