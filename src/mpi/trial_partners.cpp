#include "src/mpi/trial_partners.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/mpi_error.hpp"

#include <algorithm>
#include <cstddef>

namespace lapwing::detail::mpi {
namespace {

using support::check_mpi;

/// The ranks `step` places on and back, where they do not lie in the row as they are numbered; `place` becomes this
/// rank's.
Partners ask_for_partners(MPI_Comm communicator, const Topology& topology, int rank, int step, int& place) {
    MPI_Comm row = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(communicator, 0, topology.members().front(), &row), "MPI_Comm_split");
    int size = 0;
    MPI_Comm_size(row, &size);
    MPI_Comm_rank(row, &place);
    const int on = (place + step) % size;
    const int back = (place + size - step) % size;
    Partners found;
    check_mpi(MPI_Sendrecv(&rank, 1, MPI_INT, back, 0, &found.to, 1, MPI_INT, on, 0, row, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    check_mpi(MPI_Sendrecv(&rank, 1, MPI_INT, on, 0, &found.from, 1, MPI_INT, back, 0, row, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    MPI_Comm_free(&row);
    return found;
}

} // namespace

TrialPartners find_trial_partners(MPI_Comm communicator, const Topology& topology) {
    int rank = 0;
    int size = 0;
    check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    const int step = topology.largest_node();
    TrialPartners all;
    int place = rank;
    if (step == 1 || all_agree(communicator, topology.is_run()))
        all.between_nodes = {(rank + step) % size, (rank + size - step) % size};
    else all.between_nodes = ask_for_partners(communicator, topology, rank, step, place);
    for (int* const one : {&all.between_nodes.to, &all.between_nodes.from})
        if (topology.node_index(*one) >= 0) *one = MPI_PROC_NULL;
    all.both_ways = 2 * step != size && topology.nodes() > 1;

    const auto members = static_cast<std::size_t>(topology.node_size());
    const auto own = static_cast<std::size_t>(topology.node_rank());
    if (members > 1)
        all.in_node = {topology.members()[(own + 1) % members], topology.members()[(own + members - 1) % members]};

    // Ranks in blocks of a node's size work in turns, so that those of the next block are outside MPI; the last ones
    // have the first as partners, whose turn may be the same.
    const bool even = size % (2 * step) == 0;
    all.turns = even ? 2 : 3;
    all.turn = !even && place >= size - step ? 2 : place / step % 2;
    return all;
}

} // namespace lapwing::detail::mpi
