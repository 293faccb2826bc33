#include "window/private_parts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

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

std::uint64_t bytes_for_all(Team& team, std::uint64_t bytes) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    std::array<std::int64_t, 1> largest{static_cast<std::int64_t>(std::min(bytes, most))};
    team.max(std::span<std::int64_t>{largest});
    return static_cast<std::uint64_t>(largest[0]);
}

void use_own_part_for_all(transport::WindowFacts& facts) {
    facts.bases.assign(static_cast<std::size_t>(facts.state.size()), facts.map.own);
    facts.map.node_first = 0;
    facts.map.node_count = facts.state.size();
    facts.map.node_index = nullptr;
    facts.map.bases = facts.bases.data();
    facts.mpi_atomics = false; // the processor's, on its own memory
}

} // namespace lapwing::detail::window
