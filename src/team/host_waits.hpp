#pragma once

#include <mpi.h>

namespace lapwing::detail::team {

class TeamState;

/// The program's own blocking calls of MPI, in which a process without a progress thread would serve no other rank. The
/// library lapwing::transparent turns them into non-blocking ones, and serves the teams of this process until they are
/// complete.
class HostWaits {
public:
    /// Whether this process has no progress thread, by MPI's level or LAPWING_PROGRESS in the environment, or has a
    /// team without one, by that team's settings: for calls that match blocking and non-blocking ones.
    [[nodiscard]] static bool serve() noexcept;
    /// The same for collective calls on `communicator`, for which all its ranks must decide alike, since blocking and
    /// non-blocking collective calls do not match each other (MPI 3.1, section 5.12). MPI's level and the environment
    /// are the same on all ranks. A team's settings are known to its own ranks only: they count if all of the
    /// communicator's ranks belong to the team.
    [[nodiscard]] static bool serve(MPI_Comm communicator) noexcept;

    /// A team without a progress thread: from its creation to its close, both of which all its ranks make in the same
    /// order with their other collective calls. One that is left stays.
    static void add(const TeamState& team);
    static void remove(const TeamState& team) noexcept;

    /// Calls `done`, which makes an MPI test and returns MPI's code, until it has set its flag or failed.
    template <class Done>
    [[nodiscard]] static int until(Done&& done) noexcept {
        for (Wait wait;;) {
            int flag = 0;
            if (const int code = done(&flag); code != MPI_SUCCESS || flag != 0) return code;
            wait.go_on();
        }
    }

private:
    class Wait {
    public:
        void go_on() noexcept;

    private:
        unsigned fruitless_ = 0;
    };
};

} // namespace lapwing::detail::team
