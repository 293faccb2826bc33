#pragma once

#include "pipeline/cost_model.hpp"
#include "pipeline/planner.hpp"
#include "window/team_state.hpp"

#include <lapwing/path.hpp>
#include <lapwing/team.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lapwing::pipeline {

/// A team's cost model.
class TeamCosts final : public window::TeamPart {
public:
    [[nodiscard]] CostModel& model() noexcept { return model_; }
    /// True for one caller a path: the one that is to calibrate it.
    [[nodiscard]] bool claim_calibration(Path path) noexcept {
        return !calibrated_[static_cast<std::size_t>(path)].exchange(true, std::memory_order_relaxed);
    }
    [[nodiscard]] static TeamCosts& of(const Team& team) { return team.state().part<TeamCosts>(); }

    /// The planner's decision, remembered from when the same was asked last. A window's calls with layouts plan each transfer
    /// anew, and most programs make the same few.
    [[nodiscard]] Decision decide(const TransferShape& shape, const PlanOptions& options);

private:
    struct Remembered {
        TransferShape shape;
        PlanOptions options;
        Decision decision;
        std::uint64_t version = 0; ///< of the cost model; 0: nothing here
    };
    static constexpr std::size_t most_remembered = 64;

    CostModel model_;
    std::mutex mutex_;
    std::vector<Remembered> remembered_; ///< by the hash of the shape; a later one takes the place of an earlier
    std::array<std::atomic<bool>, 4> calibrated_{}; ///< by path
};

/// Collective. Gives the team's cost model what lapwing-tune has measured on this machine, MPI and network, if anything.
void use_profile(Team& team);

} // namespace lapwing::pipeline
