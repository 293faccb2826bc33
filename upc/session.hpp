#pragma once

#include <memory>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

/// MPI, and a team of all ranks. The room above has one.
class Session {
public:
    virtual ~Session() = default;
    [[nodiscard]] virtual Team& team() = 0;
    /// Collective, after everything that uses the team.
    virtual void close() = 0;
};

/// Collective over MPI_COMM_WORLD. src/runtime/composition.cpp has it.
[[nodiscard]] std::unique_ptr<Session> open_session();

} // namespace lapwing::upc
