#pragma once

#include "src/support/mpi_kind.hpp"

#include <functional>
#include <string>

namespace lapwing::detail::runtime {

/// Reports on stderr, once, that this program was started by a launcher that its MPI does not understand: its ranks
/// then do not find each other, and each runs as if it were alone. The first of the started processes that knows
/// reports it. MPI is initialised.
void warn_of_other_launcher() noexcept;

/// The line for that, or nothing if launcher and MPI agree or another process reports it. `variable` looks up the
/// environment of this process, and returns null for a variable that is not set; `size` is that of MPI_COMM_WORLD.
[[nodiscard]] std::string other_launcher(const std::function<const char*(const char*)>& variable, support::MpiKind own,
                                         int size);

} // namespace lapwing::detail::runtime
