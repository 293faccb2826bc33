#include "model/team_costs.hpp"

#include "model/profile.hpp"

namespace lapwing::detail::model {

void use_profile(Team& team, std::uint32_t* note) {
    const std::optional<CostTables> tables = load_profile(team, note);
    if (!tables) return;
    TeamCosts::of(team).model().set(*tables, Source::profile);
    // The process has one table of copy kernels, since it describes the processor.
    kernels::CopyChoices choices;
    choices.set(tables->choices);
    if (choices != kernels::copy_choices()) kernels::use_copy_choices(choices);
}

} // namespace lapwing::detail::model
