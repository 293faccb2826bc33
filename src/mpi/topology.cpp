#include "src/mpi/topology.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <functional>
#include <utility>

#include <unistd.h>

namespace lapwing::detail::mpi {
namespace {

/// The same for all processes on a host: of a boot of the machine, and of the name, which containers have of their own.
/// 0 where the system does not say which boot it is.
std::uint64_t host_number() {
    std::string identity;
    std::ifstream boot{"/proc/sys/kernel/random/boot_id"};
    if (!std::getline(boot, identity) || identity.empty()) return 0;
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) identity += name.data();
    return std::hash<std::string>{}(identity);
}

/// Collective.
bool all_equal(MPI_Comm communicator, std::uint64_t number) {
    std::array<std::uint64_t, 2> least{number, ~number};
    support::check_mpi(MPI_Allreduce(MPI_IN_PLACE, least.data(), 2, MPI_UINT64_T, MPI_MIN, communicator),
                       "MPI_Allreduce");
    return least[0] == ~least[1];
}

} // namespace

struct Topology::Whole {
    MPI_Comm communicator = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;
    std::string who;

    explicit Whole(MPI_Comm all) : communicator{all} {
        support::check_mpi(MPI_Comm_rank(all, &rank), "MPI_Comm_rank");
        support::check_mpi(MPI_Comm_size(all, &size), "MPI_Comm_size");
        who = fmt::format("rank {} of {}", rank, size);
    }
    void check_mpi(int code, const char* call) const { support::check_mpi(code, call, who); }
};

Topology::Topology(MPI_Comm communicator, NodeMode mode) {
    const Whole all{communicator};
    split(all, mode);
    gather_members(all);
    find_leaders(all);
    const int is_first = node_rank_ == 0 ? 1 : 0;
    all.check_mpi(MPI_Allreduce(&is_first, &nodes_, 1, MPI_INT, MPI_SUM, communicator), "MPI_Allreduce");
    std::array<int, 2> largest{node_size(), static_cast<int>(machine_split_)};
    all.check_mpi(MPI_Allreduce(MPI_IN_PLACE, largest.data(), 2, MPI_INT, MPI_MAX, communicator), "MPI_Allreduce");
    largest_node_ = largest[0];
    machine_split_ = static_cast<MachineSplit>(largest[1]);
}

// MPI may know less of the machine than the system does.
MPI_Comm Topology::join_machine(const Whole& all, MPI_Comm shared) {
    int ranks = 0;
    all.check_mpi(MPI_Comm_size(shared, &ranks), "MPI_Comm_size");
    if (ranks == all.size) return shared;
    const std::uint64_t number = host_number();
    MPI_Comm host = MPI_COMM_NULL;
    all.check_mpi(MPI_Comm_split(all.communicator, static_cast<int>(number % (1U << 31)), all.rank, &host),
                  "MPI_Comm_split");
    int found = 0;
    all.check_mpi(MPI_Comm_size(host, &found), "MPI_Comm_size");
    // Two hosts may have numbers that end alike, and MPI may share memory between hosts of different names
    // (containers).
    const bool whole = all_equal(shared, number);
    const bool one_host = all_equal(host, number);
    if (all_agree(host, number != 0 && one_host && whole && found > ranks)) {
        machine_problem_ = problem_of_sharing(host, NodeSource::own);
        machine_split_ = machine_problem_.empty() ? MachineSplit::joined : MachineSplit::apart;
        if (machine_split_ == MachineSplit::joined) {
            node_source_ = NodeSource::own;
            std::swap(shared, host);
        }
    }
    MPI_Comm_free(&host);
    return shared;
}

void Topology::split(const Whole& all, NodeMode mode) {
    MPI_Comm shared = MPI_COMM_NULL;
    all.check_mpi(MPI_Comm_split_type(all.communicator, MPI_COMM_TYPE_SHARED, all.rank, MPI_INFO_NULL, &shared),
                  "MPI_Comm_split_type");
    if (mode != NodeMode::each) shared = join_machine(all, shared);
    int shared_rank = 0;
    all.check_mpi(MPI_Comm_rank(shared, &shared_rank), "MPI_Comm_rank");
    all.check_mpi(MPI_Comm_size(shared, &ranks_of_machine_), "MPI_Comm_size");
    one_machine_ = ranks_of_machine_ == all.size;
    processors_.emplace(shared);
    first_of_machine_ = shared_rank == 0;
    if (mode == NodeMode::by_memory) {
        node_ = shared;
    } else {
        const int color = mode == NodeMode::each ? shared_rank : shared_rank / 2;
        all.check_mpi(MPI_Comm_split(shared, color, all.rank, &node_), "MPI_Comm_split");
        MPI_Comm_free(&shared);
    }
    all.check_mpi(MPI_Comm_rank(node_, &node_rank_), "MPI_Comm_rank");
}

void Topology::gather_members(const Whole& all) {
    int count = 0;
    all.check_mpi(MPI_Comm_size(node_, &count), "MPI_Comm_size");
    members_.resize(static_cast<std::size_t>(count));
    all.check_mpi(MPI_Allgather(&all.rank, 1, MPI_INT, members_.data(), 1, MPI_INT, node_), "MPI_Allgather");
    if (members_.back() - members_.front() + 1 == count) return;
    index_.assign(static_cast<std::size_t>(all.size), -1);
    for (std::size_t i = 0; i < members_.size(); ++i)
        index_[static_cast<std::size_t>(members_[i])] = static_cast<std::int32_t>(i);
}

void Topology::find_leaders(const Whole& all) {
    MPI_Comm leaders = MPI_COMM_NULL;
    all.check_mpi(MPI_Comm_split(all.communicator, node_rank_ == 0 ? 0 : MPI_UNDEFINED, all.rank, &leaders),
                  "MPI_Comm_split");
    if (leaders == MPI_COMM_NULL) return;
    int node = 0;
    int nodes = 0;
    all.check_mpi(MPI_Comm_rank(leaders, &node), "MPI_Comm_rank");
    all.check_mpi(MPI_Comm_size(leaders, &nodes), "MPI_Comm_size");
    MPI_Group from = MPI_GROUP_NULL;
    MPI_Group to = MPI_GROUP_NULL;
    MPI_Comm_group(leaders, &from);
    MPI_Comm_group(all.communicator, &to);
    const auto leader = [&](std::int64_t place) {
        const auto there = static_cast<int>((place + nodes) % nodes);
        int found = MPI_UNDEFINED;
        MPI_Group_translate_ranks(from, 1, &there, to, &found);
        return found;
    };
    for (std::int64_t distance = 1; distance < nodes; distance *= 2) {
        next_leaders_.push_back(leader(node + distance));
        previous_leaders_.push_back(leader(node - distance));
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Comm_free(&leaders);
}

Topology::~Topology() { close(); }

void Topology::close() noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (node_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&node_);
}

} // namespace lapwing::detail::mpi
