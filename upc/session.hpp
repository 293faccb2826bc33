#pragma once

#include <memory>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

/// MPI, and the team that a program runs on. The layer above implements it.
class Session {
public:
    virtual ~Session() = default;
    [[nodiscard]] virtual Team& team() = 0;
    /// Collective, after everything that uses the team.
    virtual void close() = 0;
};

/// Collective. On `runtime`, which stays open; if that is null, on the runtime that this thread has opened over
/// MPI_COMM_WORLD, or a new one over it. Defined in runtime/composition.cpp.
[[nodiscard]] std::unique_ptr<Session> open_session(Team* runtime);

} // namespace lapwing::upc
