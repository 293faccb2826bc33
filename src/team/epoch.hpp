#pragma once

#include "src/support/biased_mutex.hpp"
#include "src/support/mutex.hpp"
#include "src/team/epoch_member.hpp"
#include "src/team/flusher.hpp"
#include "src/team/remote_functions.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lapwing::detail::team {

/// The releases and acquires of a team: one of each for all its windows at once. Teams that were made from one another
/// share their windows here, so that the synchronisation of any of them orders the windows of all.
class Epoch {
public:
    explicit Epoch(TeamState& team) : team_{team}, shared_{std::make_shared<Shared>()} {}

    /// From now on shares windows with `other`, from whose team this one was made. Before this team has any window.
    void join(const Epoch& other) {
        {
            const support::BiasedMutex::Guard guard{other.shared_->mutex};
            other.shared_->functions.insert(other.shared_->functions.end(), shared_->functions.begin(),
                                            shared_->functions.end());
        }
        shared_ = other.shared_;
        founder_ = false;
    }

    /// All windows start before the first is waited for, so that their round trips overlap; the team holds no lock
    /// meanwhile. A failure in one does not keep the others from completing.
    void release();
    void acquire();
    /// Whether a release and an acquire have nothing to do at the moment except to order accesses to memory.
    [[nodiscard]] bool only_memory();

    void add(EpochMember& member);
    /// The team's functions: releases of all teams that share windows with it wait for their calls.
    void own(std::unique_ptr<RemoteFunctions> functions);
    [[nodiscard]] RemoteFunctions& functions() noexcept { return *functions_; }
    /// As the removal of a member.
    void leave_functions() noexcept;
    /// What sends writes that no release follows, where there is a progress thread; else null. The first call starts
    /// it.
    [[nodiscard]] std::shared_ptr<Flusher> flusher();
    /// On return nothing of the team's windows is sent without a release any more: the team closes, or is left.
    void stop_flusher() noexcept;
    /// The member has copies now, or has none any more. Ignored for one that is not in the list.
    void copies_changed(EpochMember& member);
    /// Returns when no release or acquire of another thread uses it any more, making progress meanwhile.
    void remove(EpochMember& member) noexcept;
    /// MPI is about to be finalized: tells every member.
    void on_finalize() noexcept;
    [[nodiscard]] std::uint64_t next_window_number() noexcept { return next_window_number_++; }
    /// The windows that are open, as in "2 of its windows are open, the first is Window(#1)"; empty if none is. Windows
    /// of teams made from this one count, too: those teams live no longer than it does.
    [[nodiscard]] std::string still_open();

private:
    class Pinned;
    struct Shared {
        support::BiasedMutex mutex{support::LockRank::epoch}; ///< for looks and entries; nothing is waited for under it
        std::vector<EpochMember*> members;
        std::vector<EpochMember*> members_with_copies;
        std::vector<RemoteFunctions*> functions;
        support::Mutex flusher_mutex{support::LockRank::flusher_start}; ///< held while the next is made
        std::shared_ptr<Flusher> flusher;
        bool flusher_stopped = false;
    };
    /// Returns when no thread uses it any more, making progress meanwhile.
    void await(const std::atomic<int>& pins) noexcept;
    /// With the mutex held: own accesses to memory of this node, in any window, are seen in order.
    void order_memory();

    TeamState& team_;
    std::shared_ptr<Shared> shared_;
    std::unique_ptr<RemoteFunctions> functions_;
    bool founder_ = true; ///< was not made from another team
    std::uint64_t next_window_number_ = 1;
};

} // namespace lapwing::detail::team
