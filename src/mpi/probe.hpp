#pragma once

#include "src/mpi/topology.hpp"
#include "src/mpi/trusted_atomics.hpp"
#include "src/mpi/window_trial.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace lapwing::detail::mpi {

/// How a window comes to its memory: MPIs have separate code for each.
enum class WindowKind : std::uint8_t { allocated, created, shared };

struct ProbeResult {
    bool works = false;
    std::string reason; ///< why not, for the report
    /// Between some ranks one more operation takes longer than one more message to a progress thread: MPI emulates
    /// windows.
    bool emulated = false;
    /// Gets and puts between nodes complete while their target computes outside MPI, as where a network adapter carries
    /// them out.
    bool target_idle = false;
    TrustedAtomics atomics = {}; ///< none where they were not tried
    std::string doubt = {};      ///< the first atomic that is not trusted, and why
    bool hangs = false;          ///< an operation did not return: a thread is in MPI for good, and a window stays
    std::chrono::microseconds taken{};
};

struct ProbeRequest {
    MPI_Comm communicator = MPI_COMM_NULL;
    std::shared_ptr<const Topology> topology; ///< of the communicator
    int thread_level = MPI_THREAD_SINGLE;
    SleepOutsideMpi sleep_outside_mpi = nullptr;
    WindowKind kind = WindowKind::allocated;
    /// The windows will be used, also where messages are faster; else the trial ends where it finds that.
    bool emulated_too = false;
};

/// Collective. Tries MPI's windows between the ranks of a communicator, with a window of its own: whether it can be
/// created, and what WindowTrial tries. The result is the same on all ranks. Prints nothing. Open MPI 4.1 between hosts
/// that are joined by TCP alone has none by default (MPI_Win_allocate fails with MPI_ERR_WIN).
///
/// Under MPI_THREAD_MULTIPLE a call of MPI's that does not return within twenty seconds is given up, with the thread
/// that is in it.
[[nodiscard]] ProbeResult probe_windows(const ProbeRequest& request);

/// Collective over the ranks of a node. Whether they can share memory through MPI.
[[nodiscard]] bool probe_shared_windows(MPI_Comm node);

} // namespace lapwing::detail::mpi
