// Shared by the tests of bad input.
#pragma once

#include "team/team_test.hpp"

#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <cstdint>

namespace test {

/// Collective: after an error the program goes on. Puts, atomics and barriers work, and the barriers of the ranks still
/// belong together. `window` has at least 16 bytes a rank.
inline void check_goes_on(lapwing::Team& team, lapwing::Window& window) {
    team.barrier();
    const auto before = window.local_as<std::int64_t>()[1];
    window.put(next(team), lapwing::Offset{0}, std::int64_t{4711 + team.rank().value});
    team.barrier();
    CHECK(window.local_as<std::int64_t>()[0] == 4711 + previous(team).value);
    window.atomic<std::int64_t>(next(team), lapwing::Offset{8}).fetch_add(1);
    team.barrier();
    CHECK(window.local_as<std::int64_t>()[1] == before + 1);
    team.barrier();
}

} // namespace test
