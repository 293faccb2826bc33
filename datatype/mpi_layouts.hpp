#pragma once

#include <lapwing/layout.hpp>

#include <mpi.h>

#include <cstdint>

namespace lapwing::detail::datatype {

/// As Layout::from_mpi(), but looks inside a datatype once: what it finds is kept by the handle until MPI says, by
/// deleting an attribute, that the datatype was freed, so that a later one with the same handle is never taken for it.
/// For a datatype that it knows it calls no MPI function. Safe for several threads where MPI is. Throws what
/// Layout::from_mpi() throws, before anything is asked of MPI whose errors go to the program's error handler:
/// UsageError for a freed handle too, if MPI can tell (Open MPI 4.1 and MPICH 4.0 cannot, and end the program).
[[nodiscard]] Layout layout_of(MPI_Datatype type, std::uint64_t count);

} // namespace lapwing::detail::datatype
