#pragma once

#include "model/access_rates.hpp"

#include <lapwing/path.hpp>
#include <lapwing/team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::tools {

/// Collective. The microbenchmarks of Zhang's model (2007, section 6.4), for elements of global arrays: all ranks
/// access the memory of ranks that they reach by the path, one element at a time, in each pattern, as reads and as
/// writes, without and with the cache; also lists, atomics and barriers; and accesses to local and to private
/// memory. Each value is the median of several runs, of the slowest rank. Writes include their release. Stores them
/// in `rates`, the same on every rank. Takes about a quarter of `seconds`, which limits the
/// number of accesses. Ranks that reach nobody by the path access their own memory.
void measure_access_rates(Team& team, Path path, double seconds, detail::model::MeasuredRates& rates);

/// Collective. The same in each pattern with MuPC's cache, of the size that the thesis gives it: 256 blocks of 1024
/// bytes for each of the other ranks.
void measure_mupc_rates(Team& team, Path path, double seconds, detail::model::MeasuredRates& rates);

/// Collective. The same in each pattern without a cache, for a team of some of the ranks: `PATH.ranksN.…`.
void measure_rates_of_some(Team& team, Path path, double seconds, detail::model::MeasuredRates& rates);

/// The sum of what `read` has for each index. Of four parts, since an addition takes longer than a read: in programs a
/// processor has several reads under way.
template <class Read>
[[nodiscard]] double sum_of_reads(std::span<const std::int64_t> list, Read read) {
    constexpr std::size_t parts = 4;
    double sums[parts] = {};
    const std::size_t whole = list.size() / parts * parts;
    for (std::size_t i = 0; i < whole; i += parts)
        for (std::size_t k = 0; k < parts; ++k) sums[k] += read(list[i + k]);
    for (std::size_t i = whole; i < list.size(); ++i) sums[0] += read(list[i]);
    return sums[0] + sums[1] + sums[2] + sums[3];
}

/// An array of doubles whose elements are measured. The loops are the caller's, so that they are compiled as a
/// program's are.
struct MeasuredElements {
    std::int64_t of_rank = 0; ///< elements that each rank has
    std::int64_t block = 0;   ///< of which so many follow each other; element e is in part e / block % ranks
    std::function<void(std::span<const std::int64_t>)> read = {};
    std::function<void(std::span<const std::int64_t>)> write = {}; ///< without the release
};
/// Elements of each rank of an array that is measured, and of one several times as large as the default cache.
inline constexpr std::int64_t measured_elements = std::int64_t{1} << 17;
inline constexpr std::int64_t elements_beyond_cache = std::int64_t{1} << 20;
/// Collective. The rates of single accesses to any array: `own.…`, and `PATH.…` in each pattern, or `PATH.cached.…`
/// with those of hits if it has a cache. Of one that is dealt only `own.dealt.…` and those of hits.
void measure_element_rates(Team& team, Path path, double seconds, const MeasuredElements& elements, bool cached,
                           detail::model::MeasuredRates& rates);
/// Collective. `PATH.cached.passed.…`: accesses that bypass the cache of an array of elements_beyond_cache.
void measure_passed_rates(Team& team, Path path, double seconds, const MeasuredElements& elements,
                          detail::model::MeasuredRates& rates);

/// Collective. Barriers and collective calls of 2, 4, … ranks that the path joins, and of all; a lock that more and
/// more ranks want, notified puts, and elements of one rank that more and more read; single accesses of 2, 4, … ranks,
/// as measure_access_rates() has them of all. Over MPI_COMM_WORLD. Stores the times in `rates`, on rank 0.
void measure_synchronisation(Team& team, Path path, double seconds, detail::model::MeasuredRates& rates);

/// The order in which more and more ranks take part in a measurement of a path, given the lowest rank of each one's
/// node: for memory that is shared those of rank 0's node; else the first of each node, then the second of each, and so
/// on, so that few of them are joined by it as well.
[[nodiscard]] inline std::vector<int> order_of_ranks(std::span<const int> nodes, bool within_node) {
    std::map<int, int> seen; // of each node
    std::vector<std::pair<int, int>> order;
    for (std::size_t rank = 0; rank < nodes.size(); ++rank)
        if (const int on_node = seen[nodes[rank]]++; !within_node || nodes[rank] == nodes[0])
            order.emplace_back(on_node, static_cast<int>(rank));
    std::ranges::sort(order);
    std::vector<int> ranks;
    for (const auto& [on_node, rank] : order) ranks.push_back(rank);
    return ranks;
}

/// A measured loop: `accesses` accesses, which the calling rank makes in `run`.
struct TimedLoop {
    std::uint64_t accesses = 0;
    std::function<void()> prepare = [] {}; ///< before the barrier after which the time starts
    std::function<void()> run = {};
};
/// Collective. Seconds for the slowest rank: the median of `repeats` runs.
[[nodiscard]] double slowest_seconds(Team& team, const TimedLoop& loop, int repeats);

} // namespace lapwing::tools
