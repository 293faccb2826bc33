#pragma once

#include "pipeline/cost_model.hpp"
#include "window/team_state.hpp"

#include <lapwing/team.hpp>

namespace lapwing::pipeline {

/// A team's cost model.
class TeamCosts final : public window::TeamPart {
public:
    [[nodiscard]] CostModel& model() noexcept { return model_; }
    [[nodiscard]] static TeamCosts& of(const Team& team) { return team.state().part<TeamCosts>(); }

private:
    CostModel model_;
};

/// Collective. Gives the team's cost model what lapwing-tune has measured on this machine, MPI and network, if anything.
void use_profile(Team& team);

} // namespace lapwing::pipeline
