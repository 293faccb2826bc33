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
/// ends, and to see that two ranks close two teams in different order. A team that is in it has its communicators and
/// its memory.
class TeamRegistry {
public:
    static TeamRegistry& instance();

    void add(TeamState& team);
    void remove(TeamState& team) noexcept;
    /// Takes over a team whose owner is gone and whose close could not complete.
    void keep(std::unique_ptr<TeamState> team) noexcept;
    /// Takes over for good what other ranks may still reach, and MPI still read, until the process ends.
    void retain(std::unique_ptr<TeamState> team) noexcept;
    void retain(std::unique_ptr<EpochMember> window) noexcept;

    /// One round of progress for the teams that have no progress thread, except `served`, which the caller serves
    /// itself (or null): a rank that waits in one team may be what another rank waits for in another. Returns whether
    /// anything moved. Cheap where there is no such team.
    bool serve_others(const ProgressDriver* served) noexcept;

    /// Closes the teams that were taken over and that can be closed now: a close that succeeded may have been what they
    /// waited for.
    void close_kept() noexcept;

    /// A team that this rank has not closed and in whose close another rank waits, which so cannot come to the close of
    /// `closing`. Only a team made after `closing`, since both ranks would find the other's, and of two that give way
    /// neither gets on; and by the calling thread, since another thread may close it yet.
    struct Obstacle {
        int rank = 0;      ///< number in `closing` of the rank that waits
        int team_size = 0; ///< of the team that it closes
    };
    [[nodiscard]] std::optional<Obstacle> blocked_by(const TeamState& closing);

    /// MPI windows of Lapwing's that this process has made and not freed.
    [[nodiscard]] static std::atomic<int>& unfreed_windows() noexcept;
    /// This process has MPI windows that nobody will free any more.
    [[nodiscard]] static bool left_windows() noexcept;
    /// For the exit of the program. Whether MPI may be finalized: MPICH 4.0.2 over UCX ends the program in MPI_Finalize
    /// while there are windows (left_windows()). Before a no it meets the other ranks of the teams that were left, for
    /// ten seconds at most: launchers end all ranks with the first that exits without MPI_Finalize, and the others may
    /// have something to say.
    [[nodiscard]] bool can_finalize() noexcept;

    /// Windows that this process has left, in a team that it has not: which they are, as sums over the ranks tell
    /// whether they are the same on all.
    using LeftWindows = std::array<std::uint64_t, 4>;
    [[nodiscard]] LeftWindows left_windows_of(const TeamState& team);
    /// Collective over the team, nothing of which is under way. `sums` over all ranks. Frees the team's left windows if
    /// all ranks have left the same.
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
    /// Of teams_, those that have no progress thread. Written with the mutex held; read without, as a hint.
    std::atomic<int> without_thread_{0};
    bool watching_ = false;
};

} // namespace lapwing::detail::team
