#pragma once

#include <mpi.h>

namespace lapwing::window {

/// The host program's own blocking calls of MPI, in which a process without a progress thread would serve nobody. The library
/// lapwing::transparent makes non-blocking ones of them, and serves the teams of this process until they are complete.
class HostWaits {
public:
    /// Whether this process has no progress thread, so that its blocking calls must serve: the same for all calls of a process,
    /// since blocking and non-blocking collective calls do not match each other (MPI 3.1, section 5.12).
    [[nodiscard]] static bool serve() noexcept;

    /// Calls `done`, which tests something of MPI's and returns MPI's code, until it has set its flag or failed.
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

} // namespace lapwing::window
