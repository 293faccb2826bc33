#pragma once

#include "src/transport/window_facts.hpp"

#include <lapwing/detail/memory_map.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/settings.hpp>

namespace lapwing::detail::window {

/// LAPWING_PRIVATE: each rank's own part of a window stands for the parts of all others, so that all accesses are to
/// private memory, and a run takes the time of its computation (T_comp of Zhang 2007, section 6.5).
[[nodiscard]] bool parts_are_private(const Settings& settings);

/// Lets the rank find its own part wherever it looks for another one's.
void use_own_part_for_all(transport::WindowFacts& facts);

/// Whether it does: of another rank than the window's own.
[[nodiscard]] inline bool own_part_stands_for(const transport::MemoryMap& map, Rank other) noexcept {
    return other != map.own_rank && map.base(other) == map.own;
}

} // namespace lapwing::detail::window
