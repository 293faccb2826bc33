#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace lapwing::detail::team {

class TeamState;

/// What takes part in the releases and acquires of a team, and must be closed before it: a window, as the team knows
/// it.
class EpochMember {
public:
    virtual ~EpochMember() = default;

    [[nodiscard]] virtual TeamState& team_state() const noexcept = 0;
    /// The number that all ranks know it by.
    [[nodiscard]] virtual std::uint64_t number() const noexcept = 0;
    /// What it is called in messages.
    [[nodiscard]] virtual std::string label() const = 0;

    /// Whether a release has to start something here: what has been written and not sent yet.
    [[nodiscard]] virtual bool holds_back() const noexcept = 0;
    /// Starts to complete all of that, and need not wait for any of it.
    virtual void start_release() = 0;
    /// Whether something has been sent that is not known to be complete.
    [[nodiscard]] virtual bool under_way() const noexcept = 0;
    /// Waits until all that was started is complete. Called where something had to be started or was under way; also
    /// where start_release() threw, so that what it could not start is still held back.
    virtual void finish_release() = 0;
    /// Orders what this rank has done before with what it does afterwards: the same for all members of a team.
    virtual void order_memory() = 0;
    /// Whether it keeps copies of what other ranks have.
    [[nodiscard]] virtual bool has_copies() const noexcept = 0;
    /// Forgets them: others may have written since.
    virtual void drop_copies() = 0;

    /// Collective, once its scope has left it by an exception on all ranks, and nothing of the team is under way: frees
    /// what MPI and the system have of it.
    virtual void free_left() = 0;

private:
    friend class Epoch;
    std::atomic<int> pins_{0}; ///< releases and acquires that use it at the moment
};

} // namespace lapwing::detail::team
