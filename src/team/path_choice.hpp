#pragma once

#include "src/mpi/probe.hpp"
#include "src/mpi/topology.hpp"

#include <lapwing/path.hpp>
#include <lapwing/settings.hpp>

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lapwing::detail::team {

/// What carries puts and gets that fit into a message buffer, and atomics, on the path rma.
enum class SmallTransfers : std::uint8_t { automatic, by_mpi, by_messages };

/// What the settings ask for, alike on all ranks.
struct PathRequest {
    std::optional<Path> path = {};             ///< none: as windows work
    std::optional<ProgressMode> progress = {}; ///< none: as MPI permits
    mpi::NodeMode node = mpi::NodeMode::by_memory;
    mpi::NodeSource node_memory = mpi::NodeSource::own; ///< that is tried first
    SmallTransfers small = SmallTransfers::automatic;
    std::uint64_t packet_bytes = 0;
    std::uint64_t direct_ranks = 0; ///< see PathChoice
    int checks = 0;                 ///< no path, but alike on all ranks, too
};

/// The level of checks inside the library that LAPWING_CHECKS asks for.
[[nodiscard]] int checks_asked(const Settings& settings);

/// What the choice of paths depends on, the same on all ranks except for `who`.
struct PathFacts {
    std::string who = {}; ///< the rank, for messages
    PathRequest asked = {};
    int thread_level = MPI_THREAD_SINGLE; ///< the lowest of all ranks
    int nodes = 1;
    bool shares_memory = true;       ///< the ranks of a node can share some
    std::string memory_problem = {}; ///< of the source that was tried last and does not work
    mpi::MachineSplit split = mpi::MachineSplit::none;
    std::optional<mpi::ProbeResult> probe = {}; ///< of windows between the nodes, where needs_probe()
};

/// How the ranks of a team reach each other.
struct PathChoice {
    Path network = Path::direct; ///< between nodes
    ProgressMode progress = ProgressMode::caller;
    int thread_level = MPI_THREAD_SINGLE; ///< the lowest of all ranks
    /// Small puts and gets, and atomics on windows that the program does not use itself, are messages to the owner on
    /// the path rma, too.
    bool small_by_messages = false;
    bool data_needs_no_target =
        false; ///< gets and puts through MPI's windows complete while their target is outside MPI
    mpi::WindowKind windows = mpi::WindowKind::allocated; ///< on the path rma: the kind that was tried, and is used
    mpi::TrustedAtomics atomics = {}; ///< of MPI's, on the path rma; none where they do not suffice for all
    std::uint64_t packet_bytes = 0;   ///< of a message buffer
    int direct_ranks = 0;    ///< in larger teams calls that are gathered go over other ranks, which need threads for it
    std::string reason = {}; ///< of `network`, for the report
};

/// Whether the choice depends on a trial of windows between the nodes.
[[nodiscard]] bool needs_probe(const PathFacts& facts) noexcept;

/// Throws SettingError where a setting asks for what does not work here.
[[nodiscard]] PathChoice choose(const PathFacts& facts);

/// The nodes of a team, the paths between them, and its number.
struct ChosenPaths {
    std::shared_ptr<mpi::Topology> topology; ///< shared with trials that hang
    PathChoice paths;
    std::uint64_t team_number = 0; ///< see TeamState::number()
};

/// Collective. Finds the nodes, tries windows where it must, and makes the same choice on all ranks. `who` is the rank,
/// for messages. Throws MismatchError where ranks ask for different paths, and what choose() throws.
[[nodiscard]] ChosenPaths choose_paths(MPI_Comm communicator, const Settings& settings, const std::string& who);

/// Collective. Runs mpi::probe_windows() while the progress threads of this process's teams are at work: they sleep
/// when the trial tells them to.
[[nodiscard]] mpi::ProbeResult try_windows(mpi::ProbeRequest request);

} // namespace lapwing::detail::team
