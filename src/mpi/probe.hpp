#pragma once

#include "src/mpi/topology.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace lapwing::mpi {

struct ProbeResult {
    bool works = false;
    std::string reason; ///< why not, for the report
    /// Between some ranks one more get takes longer than one more message to a progress thread: MPI emulates windows.
    bool emulated = false;
    /// Gets and puts between nodes complete while their target computes outside MPI, as where a network adapter carries them out.
    bool target_idle = false;
};

/// Sleeps so long, while the progress thread of this process makes no round. `asleep`, if any, is 1 meanwhile, and 0 before and after.
using SleepOutsideMpi = void (*)(std::chrono::microseconds time, std::int64_t* asleep);

/// Collective. Whether MPI windows between the nodes of `communicator` can be created and read. Prints nothing.
/// Open MPI between hosts that are joined by TCP alone has none by default (MPI_Win_allocate fails with MPI_ERR_WIN).
[[nodiscard]] ProbeResult probe_windows(MPI_Comm communicator, const Topology& topology, int thread_level,
                                        SleepOutsideMpi sleep_outside_mpi);

/// Whether MPI's atomics must not be used between ranks of one machine. Open MPI 4.1.4: osc/rdma over btl/vader crashes in
/// MPI_Compare_and_swap of 8 bytes, at any target (mca_btl_vader_emu_acswap uses an endpoint that is not there). Its
/// MPI_Fetch_and_op works, but under a lock of its own, so that the processor cannot compare and swap beside it: atomics
/// must all be of one kind.
[[nodiscard]] bool atomics_crash();

/// Collective over the ranks of a node. Whether they can share memory through MPI.
[[nodiscard]] bool probe_shared_windows(MPI_Comm node);

} // namespace lapwing::mpi
