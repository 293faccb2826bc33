#include "pipeline/round_robin.hpp"

#include "src/support/backoff.hpp"
#include "src/team/team_state.hpp"

#include <algorithm>
#include <cstddef>

namespace lapwing::detail::pipeline {

bool test_first(std::span<Completion> transfers) {
    constexpr std::size_t at_a_time = 16;
    if (transfers.front().test()) return true;
    for (Completion& other : transfers.subspan(1, std::min(at_a_time, transfers.size()) - 1)) (void)other.test();
    return false;
}

void wait_round_robin(team::TeamState& team, std::span<Completion> transfers) {
    constexpr int most_rounds = 10'000;
    support::Backoff backoff{team.topology().processors().share()};
    for (; !transfers.empty(); transfers = transfers.subspan(1)) {
        for (int round = 0; transfers.size() > 1 && round < most_rounds && !test_first(transfers); ++round) {
            if (team.progress()) backoff.reset();
            else backoff.pause();
        }
        transfers.front().wait();
    }
}

} // namespace lapwing::detail::pipeline
