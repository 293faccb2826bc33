#pragma once

#include "window/topology.hpp"

#include <mpi.h>

namespace lapwing::window {

/// Keeps disjoint communicators from creating MPI windows on one machine at the same time, for a scope.
///
/// Open MPI 4.1.4's osc/rdma names the file through which the ranks of a machine join a window after the communicator's
/// number alone, and disjoint communicators share numbers: windows made at the same time fail with MPI_ERR_WIN or meet the
/// others' memory (open-mpi/ompi#7393). The first rank of each machine holds a name of that machine meanwhile. Nothing is
/// done with other MPIs, nor for all the ranks of MPI_COMM_WORLD, which leave nobody else.
class CreationTurn {
public:
    /// Collective over `communicator`, whose topology it takes: costs two or more reductions, and waits for the turns of others.
    CreationTurn(MPI_Comm communicator, const Topology& topology);
    ~CreationTurn();
    CreationTurn(const CreationTurn&) = delete;
    CreationTurn& operator=(const CreationTurn&) = delete;

    /// Collective. Ends the turn: the window exists on all ranks.
    void end();

private:
    [[nodiscard]] bool take() noexcept;
    void give_back() noexcept;

    MPI_Comm communicator_ = MPI_COMM_NULL; ///< MPI_COMM_NULL: there is nothing to end
    int socket_ = -1;
};

} // namespace lapwing::window
