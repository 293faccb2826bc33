#pragma once

#include "model/program_description.hpp"
#include "model/recorded_trace.hpp"
#include "model/run_time_prediction.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::model {

/// What a rank did, as a description: an interval for each place where intervals with accesses begin, and in it
/// references for each call site, object and operation. What does not happen equally often each time is in another
/// interval of the same name after it, which is executed once. Of a site there is one reference to local memory, that
/// of other ranks of the node included, and one to that of others; the order of the walk follows from the record. The
/// computation is 0: a trace does not tell it from waits and from recording.
[[nodiscard]] ProgramDescription described_trace(const RecordedTrace& trace, int rank);

/// The time of a recorded run on a platform.
struct RecordedPrediction {
    struct OfInterval {
        std::size_t number = 0; ///< of the rank's intervals
        std::uint64_t times = 0;
        double recorded_seconds = 0; ///< with the computation and what recording took
        IntervalCost cost = {};      ///< of one time, on average
    };
    std::vector<OfInterval> intervals = {}; ///< of the slowest rank
    int slowest_rank = 0;
    double seconds = 0;
};
/// Of the slowest rank; intervals without accesses, as at the start, are left out.
[[nodiscard]] RecordedPrediction predict_recorded(const RecordedTrace& trace, const AccessPlatform& platform);

} // namespace lapwing::detail::model
