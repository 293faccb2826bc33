#pragma once

#include <lapwing/layout.hpp>

#include <mpi.h>

#include <cstdint>

namespace lapwing::detail::datatype {

/// Like Layout::from_mpi(), but looks inside a datatype only once: the result is kept by the handle until MPI reports,
/// by deleting an attribute, that the datatype was freed, so that a later one with the same handle is never mistaken
/// for it. For a known datatype it calls no MPI function. Thread-safe where MPI is. Throws what Layout::from_mpi()
/// throws, before any MPI call whose errors go to the program's error handler: UsageError for a freed handle too, if
/// MPI can tell (Open MPI 4.1 and MPICH 4.0 cannot, and end the program).
[[nodiscard]] Layout layout_of(MPI_Datatype type, std::uint64_t count);

} // namespace lapwing::detail::datatype
