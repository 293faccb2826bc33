#pragma once

#include <mpi.h>

#include <string_view>

namespace lapwing::detail::support {

/// Whether this MPI has sessions (MPI 4.0, section 11.3), found when Lapwing is configured: Open MPI 5.0 has them and
/// says that it is MPI 3.1.
[[nodiscard]] bool mpi_has_sessions() noexcept;

/// Between MPI_Init and MPI_Finalize. Outside, only communicators that come from sessions can be used: MPI_COMM_WORLD,
/// MPI_COMM_SELF and their attributes do not exist (MPI 4.0, section 11.2), and Open MPI 5.0.7 crashes in calls on
/// them.
[[nodiscard]] bool mpi_world_open() noexcept;

/// Throws UsageError unless MPI, or a session, can be open: MPI ends a program that asks about a datatype before or
/// after. `call` begins the message.
void require_mpi(std::string_view call);

/// MPI's thread level, MPI_THREAD_SINGLE where MPI cannot tell.
[[nodiscard]] int mpi_thread_level() noexcept;

} // namespace lapwing::detail::support
