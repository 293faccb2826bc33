#include "model/recorded_hits.hpp"

#include "model/simulated_cache.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::model {

std::optional<CachedShare> recorded_share(const RecordedTrace& trace, const std::string& object,
                                          const AccessPlatform::Cache& cache) {
    trace::ReuseCounts reuse;
    for (const RecordedTrace::OfRank& rank : trace.of_ranks)
        for (const RecordedTrace::OfRecord& of : rank.records) {
            if (of.record.object == 0 || of.record.affinity == trace::Affinity::own) continue;
            const RecordedTrace::OfObject& found = rank.objects[of.record.object - 1];
            if (!found.other_team && found.name == object) reuse += of.record.within;
        }
    const auto all = static_cast<double>(reuse.total());
    if (all == 0) return {};
    // A page that follows another one is fetched ahead.
    constexpr std::uint64_t page = std::uint64_t{1} << trace::ReuseSample::page_bits;
    const double ahead = cache.read_ahead_pages == 0 ? 0 : static_cast<double>(reuse.sequential);
    const std::uint64_t pages = std::max<std::uint64_t>(1, cache.pages * cache.page_bytes / page);
    return CachedShare{.hits = std::min(1.0, (reuse.hits(pages) + ahead) / all), .ahead = ahead / all};
}

void use_recorded_shares(ProgramDescription& program, const RecordedTrace& trace, const AccessPlatform::Cache& cache) {
    bool any = false;
    for (DescribedInterval& interval : program.intervals)
        for (Reference& reference : interval.references) {
            const std::optional<CachedShare> share = recorded_share(trace, reference.object, cache);
            any = any || share.has_value();
            if (!reference.cached) reference.cached = share;
        }
    if (!any)
        throw UsageError{"the trace has no single accesses to other ranks' elements of objects with the description's "
                         "names; name the arrays of the program as the description does ({.name = …})"};
}

namespace {

/// Of all threads.
struct RemoteAccesses {
    std::array<double, 2> described{}; ///< reads and writes
    std::array<double, 2> passed{};    ///< of these, those that bypass a simulated cache
};

/// Of a thread's accesses by a reference.
[[nodiscard]] double remote_share(const ProgramDescription& program, const Reference& reference, int thread) {
    return 1 - local_share(program.object(reference.object), reference, thread, program.threads);
}

/// The shares of an interval's references in a simulated cache: the means of the first thread's and the last one's.
[[nodiscard]] std::vector<CachedShare> mean_shares(const ProgramDescription& program, const DescribedInterval& interval,
                                                   const AccessPlatform::Cache& cache) {
    std::vector<CachedShare> means(interval.references.size());
    std::vector<double> weights(means.size());
    for (const int thread : {0, program.threads - 1}) {
        const std::vector<CachedShare> shares = simulated_shares(program, interval, thread, cache);
        for (std::size_t r = 0; r < means.size(); ++r) {
            const double remote = remote_share(program, interval.references[r], thread);
            if (remote <= 0) continue;
            weights[r] += remote;
            const double part = remote / weights[r];
            for (double CachedShare::* const of :
                 {&CachedShare::hits, &CachedShare::ahead, &CachedShare::lines, &CachedShare::passed})
                means[r].*of += part * (shares[r].*of - means[r].*of);
        }
    }
    return means;
}

[[nodiscard]] RemoteAccesses remote_accesses(const ProgramDescription& program,
                                             const std::vector<std::vector<CachedShare>>& simulated) {
    RemoteAccesses sums;
    for (std::size_t i = 0; i < program.intervals.size(); ++i) {
        const DescribedInterval& interval = program.intervals[i];
        for (std::size_t r = 0; r < interval.references.size(); ++r) {
            const Reference& reference = interval.references[r];
            double remote = 0;
            for (int thread = 0; thread < program.threads; ++thread) remote += remote_share(program, reference, thread);
            remote *= static_cast<double>(reference.count) * static_cast<double>(interval.times);
            const std::size_t kind = reference.write ? 1 : 0;
            sums.described[kind] += remote;
            sums.passed[kind] += remote * simulated[i][r].passed;
        }
    }
    return sums;
}

/// Of what has bypassed the cache, the reads and the writes: as in a simulated cache, or, if nothing bypasses that, as
/// the accesses are shared out.
[[nodiscard]] std::array<double, 2> passed_of(const CountedAccesses& counted, const RemoteAccesses& remote) {
    const std::array<double, 2>& as = remote.passed[0] + remote.passed[1] > 0 ? remote.passed : remote.described;
    const double all = as[0] + as[1];
    // What one kind cannot have taken is the other's.
    const double most_reads = std::max(0.0, remote.described[0] - counted.misses);
    const double writes = std::min(remote.described[1], all > 0 ? counted.passed * as[1] / all : 0.0);
    const double reads = std::clamp(counted.passed - writes, 0.0, most_reads);
    return {reads, std::clamp(counted.passed - reads, 0.0, remote.described[1])};
}

/// Of the misses in a simulated cache, those that fetch a line.
[[nodiscard]] double lines_of_misses(const CachedShare& simulated) {
    const double misses = 1 - simulated.hits - simulated.passed;
    return misses > 0 ? std::min(1.0, simulated.lines / misses) : 0;
}

/// Writes of which a counted share has bypassed the cache; of the others as many find their page as in a simulated one.
[[nodiscard]] CachedShare share_of_writes(const CachedShare& simulated, double passed) {
    const double through = 1 - simulated.passed;
    return {.hits = through > 0 ? (1 - passed) * simulated.hits / through : 0, .passed = passed};
}

} // namespace

void use_counted(ProgramDescription& program, const CountedAccesses& counted, const AccessPlatform::Cache& cache) {
    std::vector<std::vector<CachedShare>> simulated;
    for (const DescribedInterval& interval : program.intervals)
        simulated.push_back(mean_shares(program, interval, cache));
    const RemoteAccesses remote = remote_accesses(program, simulated);
    const auto [reads, writes] = remote.described;
    // Of random accesses a few more may be remote than are described.
    if (counted.misses > 1.05 * reads + 5 * std::sqrt(reads))
        throw UsageError{
            fmt::format("the run has counted {:.0f} reads that missed the cache, and the description has {:.0f} "
                        "reads of other threads' elements; count a run of the program that is described",
                        counted.misses, reads)};
    const auto [passed_reads, passed_writes] = passed_of(counted, remote);
    const double misses = reads > 0 ? std::min(1.0, counted.misses / reads) : 0;
    const double passed = reads > 0 ? std::min(passed_reads / reads, 1 - misses) : 0;
    for (std::size_t i = 0; i < program.intervals.size(); ++i) {
        std::vector<Reference>& references = program.intervals[i].references;
        for (std::size_t r = 0; r < references.size(); ++r) {
            if (references[r].cached) continue;
            if (references[r].write && writes > 0)
                references[r].cached = share_of_writes(simulated[i][r], passed_writes / writes);
            else if (!references[r].write && reads > 0)
                references[r].cached = CachedShare{.hits = 1 - misses - passed,
                                                   .ahead = counted.ahead / reads,
                                                   .lines = misses * lines_of_misses(simulated[i][r]),
                                                   .passed = passed};
        }
    }
}

} // namespace lapwing::detail::model
