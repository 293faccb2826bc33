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

/// Remote reads and writes of all threads, as they are described.
[[nodiscard]] std::array<double, 2> remote_accesses(const ProgramDescription& program) {
    std::array<double, 2> sums{};
    for (const DescribedInterval& interval : program.intervals)
        for (const Reference& reference : interval.references) {
            double remote = 0;
            for (int thread = 0; thread < program.threads; ++thread)
                remote += 1 - local_share(program.object(reference.object), reference, thread, program.threads);
            sums[reference.write ? 1 : 0] +=
                remote * static_cast<double>(reference.count) * static_cast<double>(interval.times);
        }
    return sums;
}

/// Of a reference's misses in a simulated cache, those that fetch a line: by a thread that has any.
[[nodiscard]] double lines_of_misses(const std::vector<std::vector<CachedShare>>& simulated, std::size_t reference) {
    for (const std::vector<CachedShare>& of_thread : simulated) {
        const CachedShare& share = of_thread[reference];
        if (const double misses = 1 - share.hits - share.passed; share.lines > 0 && misses > 0)
            return std::min(1.0, share.lines / misses);
    }
    return 0;
}

} // namespace

void use_counted(ProgramDescription& program, const CountedAccesses& counted, const AccessPlatform::Cache& cache) {
    const auto [reads, writes] = remote_accesses(program);
    const double all = reads + writes;
    const double passed = all > 0 ? std::min(counted.passed / all, 1.0) : 0;
    // Of random accesses a few more may be remote than are described.
    if (counted.misses > 1.05 * reads + 5 * std::sqrt(reads))
        throw UsageError{
            fmt::format("the run has counted {:.0f} reads that missed the cache, and the description has {:.0f} "
                        "reads of other threads' elements; count a run of the program that is described",
                        counted.misses, reads)};
    if (reads == 0) return;
    const double hits = std::clamp(1 - counted.misses / reads - passed, 0.0, 1.0);
    for (DescribedInterval& interval : program.intervals) {
        std::vector<std::vector<CachedShare>> simulated;
        for (const int thread : {0, program.threads - 1})
            simulated.push_back(simulated_shares(program, interval, thread, cache));
        for (std::size_t r = 0; r < interval.references.size(); ++r) {
            Reference& reference = interval.references[r];
            if (reference.write || reference.cached) continue;
            const double misses = std::max(0.0, 1 - hits - passed);
            reference.cached = CachedShare{.hits = hits,
                                           .ahead = counted.ahead / reads,
                                           .lines = misses * lines_of_misses(simulated, r),
                                           .passed = passed};
        }
    }
}

} // namespace lapwing::detail::model
