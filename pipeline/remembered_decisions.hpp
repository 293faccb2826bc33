#pragma once

#include "model/cost_model.hpp"
#include "pipeline/planner.hpp"
#include "src/support/mutex.hpp"
#include "src/team/team_state.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lapwing::detail::pipeline {

/// The planner's last decisions for a team's transfers. A window's calls with layouts plan each transfer anew, and most
/// programs make the same few.
class RememberedDecisions final : public team::TeamPart {
public:
    [[nodiscard]] Decision decide(const model::CostModel& costs, const TransferShape& shape,
                                  const PlanOptions& options);

private:
    struct Remembered {
        TransferShape shape;
        PlanOptions options;
        Decision decision;
        std::uint64_t version = 0; ///< of the cost model; 0: nothing here
    };
    static constexpr std::size_t most_remembered = 64;

    support::Mutex mutex_{support::LockRank::leaf};
    std::vector<Remembered> remembered_; ///< by the hash of the shape; a later one takes the place of an earlier
};

} // namespace lapwing::detail::pipeline
