#pragma once

#include "src/mpi/topology.hpp"
#include "src/mpi/trusted_atomics.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace lapwing::detail::mpi {

/// How a window gets its memory: MPIs have separate code for each way.
enum class WindowKind : std::uint8_t {
    allocated,
    created,             ///< over memory of this process alone
    created_over_shared, ///< over memory that the ranks of a node share (NodeMemory)
    shared
};

/// Sleeps this long, while the progress thread of this process makes no round. `asleep`, if given, is 1 meanwhile, and
/// 0 before and after.
using SleepOutsideMpi = void (*)(std::chrono::microseconds time, std::int64_t* asleep);

struct ProbeResult {
    bool works = false;
    std::string reason; ///< why not, for the report
    /// Between some ranks one more operation takes longer than one more message to a progress thread: MPI emulates
    /// windows there.
    bool emulated = false;
    /// Gets and puts between nodes complete while their target computes outside MPI, as where a network adapter carries
    /// them out.
    bool target_idle = false;
    TrustedAtomics atomics = {}; ///< none where they were not tried
    std::string doubt = {};      ///< the first atomic that is not trusted, and why
    bool hangs = false;          ///< an operation did not return: a thread is in MPI for good, and a window stays
    std::chrono::microseconds taken{};
    WindowKind kind = WindowKind::allocated; ///< of the window that was tried
    bool swaps_tried = false;                ///< false: MPI_Compare_and_swap is known to end the program
};

struct ProbeRequest {
    MPI_Comm communicator = MPI_COMM_NULL;
    std::shared_ptr<const Topology> topology; ///< of the communicator
    int thread_level = MPI_THREAD_SINGLE;
    SleepOutsideMpi sleep_outside_mpi = nullptr;
    WindowKind kind = WindowKind::allocated;
    /// The windows will be used even where messages are faster; else the trial ends as soon as it finds that they are.
    bool emulated_too = false;
    /// Without them an atomic is distrusted for wrong answers alone, not for the time it takes: messages in its place
    /// would wait for the target's next call of Lapwing, so that a program might hang on a slow day that runs on
    /// others.
    bool progress_threads = true;
    /// The windows are the program's own: without Lapwing's info keys, and of one kind, wherever MPI puts the memory.
    /// No atomic is distrusted because it is slow: the program may use it beside Lapwing's.
    bool adopted = false;
    int unit = 1; ///< of displacements: 1 or 8
    /// Of the topology's node; probe_windows() sets it.
    MPI_Comm node_communicator = MPI_COMM_NULL;
};

/// Collective. Tries MPI's windows between the ranks of a communicator, with a window of its own: whether it can be
/// created, and what WindowTrial tries. The result is the same on all ranks. Prints nothing. Open MPI 4.1 between hosts
/// that are joined by TCP alone has none by default (MPI_Win_allocate fails with MPI_ERR_WIN).
///
/// Unless the windows are adopted, memory that MPI allocates must begin at multiples of 64 on all ranks; else a created
/// window is tried in its place, as WindowMemory makes one then.
///
/// Under MPI_THREAD_MULTIPLE a trial that has not ended after ten seconds, and 20 more for 100,000 ranks, is abandoned,
/// together with its thread; with a lower level it is reported.
[[nodiscard]] ProbeResult probe_windows(const ProbeRequest& request);

} // namespace lapwing::detail::mpi
