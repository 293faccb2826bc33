#pragma once

#include "src/team/membership.hpp"
#include "src/team/team_registry.hpp"

#include <lapwing/statistics.hpp>

#include <atomic>
#include <optional>
#include <thread>

namespace lapwing::detail::team {

class TeamState;

/// How a team ends: by a close of all ranks, by a rank that leaves, or with MPI.
class Lifecycle {
public:
    explicit Lifecycle(TeamState& team) noexcept : team_{team} {}

    /// Collective. Throws UsageError while windows or locks are open, or when the close of another team is in the way.
    void close();
    /// Leaves without waiting for anyone, and notifies the others; `by_exception`: not only because another rank has
    /// left.
    void leave(bool by_exception) noexcept;
    /// MPI is finalized while the team is open: notifies the others and stops using MPI.
    void on_finalize() noexcept;

    [[nodiscard]] bool closed() const noexcept { return closed_; }
    [[nodiscard]] bool has_left() const noexcept { return left_; }
    /// The counters summed over all ranks, once the team is closed.
    [[nodiscard]] const std::optional<StatisticsValues>& total_at_close() const noexcept { return total_at_close_; }
    /// The thread that made the team.
    [[nodiscard]] std::thread::id maker() const noexcept { return maker_; }

private:
    void check_nothing_open();
    void check_other_closes();
    /// Collective: the counters of all ranks, and the windows that scopes have left; each summed over them.
    [[nodiscard]] TeamRegistry::LeftWindows sum_up();
    /// Notifies the others that this rank leaves, for a bounded time.
    void say_goodbye(LeaveReason reason);

    TeamState& team_;
    const std::thread::id maker_ = std::this_thread::get_id();
    std::optional<StatisticsValues> total_at_close_;
    bool closed_ = false;
    bool left_ = false;
};

} // namespace lapwing::detail::team
