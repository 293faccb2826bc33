#pragma once

#include <lapwing/layout.hpp>

#include <mpi.h>

namespace lapwing::detail::datatype {

/// One element of a datatype, as Layout::from_mpi() says, found by looking inside it. What it throws it throws before
/// any MPI call whose errors go to the program's error handler: UsageError for a freed handle too, if MPI can tell
/// (Open MPI 4.1 and MPICH 4.0 cannot, and end the program).
[[nodiscard]] Layout look_inside(MPI_Datatype type);

} // namespace lapwing::detail::datatype
