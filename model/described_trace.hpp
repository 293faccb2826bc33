#pragma once

#include "model/program_description.hpp"
#include "model/recorded_trace.hpp"
#include "model/run_time_prediction.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing::detail::model {

/// What a rank did, as a description: an interval for each place where intervals with accesses begin, and in it
/// references for each call site, object and operation. What does not happen equally often each time is in another
/// interval of the same name after it, which is executed once. Of a site there is one reference to local memory, that
/// of other ranks of the node included, and one to that of others; the order of the walk follows from the record. The
/// computation is 0: a trace does not tell it from waits and from recording.
[[nodiscard]] ProgramDescription described_trace(const RecordedTrace& trace, int rank);

/// How long each rank of a run on private memory (LAPWING_PRIVATE) computed in the intervals that begin at a place of
/// the program. Waits at barriers are not part of it.
class ComputationTimes {
public:
    /// `file` is for messages. Throws UsageError if the run was not one on private memory.
    ComputationTimes(const RecordedTrace& private_run, std::string_view file);

    /// Throws UsageError unless a recorded run is of the same program, with as many ranks.
    void check(const RecordedTrace& trace) const;
    /// Of one time of a rank's interval; 0 where the run on private memory did not come by.
    [[nodiscard]] double seconds(const RecordedTrace::OfRank& rank, std::size_t interval) const;
    /// Of all times of those intervals that the rank of the recorded run has none of.
    [[nodiscard]] double seconds_elsewhere(const RecordedTrace::OfRank& rank) const;

private:
    using Place = RecordedTrace::Place;
    std::string file_;
    struct Seconds {
        double all = 0;
        double times = 0;
    };
    std::vector<std::map<Place, Seconds>> of_ranks_;
    /// Of each rank: size and time of change.
    std::vector<std::map<std::string, std::pair<std::uint64_t, std::int64_t>>> files_;
};

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
    double elsewhere_seconds = 0; ///< of the computation, in intervals that the recorded run does not have
    double seconds = 0;
};
/// Of the slowest rank. With the times of the computation all intervals count, from the start of the run to its end,
/// and an access takes what it takes longer than one to an own element, as which the computation has it. Without them
/// (null), the time is that of the accesses, and intervals that have none are left out.
[[nodiscard]] RecordedPrediction predict_recorded(const RecordedTrace& trace, const AccessPlatform& platform,
                                                  const ComputationTimes* computation = nullptr);

} // namespace lapwing::detail::model
