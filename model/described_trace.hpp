#pragma once

#include "model/program_description.hpp"
#include "model/recorded_trace.hpp"
#include "model/run_time_prediction.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::model {

/// What a rank did, as a description: an interval for each place where intervals with accesses begin, and in it a
/// reference for each call site, object and operation. The share of local accesses and the order of the walk follow
/// from the record; memory of other ranks of the node counts as local. The computation is 0: a trace does not tell it
/// from waits and from recording.
[[nodiscard]] ProgramDescription described_trace(const RecordedTrace& trace, int rank);

/// The time of a recorded run on a platform.
struct RecordedPrediction {
    struct OfInterval {
        std::size_t number = 0; ///< of the rank's intervals
        std::uint64_t times = 0;
        double recorded_seconds = 0; ///< with the computation and what recording took
        IntervalCost cost = {};      ///< of one time
    };
    std::vector<OfInterval> intervals = {}; ///< of the slowest rank
    int slowest_rank = 0;
    double seconds = 0;
};
/// Of the slowest rank; intervals without accesses, as at the start, are left out.
[[nodiscard]] RecordedPrediction predict_recorded(const RecordedTrace& trace, const AccessPlatform& platform);

} // namespace lapwing::detail::model
