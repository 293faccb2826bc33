#include "model/run_time_prediction.hpp"

#include "model/simulated_cache.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace lapwing::detail::model {
namespace {

/// N / r(N, pattern).
[[nodiscard]] double seconds_of(const AccessPlatform& platform, AccessPattern pattern, bool write,
                                std::uint64_t accesses) {
    if (accesses == 0) return 0;
    const RateCurve& curve = platform.rates.of(pattern, write);
    if (curve.empty())
        throw UsageError{fmt::format("the rate of {} {} is needed, and was not measured; measure it with lapwing-tune "
                                     "--rates",
                                     name(pattern), write ? "writes" : "reads")};
    return static_cast<double>(accesses) * curve.seconds(accesses);
}

/// Moves what the cache serves to the local accesses, and returns the time of the misses.
[[nodiscard]] double through_cache(const AccessPlatform::Cache& cache, double hit_rate, Partition::Accesses& accesses) {
    const auto hits = [&](std::uint64_t remote) {
        return static_cast<std::uint64_t>(std::llround(hit_rate * static_cast<double>(remote)));
    };
    const std::uint64_t read_hits = hits(accesses.remote_reads);
    const std::uint64_t write_hits = hits(accesses.remote_writes);
    const std::uint64_t misses = accesses.remote() - read_hits - write_hits;
    accesses.local_reads += read_hits;
    accesses.local_writes += write_hits;
    accesses.remote_reads = accesses.remote_writes = 0;
    return static_cast<double>(misses) * cache.miss_seconds;
}

/// The hit rate of a partition: the mean of its references', weighted by their counts.
[[nodiscard]] double hit_rate_of(const DescribedInterval& interval, const Partition& partition,
                                 const std::vector<double>& simulated) {
    double hits = 0;
    double all = 0;
    for (const std::size_t r : partition.references) {
        const auto count = static_cast<double>(interval.references[r].count);
        hits += count * interval.references[r].hit_rate.value_or(simulated.empty() ? 0 : simulated[r]);
        all += count;
    }
    return all == 0 ? 0 : hits / all;
}

/// Of so many operations, each of which takes so long.
[[nodiscard]] double seconds_of(std::uint64_t count, double seconds, std::string_view what) {
    if (count == 0) return 0;
    if (!(seconds > 0))
        throw UsageError{
            fmt::format("the time of {} is needed, and was not measured; measure it with lapwing-tune --rates", what)};
    return static_cast<double>(count) * seconds;
}

[[nodiscard]] IntervalCost cost_of(const ProgramDescription& program, const DescribedInterval& interval,
                                   const std::vector<Partition>& partitions, const AccessPlatform& platform,
                                   int thread) {
    IntervalCost cost{.computation_seconds = interval.computation_seconds,
                      .barrier_seconds = static_cast<double>(interval.barriers) * platform.barrier_seconds};
    cost.synchronisation_seconds = seconds_of(interval.locks, platform.lock_seconds, "locks") +
                                   seconds_of(interval.collectives, platform.collective_seconds, "collective calls") +
                                   seconds_of(interval.notifications, platform.notify_seconds, "notified puts");
    std::vector<double> simulated;
    if (platform.cache) simulated = simulated_hit_rates(program, interval, thread, *platform.cache);
    for (const Partition& partition : partitions) {
        Partition::Accesses accesses = partition.accesses(program, interval, thread);
        if (platform.cache)
            cost.communication_seconds +=
                through_cache(*platform.cache, hit_rate_of(interval, partition, simulated), accesses);
        // All threads access the memory of one at the same time.
        const double contention = program.object(partition.object).block == 0 ? platform.contention : 1;
        cost.communication_seconds +=
            contention * (seconds_of(platform, partition.remote, false, accesses.remote_reads) +
                          seconds_of(platform, partition.remote, true, accesses.remote_writes));
        cost.communication_seconds += seconds_of(platform, AccessPattern::local, false, accesses.local_reads) +
                                      seconds_of(platform, AccessPattern::local, true, accesses.local_writes);
    }
    return cost;
}

} // namespace

RunTimePrediction predict_run_time(const ProgramDescription& program, const AccessPlatform& platform) {
    program.check();
    RunTimePrediction prediction;
    std::vector<double> threads(static_cast<std::size_t>(program.threads));
    for (const DescribedInterval& interval : program.intervals) {
        prediction.intervals.push_back({.name = interval.name,
                                        .times = interval.times,
                                        .partitions = partition_references(program, interval, platform)});
        RunTimePrediction::OfInterval& result = prediction.intervals.back();
        double longest = 0;
        for (int thread = 0; thread < program.threads; ++thread) {
            const IntervalCost cost = cost_of(program, interval, result.partitions, platform, thread);
            result.threads.push_back(cost);
            const double seconds = static_cast<double>(interval.times) * cost.seconds();
            threads[static_cast<std::size_t>(thread)] += seconds;
            longest = std::max(longest, seconds);
        }
        prediction.seconds_with_waits += longest;
    }
    const auto slowest = std::ranges::max_element(threads);
    prediction.slowest_thread = static_cast<int>(slowest - threads.begin());
    prediction.seconds = *slowest;
    return prediction;
}

} // namespace lapwing::detail::model
