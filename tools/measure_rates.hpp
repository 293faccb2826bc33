#pragma once

#include "model/access_rates.hpp"

#include <lapwing/path.hpp>
#include <lapwing/team.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace lapwing::tools {

/// Collective. The microbenchmarks of Zhang's model (2007, section 6.4), for elements of global arrays: all ranks
/// access the memory of ranks that they reach by the path, one element at a time, in each pattern, as reads and as
/// writes, without and with the cache; also lists, atomics and barriers; and accesses to local and to private
/// memory. Each value is the median of several runs, of the slowest rank. Writes include their release. Stores them
/// in `rates`, the same on every rank. Takes about a quarter of `seconds`, which limits the
/// number of accesses. Ranks that reach nobody by the path access their own memory.
void measure_access_rates(Team& team, Path path, double seconds, detail::model::MeasuredRates& rates);

/// Collective. Barriers and collective calls of the first 2, 4, … ranks, and of all; a lock that more and more ranks
/// want, notified puts, and elements of one rank that more and more read. Over MPI_COMM_WORLD. Stores the times in
/// `rates`, on rank 0. `hasty`: without medians.
void measure_synchronisation(Team& team, Path path, bool hasty, detail::model::MeasuredRates& rates);

/// A measured loop: `accesses` accesses, which the calling rank makes in `run`.
struct TimedLoop {
    std::uint64_t accesses = 0;
    std::function<void()> prepare = [] {}; ///< before the barrier after which the time starts
    std::function<void()> run = {};
};
/// Collective. Seconds for the slowest rank: the median of `repeats` runs.
[[nodiscard]] double slowest_seconds(Team& team, const TimedLoop& loop, int repeats);

} // namespace lapwing::tools
