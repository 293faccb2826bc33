#pragma once

#include "harness.hpp"

#include <lapwing/team.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace lapwing::bench {

/// What all ranks do together, round after round; an iteration is a round.
[[nodiscard]] inline Subject rounds_of(Team& team, std::string name, std::function<void()> once) {
    return {.name = std::move(name), .run = [&team, once = std::move(once)](std::uint64_t rounds) {
                return together(team, [&] {
                    for (std::uint64_t k = 0; k < rounds; ++k) once();
                });
            }};
}

} // namespace lapwing::bench
