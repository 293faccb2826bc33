#include "src/mpi/turns.hpp"

#include <algorithm>

namespace lapwing::detail::mpi {
namespace {

using Patience = TurnMember::Patience;

/// Tries until the name is taken or the patience is gone; whether it is taken. Takes what it needs from the patience.
bool wait_for_name(TurnMember& member, Patience& patience) {
    constexpr Patience longest_sleep{2000};
    const TurnMember::Clock::time_point begin = member.now();
    const TurnMember::Clock::time_point end = begin + patience;
    Patience sleep{50};
    bool taken = member.take();
    while (!taken && member.now() < end) {
        member.sleep(sleep);
        sleep = std::min(2 * sleep, longest_sleep);
        taken = member.take();
    }
    const auto left = std::chrono::duration_cast<Patience>(end - member.now());
    patience = std::max(left, Patience::zero());
    return taken;
}

} // namespace

bool take_turn(TurnMember& member, Patience patience) {
    const bool leads = member.leads();
    if (member.all_agree(!leads || member.take())) return true;
    member.give_back();
    member.order_leaders();
    bool taken = true;
    if (leads) {
        Patience left = member.wait_for_leader_before(patience);
        if (!member.name_is_taken_by_team()) taken = wait_for_name(member, left);
        member.pass_on(left);
    }
    static_cast<void>(member.all_agree(true)); // the last leader is through
    return taken;
}

} // namespace lapwing::detail::mpi
