#include "window/topology.hpp"

#include "src/support/mpi_error.hpp"

#include <hwloc.h>

#include <algorithm>

namespace lapwing::window {
namespace {

using support::check_mpi;

/// Cores of the machine that the operating system lets this job use, whatever this process is bound to. Asked once: it
/// takes milliseconds.
int count_cores() {
    static const int cores = [] {
        hwloc_topology_t topology = nullptr;
        if (hwloc_topology_init(&topology) != 0) return 1;
        const int count = hwloc_topology_load(topology) == 0 ? hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) : 1;
        hwloc_topology_destroy(topology);
        return std::max(1, count);
    }();
    return cores;
}

} // namespace

Topology::Topology(MPI_Comm communicator, NodeMode mode) {
    int rank = 0;
    int size = 0;
    check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");

    MPI_Comm shared = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared), "MPI_Comm_split_type");
    int shared_rank = 0;
    check_mpi(MPI_Comm_rank(shared, &shared_rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(shared, &physical_node_size_), "MPI_Comm_size");
    one_machine_ = physical_node_size_ == size;
    first_of_machine_ = shared_rank == 0;
    if (mode == NodeMode::by_memory) {
        node_ = shared;
    } else {
        const int color = mode == NodeMode::each ? shared_rank : shared_rank / 2;
        check_mpi(MPI_Comm_split(shared, color, rank, &node_), "MPI_Comm_split");
        MPI_Comm_free(&shared);
    }

    check_mpi(MPI_Comm_rank(node_, &node_rank_), "MPI_Comm_rank");
    int node_size = 0;
    check_mpi(MPI_Comm_size(node_, &node_size), "MPI_Comm_size");
    members_.resize(static_cast<std::size_t>(node_size));
    check_mpi(MPI_Allgather(&rank, 1, MPI_INT, members_.data(), 1, MPI_INT, node_), "MPI_Allgather");
    if (members_.back() - members_.front() + 1 != node_size) {
        index_.assign(static_cast<std::size_t>(size), -1);
        for (std::size_t i = 0; i < members_.size(); ++i)
            index_[static_cast<std::size_t>(members_[i])] = static_cast<std::int32_t>(i);
    }

    const int is_first = node_rank_ == 0 ? 1 : 0;
    check_mpi(MPI_Allreduce(&is_first, &nodes_, 1, MPI_INT, MPI_SUM, communicator), "MPI_Allreduce");
    check_mpi(MPI_Allreduce(&node_size, &largest_node_, 1, MPI_INT, MPI_MAX, communicator), "MPI_Allreduce");

    cores_ = count_cores();
}

Topology::~Topology() { close(); }

void Topology::close() noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (node_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&node_);
}

} // namespace lapwing::window
