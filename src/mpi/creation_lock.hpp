#pragma once

#include "src/mpi/topology.hpp"

#include <mpi.h>

#include <chrono>
#include <string>

namespace lapwing::detail::mpi {

/// A name on the machine (or in a part of it with its own socket names) that one process holds at a time; it is
/// released when the process ends.
class MachineName {
public:
    explicit MachineName(std::string name) : name_{std::move(name)} {}
    ~MachineName() { give_back(); }
    MachineName(const MachineName&) = delete;
    MachineName& operator=(const MachineName&) = delete;

    /// Whether this process holds the name now, or need not try again: where names cannot be taken at all, nobody has
    /// them.
    [[nodiscard]] bool take() noexcept;
    void give_back() noexcept;
    [[nodiscard]] const std::string& text() const noexcept { return name_; }

private:
    std::string name_;
    int socket_ = -1;
};

/// Keeps disjoint communicators from creating MPI windows on one machine at the same time, for a scope.
///
/// Open MPI 4.1.4's osc/rdma names the file through which the ranks of a machine join a window after the communicator's
/// number alone, and disjoint communicators share numbers: windows made at the same time fail with MPI_ERR_WIN or meet
/// the others' memory (open-mpi/ompi#7393). The first rank of each machine holds a name of that machine meanwhile (see
/// machine_locks.hpp). Nothing is done with other MPIs, nor for all the ranks of MPI_COMM_WORLD, which leave nobody
/// else. Without MPI_Init, what other ranks there are is not known.
class CreationLock {
public:
    /// Collective over `communicator`, whose topology it takes. Costs a barrier and a reduction, and where other teams
    /// create windows, waits for them: at most half a minute, after which a line on stderr says so, once, and it
    /// continues without the lock.
    CreationLock(MPI_Comm communicator, const Topology& topology);
    CreationLock(const CreationLock&) = delete;
    CreationLock& operator=(const CreationLock&) = delete;

    /// How long the constructor may wait for other teams. Alike on all ranks.
    [[nodiscard]] static std::chrono::milliseconds longest_wait(MPI_Comm communicator);

    /// Collective. Releases the lock: the window exists on all ranks.
    void end();

private:
    MPI_Comm communicator_ = MPI_COMM_NULL; ///< MPI_COMM_NULL: there is nothing to end
    MachineName name_;
};

} // namespace lapwing::detail::mpi
