#pragma once

#include "src/messages/engine.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace lapwing::detail::team {

/// Finds out that ranks wait in different collective calls, or for what no rank can do any more, where they would wait
/// for ever. Every rank makes the same collective calls in the same order, so if two ranks have completed the same
/// number of them, their next call is the same. A rank that has waited in a call for a while tells the rank after it,
/// once, which call it is; since all do, some two neighbours differ if any two ranks do. Some calls end on a rank
/// before the others have arrived, as a broadcast does at its root: a rank that is ahead compares with the call that it
/// made then. A call that ends soon costs the store of its name.
class CollectiveWatch {
public:
    CollectiveWatch(messages::Engine& engine, int rank, int size) noexcept
        : engine_{engine}, rank_{rank}, size_{size} {}

    /// A collective call is complete on this rank, after so many others. The text of `call` stays.
    void completed(std::uint64_t collectives, const char* call) noexcept {
        recent_[collectives % recent_.size()].store(call, std::memory_order_relaxed);
    }
    /// This rank waits in `call`, after so many collective calls; `subject` is the window that the call is about, or 0.
    /// Returns what the rank before this one does instead, or did not do with this rank before, for a message; empty if
    /// nothing is known, or if both wait in a barrier (`at_barrier`), where they will find out together and can go on.
    [[nodiscard]] std::string look(std::uint64_t collectives, const char* call, std::uint64_t subject, bool at_barrier);
    /// Whether all other ranks wait in `call` about `subject`, the collective call after so many: this rank then waits
    /// in vain for what they would do first. Neighbours pass it on, so that it is known after as many messages as there
    /// are ranks.
    [[nodiscard]] bool all_others_in(std::uint64_t collectives, const char* call, std::uint64_t subject);

    /// From the engine, with its mutex held. False: it does not come from the rank before this one.
    bool on_note(const messages::WaitingNote& note) noexcept {
        if (note.rank != (rank_ + size_ - 1) % size_ || note.run < 0 ||
            note.run >= std::numeric_limits<std::int32_t>::max())
            return false;
        before_ = note;
        return true;
    }

private:
    messages::Engine& engine_;
    int rank_;
    int size_;
    messages::WaitingNote before_{.rank = -1};   ///< the latest of the rank before this one; rank -1: none
    messages::WaitingNote reported_{.rank = -1}; ///< the latest that the rank after this one was sent
    static constexpr std::size_t most_ahead = 16;
    std::array<std::atomic<const char*>, most_ahead>
        recent_{}; ///< the calls that this rank has completed last, by their numbers
};

} // namespace lapwing::detail::team
