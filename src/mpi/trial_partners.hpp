#pragma once

#include "src/mpi/topology.hpp"

#include <mpi.h>

namespace lapwing::detail::mpi {

/// The rank that this one works on, and the one that works on it. MPI_PROC_NULL: there is none.
struct Partners {
    int to = MPI_PROC_NULL;
    int from = MPI_PROC_NULL;

    [[nodiscard]] bool exist() const noexcept { return to != MPI_PROC_NULL || from != MPI_PROC_NULL; }
    [[nodiscard]] Partners reversed() const noexcept { return {from, to}; }
};

/// Who tries windows with whom. All ranks are put in a row, node after node; if the largest node has n, the rank n
/// places on is never of the same node, unless one node has more than half of all ranks. So every rank works on one of
/// another node, and one of another node works on it. If nodes are of one size, these are the ranks at its own place on
/// the next and the previous node.
struct TrialPartners {
    Partners between_nodes; ///< forwards in the row; and reversed, where that is another rank
    Partners in_node;       ///< the next and the previous member of the node
    bool both_ways = false; ///< some rank has two partners on other nodes; alike on all ranks
    /// In this one of `turns` the rank works on one that is outside MPI; in no turn do both work.
    int turn = 0;
    int turns = 2;
};

/// Collective.
[[nodiscard]] TrialPartners find_trial_partners(MPI_Comm communicator, const Topology& topology);

} // namespace lapwing::detail::mpi
