#pragma once

#include <mpi.h>

namespace lapwing::detail::team {

/// A team's copies of the program's communicator.
class Communicators {
public:
    Communicators() = default;
    Communicators(const Communicators&) = delete;
    Communicators& operator=(const Communicators&) = delete;

    /// Collective.
    void open(MPI_Comm communicator);
    /// Collective: frees all but collectives().
    void close_others() noexcept;
    void close() noexcept;

    /// For collective calls and windows.
    [[nodiscard]] MPI_Comm collectives() const noexcept { return collectives_; }
    /// For the engine's messages alone.
    [[nodiscard]] MPI_Comm engine() const noexcept { return engine_; }

private:
    MPI_Comm collectives_ = MPI_COMM_NULL;
    MPI_Comm engine_ = MPI_COMM_NULL;
};

} // namespace lapwing::detail::team
