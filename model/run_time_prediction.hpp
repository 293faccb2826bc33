#pragma once

#include "model/reference_partition.hpp"

#include <string>
#include <vector>

namespace lapwing::detail::model {

/// What a cache makes of a partition.
struct CachedCost {
    CachedShare share = {}; ///< of reads and writes together
    double hit_seconds = 0; ///< of those that are not counted as local accesses
    double miss_seconds = 0;
};

/// The predicted time of one execution of an interval by a thread.
struct IntervalCost {
    double communication_seconds = 0; ///< equation 6.1
    double computation_seconds = 0;
    double barrier_seconds = 0;
    double transfer_seconds = 0;         ///< of bulk transfers, lists and atomics
    double synchronisation_seconds = 0;  ///< locks, collective calls, notified puts
    std::vector<CachedCost> cached = {}; ///< of each partition, with a cache
    [[nodiscard]] double seconds() const noexcept {
        return communication_seconds + transfer_seconds + computation_seconds + barrier_seconds +
               synchronisation_seconds;
    }
};

struct RunTimePrediction {
    struct OfInterval {
        std::string name = {};
        std::uint64_t times = 1;
        std::vector<Partition> partitions = {};
        std::vector<IntervalCost> threads = {};
        int waited_for = 0; ///< the thread that the critical path goes through
    };
    std::vector<OfInterval> intervals = {};
    int slowest_thread = 0;
    double seconds = 0; ///< of the slowest thread, as published
    /// The critical path: at barriers and collective calls all threads wait for the one that comes last.
    double seconds_with_waits = 0;
};

/// The model as published (Zhang 2007, section 6.6): the time of an interval is that of its partitions' accesses,
/// N / r(N, pattern) for each, and of its computation and barriers. A computation has all accesses already, to private
/// memory: beside it they take what they take longer than that, where private memory was measured. A thread's time is
/// that of all its intervals; the program's, that of its slowest thread. With a cache, as in section 7.2: hits are
/// local accesses, or take what was measured of them, misses cost the miss penalty, of a page or of a line, and what
/// bypasses the cache a baseline access. Throws UsageError for an invalid description, or a rate that is needed and
/// unknown.
[[nodiscard]] RunTimePrediction predict_run_time(const ProgramDescription& program, const AccessPlatform& platform);

/// The same for one thread: the costs of its intervals.
[[nodiscard]] std::vector<IntervalCost> predict_thread(const ProgramDescription& program,
                                                       const AccessPlatform& platform, int thread);

/// Equation 7.1, in percent.
[[nodiscard]] constexpr double prediction_error(double predicted, double actual) {
    return (predicted - actual) / actual * 100;
}

} // namespace lapwing::detail::model
