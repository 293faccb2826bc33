#pragma once

#include "model/cost_model.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/path.hpp>
#include <lapwing/team.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail::model {

/// A team's cost model.
class TeamCosts final : public team::TeamPart {
public:
    [[nodiscard]] CostModel& model() noexcept { return model_; }
    /// True for one caller per path, which must calibrate it.
    [[nodiscard]] bool claim_calibration(Path path) noexcept {
        return !calibrated_[static_cast<std::size_t>(path)].exchange(true, std::memory_order_relaxed);
    }
    [[nodiscard]] static TeamCosts& of(const Team& team) { return team.state().part<TeamCosts>(); }

private:
    CostModel model_;
    std::array<std::atomic<bool>, 4> calibrated_{}; ///< by path
};

/// Collective. Gives the team's cost model what lapwing-tune has measured on this machine, MPI and network, if
/// anything. `note`: as load_profile().
void use_profile(Team& team, std::uint32_t* note = nullptr);

} // namespace lapwing::detail::model
