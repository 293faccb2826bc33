#pragma once

#include "src/mpi/probe.hpp"
#include "src/transport/window_facts.hpp"

namespace lapwing::detail::window {

/// Collective. Windows of a kind that the choice of paths has not tried are tried, the first time that a team has one.
/// Accesses go by messages if MPI's own do not work on them, and atomics are the processor's if MPI's do not; for
/// adopted windows a line of the log says so. `unit`: of displacements in an adopted one, 1 or 8.
void use_what_works(transport::WindowFacts& facts, mpi::WindowKind kind, int unit);

} // namespace lapwing::detail::window
