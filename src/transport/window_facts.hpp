#pragma once

#include "src/mpi/window_targets.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/detail/memory_map.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>
#include <lapwing/team.hpp>

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::detail::transport {

/// What the parts of a window share: where its memory is, and how it is reached and called. Set at the creation and
/// constant, except for `remote` when the program frees its window.
struct WindowFacts {
    WindowFacts(Team& its_team, std::string its_name)
        : team{its_team}, state{its_team.state()}, name{std::move(its_name)} {}

    Team& team;
    team::TeamState& state;
    std::string name;
    std::uint64_t number = 0; ///< that all ranks know it by
    bool adopted = false;
    std::atomic<bool> freed{false}; ///< by the program: there is no memory any more
    /// For objects that refer to the window and may be used later: their weak_ptr expires when it is closed.
    std::shared_ptr<const void> life = std::make_shared<char>();

    Path network = Path::service;
    bool plain_rma = false; ///< the path is rma, and all ranks' displacements count bytes
    /// Atomics must all be of one kind: MPI's when any pair of ranks uses them, else the processor's.
    bool mpi_atomics = false;
    mpi::TrustedAtomics trusted = {}; ///< of MPI's
    std::uint64_t alignment = 8;      ///< of all ranks' parts, as far as atomics need it
    MPI_Win remote = MPI_WIN_NULL;    ///< over all ranks
    mpi::WindowTargets targets;       ///< of `remote`
    MPI_Win shared = MPI_WIN_NULL;    ///< over those of the node
    int unit = 1;                     ///< of displacements in `remote`
    std::vector<int> units;           ///< of each rank, where they differ

    MemoryMap map;
    std::uint32_t traced = 0;      ///< what it is in the records of accesses (LAPWING_TRACE); 0: it is not recorded
    std::vector<std::byte*> bases; ///< of an adopted window: what the map points to
    std::vector<std::uint64_t> sizes;

    support::Statistics statistics;

    /// In messages: Window("a"), or without a name Window(#3), the third that its team made, counting those of arrays
    /// and those that locks share.
    [[nodiscard]] std::string label() const;
    /// "rank 2 of 4: Window("a").get", the start of a message.
    [[nodiscard]] std::string who(const char* call) const;
    [[nodiscard]] Path path(Rank target) const noexcept {
        if (target == map.own_rank) return Path::self;
        return map.base(target) != nullptr ? Path::direct : network;
    }
    /// If MPI needs it (mpi::WindowTargets), on a window whose targets have not all been entered.
    void keep_targets_apart();
    /// Own accesses to the memory of this node, before and after, are seen in that order.
    void order_memory() const;
};

/// Throws UsageError: `target` has not carried out a request, since the program had freed the window there.
[[noreturn]] void throw_freed_at(const WindowFacts& window, const char* call, Rank target);

} // namespace lapwing::detail::transport
