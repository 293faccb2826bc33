#pragma once

#include "window/topology.hpp"

#include <mpi.h>

#include <string>

namespace lapwing::window {

struct ProbeResult {
    bool works = false;
    std::string reason; ///< why not, for the report
};

/// Collective. Whether MPI windows between the nodes of `communicator` can be created and read. Prints nothing.
/// Open MPI between hosts that are joined by TCP alone has none by default (MPI_Win_allocate fails with MPI_ERR_WIN).
[[nodiscard]] ProbeResult probe_windows(MPI_Comm communicator, int thread_level);

/// Collective over the ranks of a node. Whether they can share memory through MPI.
[[nodiscard]] bool probe_shared_windows(MPI_Comm node);

} // namespace lapwing::window
