#pragma once

#include "src/mpi/node_memory.hpp"
#include "src/mpi/processors.hpp"

#include <lapwing/rank.hpp>

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lapwing::detail::mpi {

/// How ranks are gathered into nodes.
enum class NodeMode : std::uint8_t {
    by_memory, ///< ranks that can share memory
    each,      ///< every rank is a node of its own
    pairs,     ///< two ranks of a node at a time, for tests of several nodes on one machine
};

/// Whether MPI takes ranks of one machine for ranks of several, as MPICH 5.0.2 does where it is not told who shares
/// one.
enum class MachineSplit : std::uint8_t {
    none,   ///< it does not
    joined, ///< it does on some machine, and all such ranks share memory of Lapwing's own
    apart   ///< it does on some machine, and there they cannot
};

/// The nodes of a communicator as this rank sees them: which ranks share its node, and which nodes are next to it.
class Topology {
public:
    /// Collective. Keeps a communicator of the node's ranks.
    Topology(MPI_Comm communicator, NodeMode mode);
    ~Topology();
    Topology(const Topology&) = delete;
    Topology& operator=(const Topology&) = delete;

    /// Where the ranks of this node have their shared memory from.
    [[nodiscard]] NodeSource node_source() const noexcept { return node_source_; }
    /// Before there is any.
    void take_memory_from(NodeSource source) noexcept { node_source_ = source; }
    /// Alike on all ranks.
    [[nodiscard]] MachineSplit machine_split() const noexcept { return machine_split_; }
    /// Why the ranks of this machine are apart; empty where they are not.
    [[nodiscard]] const std::string& machine_problem() const noexcept { return machine_problem_; }
    [[nodiscard]] MPI_Comm node_communicator() const noexcept { return node_; }
    [[nodiscard]] int node_size() const noexcept { return static_cast<int>(members_.size()); }
    [[nodiscard]] int node_rank() const noexcept { return node_rank_; }
    [[nodiscard]] int nodes() const noexcept { return nodes_; }
    [[nodiscard]] int largest_node() const noexcept { return largest_node_; }
    /// Team ranks of this node, ascending.
    [[nodiscard]] const std::vector<int>& members() const noexcept { return members_; }
    /// Whether the members are a run of consecutive ranks.
    [[nodiscard]] bool is_run() const noexcept { return index_.empty(); }
    /// Where they are not: for each team rank its place on this node, or -1.
    [[nodiscard]] const std::vector<std::int32_t>& index() const noexcept { return index_; }

    /// Place of a rank on this node, or -1.
    [[nodiscard]] int node_index(int rank) const noexcept {
        if (index_.empty()) {
            const int place = rank - members_.front();
            return place >= 0 && place < node_size() ? place : -1;
        }
        return index_[static_cast<std::size_t>(rank)];
    }

    /// First ranks of nodes: entry i is that of the node 2^i after this one, in the order of their first ranks,
    /// cyclically. On the first rank of a node; empty on others, and where there is one node.
    [[nodiscard]] const std::vector<int>& next_leaders() const noexcept { return next_leaders_; }
    /// The same of the nodes before it.
    [[nodiscard]] const std::vector<int>& previous_leaders() const noexcept { return previous_leaders_; }

    /// How many of the team's ranks are on this machine, however they are grouped into nodes.
    [[nodiscard]] int ranks_of_machine() const noexcept { return ranks_of_machine_; }
    /// All ranks of the team are on one machine.
    [[nodiscard]] bool one_machine() const noexcept { return one_machine_; }
    /// The first of the team's ranks on this machine.
    [[nodiscard]] bool first_of_machine() const noexcept { return first_of_machine_; }
    [[nodiscard]] const Processors& processors() const noexcept { return *processors_; }

    /// Frees the communicator; nothing may use the topology's communicator after it.
    void close() noexcept;

private:
    struct Whole; ///< the communicator of all ranks
    // Steps of the constructor, collective like it.
    /// Gathers the ranks of this machine into nodes.
    void split(const Whole& all, NodeMode mode);
    /// Finds the ranks of this machine that can share memory: those of `shared`, which is freed where there are more.
    MPI_Comm join_machine(const Whole& all, MPI_Comm shared);
    /// Finds who else is on this node.
    void gather_members(const Whole& all);
    /// Finds the first ranks of the nodes around this one.
    void find_leaders(const Whole& all);

    MPI_Comm node_ = MPI_COMM_NULL;
    NodeSource node_source_ = NodeSource::mpi;
    MachineSplit machine_split_ = MachineSplit::none;
    std::string machine_problem_;
    std::vector<int> members_;
    std::vector<std::int32_t> index_;
    std::vector<int> next_leaders_;
    std::vector<int> previous_leaders_;
    int node_rank_ = 0;
    int nodes_ = 0;
    int largest_node_ = 0;
    int ranks_of_machine_ = 0;
    bool one_machine_ = false;
    bool first_of_machine_ = false;
    std::optional<Processors> processors_;
};

} // namespace lapwing::detail::mpi
