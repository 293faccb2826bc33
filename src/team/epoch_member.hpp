#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace lapwing::detail::team {

class TeamState;

/// What takes part in the releases and acquires of a team, and must be closed before it: a window, as the team sees it.
class EpochMember {
public:
    virtual ~EpochMember() = default;

    [[nodiscard]] virtual TeamState& team_state() const noexcept = 0;
    /// The number that all ranks know it by.
    [[nodiscard]] virtual std::uint64_t number() const noexcept = 0;
    /// Its name in messages.
    [[nodiscard]] virtual std::string label() const = 0;

    /// Whether a release has to start something here: writes that have not been sent yet.
    [[nodiscard]] virtual bool holds_back() const noexcept = 0;
    /// Starts to send those writes; need not wait for any.
    virtual void start_release() = 0;
    /// Whether something has been sent that is not known to be complete.
    [[nodiscard]] virtual bool under_way() const noexcept = 0;
    /// Waits until all that was started is complete. Called where something had to be started or was under way, also
    /// where start_release() threw: what it could not start is then still held back.
    virtual void finish_release() = 0;
    /// Orders what this rank has done before with what it does afterwards: the same for all members of a team.
    virtual void order_memory() = 0;
    /// Whether it has copies of other ranks' data.
    [[nodiscard]] virtual bool has_copies() const noexcept = 0;
    /// Discards them: others may have written since.
    virtual void drop_copies() = 0;

    /// MPI is about to be finalized while it is open: its calls throw UsageError from now on.
    virtual void on_finalize() noexcept = 0;
    /// Collective, after its scope was left by an exception on all ranks, and nothing of the team is under way: frees
    /// the resources of MPI and the system.
    virtual void free_left() = 0;

private:
    friend class Epoch;
    std::atomic<int> pins_{0}; ///< releases and acquires that use it at the moment
};

} // namespace lapwing::detail::team
