#include "pipeline/team_costs.hpp"

#include "pipeline/profile.hpp"

namespace lapwing::pipeline {

void use_profile(Team& team) {
    const std::optional<CostTables> tables = load_profile(team);
    if (!tables) return;
    TeamCosts::of(team).model().set(*tables, Source::profile);
    // One table of copy kernels serves the process: it is about its processor.
    datatype::CopyChoices choices;
    choices.set(tables->choices);
    if (choices != datatype::copy_choices()) datatype::use_copy_choices(choices);
}

Decision TeamCosts::decide(const TransferShape& shape, const PlanOptions& options) {
    const std::uint64_t version = model_.version();
    std::size_t at = 0;
    const auto mix = [&at](std::uint64_t value) { at = (at ^ value) * 0x9e3779b97f4a7c15U; };
    for (const std::uint64_t value :
         {shape.bytes, shape.local.blocks, shape.local.extent_bytes, shape.remote.blocks, shape.remote.extent_bytes,
          static_cast<std::uint64_t>(shape.direction) << 32 | static_cast<std::uint64_t>(shape.path) << 16 |
              static_cast<std::uint64_t>(options.strategy)})
        mix(value);
    at = (at >> 32) % most_remembered;
    {
        const std::lock_guard guard{mutex_};
        if (remembered_.empty()) remembered_.resize(most_remembered);
        const Remembered& found = remembered_[at];
        if (found.version == version && found.shape == shape && found.options == options) return found.decision;
    }
    const Decision decision = pipeline::decide(shape, model_.transfers(shape.path, shape.direction, shape.bytes),
                                               model_.transfers(Path::service, shape.direction, shape.bytes), model_.copy(), options);
    const std::lock_guard guard{mutex_};
    remembered_[at] = {shape, options, decision, version};
    return decision;
}

} // namespace lapwing::pipeline
