#pragma once

#include <lapwing/completion.hpp>

#include <span>

namespace lapwing::detail::team {
class TeamState;
}

namespace lapwing::detail::pipeline {

/// Whether the first of these is complete. A transfer in chunks advances when it is asked, so some of the others are
/// asked, too.
[[nodiscard]] bool test_first(std::span<Completion> transfers);

/// Waits for all of these: in turns for a bounded time, and then for each, since only the wait for one knows when its
/// owner has left.
void wait_round_robin(team::TeamState& team, std::span<Completion> transfers);

} // namespace lapwing::detail::pipeline
