#include "window/private_parts.hpp"

#include <cstddef>

namespace lapwing::detail::support::settings_in {
void window_private_parts() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::window {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<bool> private_setting{
    {.name = "LAPWING_PRIVATE",
     .default_value = "off",
     .unit = "",
     .help = "for predictions: on: a rank accesses its own part of an array or window in the place of all others', so "
             "that a run takes the time of its computation, and its results are wrong",
     .choices = {},
     .collective = true},
    {{"off", false}, {"on", true}}};

} // namespace

bool parts_are_private(const Settings& settings) { return private_setting.get(settings); }

void use_own_part_for_all(transport::WindowFacts& facts) {
    facts.bases.assign(static_cast<std::size_t>(facts.state.size()), facts.map.own);
    facts.map.node_first = 0;
    facts.map.node_count = facts.state.size();
    facts.map.node_index = nullptr;
    facts.map.bases = facts.bases.data();
    facts.mpi_atomics = false; // the processor's, on its own memory
}

} // namespace lapwing::detail::window
