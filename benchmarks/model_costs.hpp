#pragma once

#include "harness.hpp"

#include "model/measure_transfers.hpp"
#include "src/support/aligned_memory.hpp"
#include "tools/measure_rates.hpp"

#include <lapwing/window.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::bench {

/// Collective. What single accesses cost on a route, and on rank 0 transfers as well. Takes about half of `seconds`.
[[nodiscard]] inline detail::model::CostTables measured_costs(Team& team, const Route& route, double seconds) {
    using namespace detail::model;
    CostTables tables;
    tools::measure_access_rates(team, route.path, seconds, tables.rates);
    // As lapwing-tune does, for transfers no larger than those of the programs that are predicted.
    constexpr std::uint64_t largest = 1 << 20;
    Window window{team, largest};
    if (team.rank() == Rank{0}) {
        const detail::support::AlignedMemory buffer = detail::support::allocate_zeroed(largest);
        const std::span memory{buffer.get(), largest};
        const std::vector<TransferCell> cells = transfer_grid(largest);
        for (const Direction direction : {Direction::put, Direction::get})
            tables.transfers(route.path, direction) =
                fit_transfers(measure_transfers(window, route.target, direction, cells, memory, seconds / 10),
                              aggregation_of(team.state(), route.path, direction));
    }
    team.barrier();
    return tables;
}

} // namespace lapwing::bench
