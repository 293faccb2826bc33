#pragma once

#include <lapwing/layout.hpp>

#include <mpi.h>

#include <cstdint>

namespace lapwing::datatype {

/// As Layout::from_mpi(), but looks inside a datatype once: what it finds stays with the datatype, as an attribute that MPI
/// deletes when the datatype is freed, so that a later datatype with the same handle is never taken for it. Safe for several
/// threads where MPI is. Throws what Layout::from_mpi() throws; a datatype that it knows is not asked again whether it is
/// committed, since nothing takes that back.
[[nodiscard]] Layout layout_of(MPI_Datatype type, std::uint64_t count);

} // namespace lapwing::datatype
