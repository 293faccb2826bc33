#pragma once

#include "src/support/mpi_kind.hpp"

#include <functional>
#include <string>

namespace lapwing::detail::runtime {

/// Says on stderr, once, that this program was started by a launcher that its MPI does not understand: its ranks do not
/// find each other then, and each runs as if it were alone. Of all processes that were started the first one that knows
/// says it. MPI is initialised.
void warn_of_other_launcher() noexcept;

/// The line for that, or nothing where launcher and MPI agree or another process says it. `variable` looks into the
/// environment of this process, and gives a null pointer for what is not there; `size` is that of MPI_COMM_WORLD.
[[nodiscard]] std::string other_launcher(const std::function<const char*(const char*)>& variable, support::MpiKind own,
                                         int size);

} // namespace lapwing::detail::runtime
