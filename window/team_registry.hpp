#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace lapwing::window {

class TeamState;
class WindowState;

/// The open teams of this process: to stop their progress before MPI ends, and to see that two ranks close two teams in
/// different order.
class TeamRegistry {
public:
    static TeamRegistry& instance();

    void add(TeamState& team);
    void remove(TeamState& team) noexcept;
    /// Takes over a team whose owner is gone and whose close could not complete.
    void keep(std::unique_ptr<TeamState> team) noexcept;
    /// Takes over for good what other ranks may still reach, and MPI still read, until the process ends.
    void abandon(std::unique_ptr<TeamState> team) noexcept;
    void abandon(std::unique_ptr<WindowState> window) noexcept;

    /// Closes the teams that were taken over and that can be closed now: a close that succeeded may have been what they
    /// waited for.
    void close_kept() noexcept;

    /// A team that this rank has not closed, and the number in `closing` of a rank that waits in that team's close: so it
    /// cannot come to the close of `closing`. Only a team made after `closing`: both ranks would find the other's, and of
    /// two that give way neither gets on. {nullptr, -1} if there is none.
    [[nodiscard]] std::pair<TeamState*, int> blocked_by(TeamState& closing);

    /// MPI_Finalize has begun.
    [[nodiscard]] static bool mpi_ended() noexcept;
    /// Called when it does.
    static int on_finalize();

private:
    TeamRegistry() = default;

    std::mutex mutex_;
    std::vector<TeamState*> teams_; ///< in the order they were made, which is the same on all ranks that share them
    std::vector<std::unique_ptr<TeamState>> kept_;
    std::vector<std::unique_ptr<TeamState>> abandoned_teams_;
    std::vector<std::unique_ptr<WindowState>> abandoned_windows_;
    bool watching_ = false;
};

} // namespace lapwing::window
