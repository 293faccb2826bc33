#pragma once

#include "src/mpi/probe.hpp"
#include "src/transport/window_facts.hpp"

namespace lapwing::detail::window {

/// Collective. Windows of a kind that the choice of paths has not tried are tried, the first time that a team has one.
/// Accesses go by messages where MPI's own on them do not work, and atomics are the processor's where MPI's do not; of
/// adopted windows a line of the log says so. `unit`: of displacements in an adopted one, 1 or 8.
void use_what_works(transport::WindowFacts& facts, mpi::WindowKind kind, int unit);

} // namespace lapwing::detail::window
