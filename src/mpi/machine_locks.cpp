#include "src/mpi/machine_locks.hpp"

#include <algorithm>

namespace lapwing::detail::mpi {
namespace {

using Timeout = MachineLocker::Timeout;

/// Tries until the name is taken or the timeout is over; whether it is taken. Subtracts the time from the timeout.
bool wait_for_name(MachineLocker& member, Timeout& timeout) {
    constexpr Timeout longest_sleep{2000};
    const MachineLocker::Clock::time_point begin = member.now();
    const MachineLocker::Clock::time_point end = begin + timeout;
    Timeout sleep{50};
    bool taken = member.take();
    while (!taken && member.now() < end) {
        member.sleep(sleep);
        sleep = std::min(2 * sleep, longest_sleep);
        taken = member.take();
    }
    const auto left = std::chrono::duration_cast<Timeout>(end - member.now());
    timeout = std::max(left, Timeout::zero());
    return taken;
}

} // namespace

bool lock_machines(MachineLocker& member, Timeout timeout) {
    const bool leads = member.leads();
    if (member.all_agree(!leads || member.take())) return true;
    member.give_back();
    member.order_leaders();
    bool taken = true;
    if (leads) {
        Timeout left = member.wait_for_leader_before(timeout);
        if (!member.name_is_taken_by_team()) taken = wait_for_name(member, left);
        member.pass_on(left);
    }
    static_cast<void>(member.all_agree(true)); // the last leader is through
    return taken;
}

} // namespace lapwing::detail::mpi
