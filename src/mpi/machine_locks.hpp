#pragma once

#include <chrono>

namespace lapwing::detail::mpi {

/// One rank of a team that needs exclusive use of the machines of all its ranks for a while: the calls that
/// lock_machines() makes.
///
/// One of the team's ranks on each machine leads. A machine has one name, which one process holds at a time.
class MachineLocker {
public:
    using Clock = std::chrono::steady_clock;
    using Timeout = std::chrono::microseconds;

    virtual ~MachineLocker() = default;

    [[nodiscard]] virtual bool leads() const = 0;
    /// Takes the machine's name without waiting, and holds it until give_back(). Whether this succeeded.
    [[nodiscard]] virtual bool take() = 0;
    virtual void give_back() = 0;

    /// Collective over the team. Whether `own` holds on all ranks.
    [[nodiscard]] virtual bool all_agree(bool own) = 0;
    /// Collective over the team. Puts the leaders into an order of all machines that is the same for every team.
    virtual void order_leaders() = 0;
    /// After order_leaders(): a leader before this one has the same name to take.
    [[nodiscard]] virtual bool name_is_taken_by_team() const = 0;
    /// After order_leaders(): waits for the leader before this one, and returns what it passed on; `all` for the first.
    [[nodiscard]] virtual Timeout wait_for_leader_before(Timeout all) = 0;
    virtual void pass_on(Timeout left) = 0;

    [[nodiscard]] virtual Clock::time_point now() const = 0;
    virtual void sleep(Timeout time) = 0;
};

/// Collective over a team whose ranks are all here: each calls it with its member. On return the leaders hold the names
/// of their machines. False: this rank leads, has waited for its machine's name until the timeout was over, and goes on
/// without.
///
/// All names are tried at once, which is enough where nobody else wants them. If one of them was missing, all are given
/// back, and then taken one after the other in an order of machines that is the same for every team. So no two teams
/// wait for each other: of teams that want the same machines, the one that takes the first of them gets them all. A
/// holder of names waits only for machines that come later in the order, or for its own team, whose ranks are all in
/// this call.
///
/// `timeout` is for all machines together: a leader passes on what is left of it.
[[nodiscard]] bool lock_machines(MachineLocker& member, MachineLocker::Timeout timeout);

} // namespace lapwing::detail::mpi
