#include "pipeline/team_costs.hpp"

#include "pipeline/profile.hpp"

namespace lapwing::pipeline {

void use_profile(Team& team) {
    if (const std::optional<CostTables> tables = load_profile(team)) TeamCosts::of(team).model().set(*tables, Source::profile);
}

} // namespace lapwing::pipeline
