#include "model/run_time_prediction.hpp"

#include "model/simulated_cache.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace lapwing::detail::model {
namespace {

/// N / r(N, pattern).
[[nodiscard]] double seconds_of(const RateCurve& curve, AccessPattern pattern, bool write, std::uint64_t accesses) {
    if (accesses == 0) return 0;
    if (curve.empty())
        throw UsageError{fmt::format("the rate of {} {} is needed, and was not measured; measure it with lapwing-tune "
                                     "--rates",
                                     name(pattern), write ? "writes" : "reads")};
    return static_cast<double>(accesses) * curve.seconds(accesses);
}
[[nodiscard]] double seconds_of(const AccessPlatform& platform, AccessPattern pattern, bool write,
                                std::uint64_t accesses) {
    return seconds_of(platform.rates.of(pattern, write), pattern, write, accesses);
}

/// What the cache makes of a partition's remote reads, or writes: the mean over its references, weighted by their
/// remote accesses.
[[nodiscard]] CachedShare share_of(const ProgramDescription& program, const DescribedInterval& interval,
                                   const Partition& partition, const std::vector<CachedShare>& simulated, int thread,
                                   bool write) {
    CachedShare sum;
    double all = 0;
    for (const std::size_t r : partition.references) {
        const Reference& reference = interval.references[r];
        if (reference.write != write) continue;
        const double local = local_share(program.object(partition.object), reference, thread, program.threads);
        const double remote = (1 - local) * static_cast<double>(reference.count);
        const CachedShare share = reference.cached.value_or(simulated[r]);
        sum.hits += remote * share.hits;
        sum.ahead += remote * share.ahead;
        sum.lines += remote * share.lines;
        sum.passed += remote * share.passed;
        all += remote;
    }
    if (all == 0) return {};
    return {sum.hits / all, sum.ahead / all, sum.lines / all, sum.passed / all};
}

/// Of remote reads, or writes: so many.
struct CachedCounts {
    CachedCounts(const CachedShare& share, std::uint64_t remote)
        : hits{part(share.hits, remote)},
          passed{std::min(part(share.passed, remote), remote - hits)},
          lines{std::min(part(share.lines, remote), remote - hits - passed)},
          ahead{part(share.ahead, remote)},
          misses{remote - hits - passed} {}
    std::uint64_t hits;
    std::uint64_t passed;
    std::uint64_t lines; ///< of the misses
    std::uint64_t ahead;
    std::uint64_t misses;

private:
    [[nodiscard]] static std::uint64_t part(double of, std::uint64_t remote) {
        return static_cast<std::uint64_t>(std::llround(of * static_cast<double>(remote)));
    }
};

/// The time of a partition's remote accesses with a cache. Hits whose time was not measured are added to the local
/// accesses; those that bypass the cache stay remote.
[[nodiscard]] CachedCost through_cache(const AccessPlatform& platform, const SharedObject& object, int threads,
                                       const std::array<CachedShare, 2>& shares, Partition::Accesses& accesses) {
    const AccessPlatform::Cache& cache = *platform.cache;
    CachedCost cost;
    const CachedCounts reads{shares[0], accesses.remote_reads};
    const CachedCounts writes{shares[1], accesses.remote_writes};
    const auto serve = [&](bool write, std::uint64_t hits, std::uint64_t& local) {
        const RateCurve& rate = platform.hit(object.dealt(threads), write);
        if (rate.empty()) local += hits;
        else cost.hit_seconds += static_cast<double>(hits) * rate.seconds(hits);
    };
    serve(false, reads.hits, accesses.local_reads);
    serve(true, writes.hits, accesses.local_writes);
    cost.miss_seconds = static_cast<double>(reads.misses - reads.lines) * cache.miss_seconds +
                        static_cast<double>(reads.lines) * cache.line_seconds +
                        static_cast<double>(reads.ahead) * cache.ahead_seconds;
    if (writes.misses > 0) {
        // Each writes a page that is written back with all that was written to it.
        const double bytes = std::min(static_cast<double>(cache.page_bytes),
                                      static_cast<double>((writes.hits + writes.misses) * object.element_bytes) /
                                          static_cast<double>(writes.misses));
        const double each =
            cache.write_miss.empty()
                ? cache.miss_seconds
                : cache.write_miss.seconds(writes.misses) +
                      std::max(0.0, bytes - static_cast<double>(object.element_bytes)) * cache.written_byte_seconds;
        cost.miss_seconds += static_cast<double>(writes.misses) * each;
    }
    const auto remote = static_cast<double>(std::max<std::uint64_t>(1, accesses.remote()));
    const auto of_all = [&](std::uint64_t CachedCounts::* count) {
        return static_cast<double>(reads.*count + writes.*count) / remote;
    };
    cost.share = {of_all(&CachedCounts::hits), of_all(&CachedCounts::ahead), of_all(&CachedCounts::lines),
                  of_all(&CachedCounts::passed)};
    accesses.remote_reads = reads.passed;
    accesses.remote_writes = writes.passed;
    return cost;
}

/// Of so many operations, each of which takes so long.
[[nodiscard]] double seconds_of(std::uint64_t count, double seconds, std::string_view what) {
    if (count == 0) return 0;
    if (!(seconds > 0))
        throw UsageError{
            fmt::format("the time of {} is needed, and was not measured; measure it with lapwing-tune --rates", what)};
    return static_cast<double>(count) * seconds;
}

/// Of remote accesses without a cache.
[[nodiscard]] double remote_seconds(const AccessPlatform& platform, const Partition& partition, bool write,
                                    std::uint64_t accesses) {
    return partition.remote_cost(accesses, [&](AccessPattern pattern, std::uint64_t count) {
        return seconds_of(platform, pattern, write, count);
    });
}

/// Of bulk transfers, lists and atomics.
[[nodiscard]] double bulk_seconds(const DescribedInterval& interval, const AccessPlatform& platform) {
    double sum = seconds_of(interval.atomics, platform.atomic_seconds, "atomics") +
                 seconds_of(interval.updates, platform.update_seconds, "atomics without a result");
    for (const DescribedTransfer& transfer : interval.transfers) {
        using Kind = DescribedTransfer::Kind;
        if (transfer.count == 0 || transfer.bytes == 0) continue;
        const bool write = transfer.kind == Kind::put || transfer.kind == Kind::scatter;
        const TransferModel& alone = platform.transfers[write ? 1 : 0];
        const RateCurve& bulk = platform.bulk[write ? 1 : 0];
        const RateCurve& list = platform.lists[write ? 1 : 0];
        const bool lists = transfer.kind == Kind::gather || transfer.kind == Kind::scatter;
        if (lists ? list.empty() : bulk.empty() && alone.empty())
            throw UsageError{fmt::format("the time of {} is needed, and was not measured; measure it with lapwing-tune "
                                         "--rates",
                                         lists ? "lists" : "bulk transfers")};
        const auto size = static_cast<double>(transfer.bytes);
        constexpr double element = 8;
        sum += static_cast<double>(transfer.count) * (lists          ? size * list.seconds(transfer.bytes)
                                                      : bulk.empty() ? alone.time(transfer.bytes)
                                                                     : bulk.of_transfer(size / element));
    }
    return sum;
}

[[nodiscard]] IntervalCost cost_of(const ProgramDescription& program, const DescribedInterval& interval,
                                   const std::vector<Partition>& partitions, const AccessPlatform& platform,
                                   const std::vector<CachedShare>& simulated, int thread) {
    IntervalCost cost{.computation_seconds = interval.computation_seconds,
                      .barrier_seconds = static_cast<double>(interval.barriers) * platform.barrier_seconds};
    cost.synchronisation_seconds = seconds_of(interval.locks, platform.lock_seconds, "locks") +
                                   seconds_of(interval.collectives, platform.collective_seconds, "collective calls") +
                                   seconds_of(interval.notifications, platform.notify_seconds, "notified puts");
    cost.transfer_seconds = bulk_seconds(interval, platform);
    for (const Partition& partition : partitions) {
        Partition::Accesses accesses = partition.accesses(program, interval, thread);
        const SharedObject& object = program.object(partition.object);
        // All threads access the memory of one at the same time.
        const double contention = object.block == 0 ? platform.contention : 1;
        double remote = 0;
        if (platform.cache) {
            const std::array<CachedShare, 2> shares{share_of(program, interval, partition, simulated, thread, false),
                                                    share_of(program, interval, partition, simulated, thread, true)};
            const CachedCost cached = through_cache(platform, object, program.threads, shares, accesses);
            cost.cached.push_back(cached);
            cost.communication_seconds += cached.hit_seconds;
            remote = cached.miss_seconds;
            // What bypasses the cache is at irregular places.
            for (const bool write : {false, true})
                remote += seconds_of(platform.passed(write), AccessPattern::baseline, write,
                                     write ? accesses.remote_writes : accesses.remote_reads);
        } else {
            remote = remote_seconds(platform, partition, false, accesses.remote_reads) +
                     remote_seconds(platform, partition, true, accesses.remote_writes);
        }
        cost.communication_seconds += contention * remote;
        for (const bool write : {false, true})
            cost.communication_seconds +=
                seconds_of(platform.local(object.dealt(program.threads), write), AccessPattern::local, write,
                           write ? accesses.local_writes : accesses.local_reads);
    }
    return cost;
}

/// What a cache makes of each thread's accesses. Threads with the same shares of local accesses do the same: one of
/// them is simulated.
class SimulatedShares {
public:
    SimulatedShares(const ProgramDescription& program, const DescribedInterval& interval,
                    const AccessPlatform& platform)
        : program_{program}, interval_{interval}, platform_{platform} {}

    [[nodiscard]] const std::vector<CachedShare>& of(int thread) {
        std::vector<double> local;
        const bool any = platform_.cache && std::ranges::any_of(interval_.references, [](const Reference& reference) {
                             return !reference.cached.has_value();
                         });
        if (any)
            for (const Reference& reference : interval_.references)
                local.push_back(local_share(program_.object(reference.object), reference, thread, program_.threads));
        const auto [found, added] = shares_.try_emplace(std::move(local), interval_.references.size());
        if (added && any) found->second = simulated_shares(program_, interval_, thread, *platform_.cache);
        return found->second;
    }

private:
    const ProgramDescription& program_;
    const DescribedInterval& interval_;
    const AccessPlatform& platform_;
    std::map<std::vector<double>, std::vector<CachedShare>> shares_;
};

/// The critical path: threads run on their own until all wait for the last one.
void find_waits(const ProgramDescription& program, RunTimePrediction& prediction) {
    std::vector<double> clocks(static_cast<std::size_t>(program.threads));
    const auto slowest = static_cast<std::size_t>(prediction.slowest_thread);
    // Of those that come last the one that is named anyway.
    const auto last_of = [&](const std::vector<double>& times) {
        const auto last = static_cast<std::size_t>(std::ranges::max_element(times) - times.begin());
        return times[slowest] >= times[last] ? slowest : last;
    };
    std::size_t begin = 0; // of what has run since they last waited
    for (std::size_t i = 0; i < program.intervals.size(); ++i) {
        const DescribedInterval& interval = program.intervals[i];
        if (interval.times == 0) continue;
        const auto times = static_cast<double>(interval.times);
        const bool waits = interval.barriers > 0 || interval.collectives > 0;
        std::vector<double> seconds;
        for (const IntervalCost& cost : prediction.intervals[i].threads) seconds.push_back(cost.seconds());
        // Before the end of the first time they may be at different places, and then never again.
        for (std::size_t t = 0; t < clocks.size(); ++t) clocks[t] += waits ? seconds[t] : times * seconds[t];
        const std::size_t last = last_of(clocks);
        for (std::size_t k = begin; k <= i; ++k) prediction.intervals[k].waited_for = static_cast<int>(last);
        if (!waits) continue;
        const std::size_t longest = last_of(seconds);
        if (interval.times > 1) prediction.intervals[i].waited_for = static_cast<int>(longest);
        std::ranges::fill(clocks, clocks[last] + (times - 1) * seconds[longest]);
        begin = i + 1;
    }
    prediction.seconds_with_waits = *std::ranges::max_element(clocks);
}

/// Beside a computation accesses take what exceeds private memory, which the computation's time contains: but no more
/// than that time.
[[nodiscard]] IntervalCost cost_beside_computation(const ProgramDescription& program, const DescribedInterval& interval,
                                                   const std::vector<Partition>& partitions,
                                                   const AccessPlatform& platform, const AccessPlatform& beside,
                                                   const std::vector<CachedShare>& simulated, int thread) {
    IntervalCost whole = cost_of(program, interval, partitions, platform, simulated, thread);
    if (interval.computation_seconds <= 0) return whole;
    IntervalCost exceeding = cost_of(program, interval, partitions, beside, simulated, thread);
    whole.computation_seconds = 0;
    return whole.seconds() > exceeding.seconds() ? whole : exceeding;
}

} // namespace

RunTimePrediction predict_run_time(const ProgramDescription& program, const AccessPlatform& platform) {
    program.check();
    RunTimePrediction prediction;
    const AccessPlatform beside = beside_private_memory(platform);
    std::vector<double> threads(static_cast<std::size_t>(program.threads));
    for (const DescribedInterval& interval : program.intervals) {
        prediction.intervals.push_back({.name = interval.name,
                                        .times = interval.times,
                                        .partitions = partition_references(program, interval, platform)});
        RunTimePrediction::OfInterval& result = prediction.intervals.back();
        SimulatedShares shares{program, interval, platform};
        for (int thread = 0; thread < program.threads; ++thread) {
            const IntervalCost cost = cost_beside_computation(program, interval, result.partitions, platform, beside,
                                                              shares.of(thread), thread);
            result.threads.push_back(cost);
            threads[static_cast<std::size_t>(thread)] += static_cast<double>(interval.times) * cost.seconds();
        }
    }
    const auto slowest = std::ranges::max_element(threads);
    prediction.slowest_thread = static_cast<int>(slowest - threads.begin());
    prediction.seconds = *slowest;
    find_waits(program, prediction);
    return prediction;
}

std::vector<IntervalCost> predict_thread(const ProgramDescription& program, const AccessPlatform& platform,
                                         int thread) {
    program.check();
    const AccessPlatform beside = beside_private_memory(platform);
    std::vector<IntervalCost> costs;
    for (const DescribedInterval& interval : program.intervals) {
        SimulatedShares shares{program, interval, platform};
        costs.push_back(cost_beside_computation(program, interval, partition_references(program, interval, platform),
                                                platform, beside, shares.of(thread), thread));
    }
    return costs;
}

} // namespace lapwing::detail::model
