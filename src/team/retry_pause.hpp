#pragma once

#include "src/team/team_state.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>

namespace lapwing::detail::team {

/// The pause after an attempt to get what another rank has, twice as long with each of the `failures` before it, up to
/// 2^`doublings` turns: who has it may need this processor, or its messages served, to give it back.
inline void pause_after(std::uint32_t failures, std::uint32_t doublings, TeamState& team) {
    constexpr std::uint32_t free_attempts = 4; // attempts without a pause
    if (failures < free_attempts) return;
    for (std::uint32_t k = 1U << std::min(failures - free_attempts, doublings); k > 0; --k)
        if (!team.progress()) sched_yield();
}

} // namespace lapwing::detail::team
