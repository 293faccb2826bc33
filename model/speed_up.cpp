#include "model/speed_up.hpp"

#include "model/reference_partition.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

namespace lapwing::detail::model {
namespace {

/// N G.
[[nodiscard]] double weighted(const AccessPlatform& platform, AccessPattern pattern, bool write,
                              std::uint64_t accesses) {
    if (accesses == 0) return 0;
    if (platform.rates.of(pattern, write).empty())
        throw UsageError{fmt::format("the rate of {} {} is needed, and was not measured; measure it with lapwing-tune "
                                     "--rates",
                                     name(pattern), write ? "writes" : "reads")};
    return static_cast<double>(accesses) * platform.concurrency(pattern, write, accesses);
}

[[nodiscard]] double remote(const AccessPlatform& platform, const Partition& partition, bool write,
                            std::uint64_t accesses) {
    return partition.remote_cost(accesses, [&](AccessPattern pattern, std::uint64_t count) {
        return weighted(platform, pattern, write, count);
    });
}

} // namespace

SpeedUp predicted_speed_up(const ProgramDescription& program, const AccessPlatform& platform) {
    program.check();
    SpeedUp result;
    double all = 0;
    double normalised = 0;
    for (const DescribedInterval& interval : program.intervals) {
        const auto times = static_cast<double>(interval.times);
        const auto private_accesses = static_cast<double>(interval.private_accesses);
        const std::vector<Partition> partitions = partition_references(program, interval, platform);
        for (int thread = 0; thread < program.threads; ++thread) {
            all += times * private_accesses;
            normalised += times * private_accesses;
            for (const Partition& partition : partitions) {
                const Partition::Accesses of = partition.accesses(program, interval, thread);
                all += times * static_cast<double>(of.local() + of.remote());
                normalised += times * (weighted(platform, AccessPattern::local, false, of.local_reads) +
                                       weighted(platform, AccessPattern::local, true, of.local_writes) +
                                       remote(platform, partition, false, of.remote_reads) +
                                       remote(platform, partition, true, of.remote_writes));
            }
        }
    }
    result.sequential = program.sequential_accesses ? static_cast<double>(*program.sequential_accesses) : all;
    result.normalised = normalised / program.threads;
    return result;
}

} // namespace lapwing::detail::model
