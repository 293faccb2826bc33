#pragma once

#include "src/support/mutex.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace lapwing::detail::team {

class TeamState;
class EpochMember;
class ProgressDriver;

/// The open teams of this process: to serve all of them while a call waits for one, to stop their progress before MPI
/// is finalized, and to detect that two ranks close two teams in different order. A team in it has its communicators
/// and its memory.
class TeamRegistry {
public:
    static TeamRegistry& instance();

    void add(TeamState& team);
    void remove(TeamState& team) noexcept;
    /// Takes over a team whose owner is gone and whose close could not complete.
    void keep(std::unique_ptr<TeamState> team) noexcept;
    /// Takes over, until the process ends, what other ranks may still reach and MPI still read.
    void retain(std::unique_ptr<TeamState> team) noexcept;
    void retain(std::unique_ptr<EpochMember> window) noexcept;

    /// One round of progress for the teams that have no progress thread, except `served`, which the caller serves
    /// itself (or null): a rank that waits in one team may be what another rank waits for in another. Returns whether
    /// anything moved. Cheap if there is no such team.
    bool serve_others(const ProgressDriver* served) noexcept;

    /// Closes the teams that were taken over and can be closed now: they may have waited for a close that has just
    /// succeeded.
    void close_kept() noexcept;

    /// A team that this rank has not closed and in whose close another rank waits, which therefore cannot come to the
    /// close of `closing`. Only teams made after `closing` count, since otherwise both ranks would find the other's and
    /// both would give up; and only teams of the calling thread, since another thread may still close its own.
    struct Obstacle {
        int rank = 0;      ///< number in `closing` of the rank that waits
        int team_size = 0; ///< of the team that it closes
    };
    [[nodiscard]] std::optional<Obstacle> blocked_by(const TeamState& closing);

    /// Lapwing's MPI windows that this process has made and not freed.
    [[nodiscard]] static std::atomic<int>& unfreed_windows() noexcept;
    /// Whether this process has MPI windows that will never be freed.
    [[nodiscard]] static bool left_windows() noexcept;
    /// For the exit of the program: whether MPI may be finalized. MPICH 4.0.2 over UCX ends the program in MPI_Finalize
    /// while there are windows (left_windows()), and no MPI can end while a thread is in it for good
    /// (mpi::abandoned_calls()). Before it says no, it meets the other ranks of the teams that were
    /// left, for ten seconds at most: launchers end all ranks with the first that exits without MPI_Finalize, and the
    /// others may still have something to report.
    [[nodiscard]] bool can_finalize() noexcept;

    /// Windows that this process has left, in a team that it has not left: sums that tell, added over the ranks,
    /// whether all have left the same.
    using LeftWindows = std::array<std::uint64_t, 4>;
    [[nodiscard]] LeftWindows left_windows_of(const TeamState& team);
    /// Collective over the team, nothing of which is under way. `sums` are those of all ranks. Frees the team's left
    /// windows if all ranks have left the same.
    void free_left_windows(const TeamState& team, const LeftWindows& sums);

    /// MPI_Finalize has begun.
    [[nodiscard]] static bool mpi_ended() noexcept;
    /// Called when it does.
    static int on_finalize();

private:
    TeamRegistry() = default;

    support::Mutex mutex_{support::LockRank::team_registry};
    std::vector<TeamState*> teams_; ///< in the order they were made, which is the same on all ranks that share them
    std::vector<std::unique_ptr<TeamState>> kept_;
    std::vector<std::unique_ptr<TeamState>> retained_teams_;
    std::vector<std::unique_ptr<EpochMember>> retained_windows_;
    std::vector<std::unique_ptr<EpochMember>> ended_windows_; ///< that were retained, of teams that are closed
    /// The teams that have no progress thread. Written with the mutex held; read without it, as a hint.
    std::atomic<int> without_thread_{0};
    bool watching_ = false;
};

} // namespace lapwing::detail::team
