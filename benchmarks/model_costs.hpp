#pragma once

#include "harness.hpp"

#include "model/calibration.hpp"
#include "model/team_costs.hpp"
#include "tools/measure_rates.hpp"
#include "window/window_state.hpp"

#include <lapwing/window.hpp>

#include <cstdint>

namespace lapwing::bench {

/// Collective. What single accesses cost on a route, and on rank 0 transfers as well. Takes about a quarter of
/// `seconds`.
[[nodiscard]] inline detail::model::CostTables measured_costs(Team& team, const Route& route, double seconds) {
    using detail::model::Direction;
    detail::model::CostTables tables;
    tools::measure_access_rates(team, route.path, seconds, tables.rates);
    Window window{team, 1 << 20};
    if (team.rank() == Rank{0}) detail::model::calibrate(window.state(), route.target.value);
    const detail::model::CostModel& costs = detail::model::TeamCosts::of(team).model();
    constexpr std::uint64_t usual = 1 << 16;
    for (const Direction direction : {Direction::put, Direction::get})
        tables.transfers(route.path, direction) = costs.transfers(route.path, direction, usual);
    team.barrier();
    return tables;
}

} // namespace lapwing::bench
