#pragma once

#include "model/reference_partition.hpp"

#include <string>
#include <vector>

namespace lapwing::detail::model {

/// The predicted time of one execution of an interval by a thread.
struct IntervalCost {
    double communication_seconds = 0; ///< equation 6.1
    double computation_seconds = 0;
    double barrier_seconds = 0;
    double synchronisation_seconds = 0; ///< locks, collective calls, notified puts
    [[nodiscard]] double seconds() const noexcept {
        return communication_seconds + computation_seconds + barrier_seconds + synchronisation_seconds;
    }
};

struct RunTimePrediction {
    struct OfInterval {
        std::string name = {};
        std::uint64_t times = 1;
        std::vector<Partition> partitions = {};
        std::vector<IntervalCost> threads = {};
    };
    std::vector<OfInterval> intervals = {};
    int slowest_thread = 0;
    double seconds = 0; ///< of the slowest thread, as published
    /// Including waits at barriers: the sum of the longest time in each interval.
    double seconds_with_waits = 0;
};

/// The model as published (Zhang 2007, section 6.6): the time of an interval is that of its partitions' accesses,
/// N / r(N, pattern) for each, and of its computation and barriers; a thread's time is that of all its intervals; the
/// program's, that of its slowest thread. With a cache, as in section 7.2: hits are local accesses, and misses
/// cost the miss penalty. Throws UsageError for an invalid description, or a rate that is needed and unknown.
[[nodiscard]] RunTimePrediction predict_run_time(const ProgramDescription& program, const AccessPlatform& platform);

/// Equation 7.1, in percent.
[[nodiscard]] constexpr double prediction_error(double predicted, double actual) {
    return (predicted - actual) / actual * 100;
}

} // namespace lapwing::detail::model
