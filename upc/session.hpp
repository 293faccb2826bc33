#pragma once

#include <memory>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

/// MPI, and the team that a program stands on. The room above has one.
class Session {
public:
    virtual ~Session() = default;
    [[nodiscard]] virtual Team& team() = 0;
    /// Collective, after everything that uses the team.
    virtual void close() = 0;
};

/// Collective. On `runtime`, which stays open; where that is null on the runtime that this thread has opened over
/// MPI_COMM_WORLD, or one of its own over it. runtime/composition.cpp has it.
[[nodiscard]] std::unique_ptr<Session> open_session(Team* runtime);

} // namespace lapwing::upc
