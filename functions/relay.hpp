#pragma once

#include "functions/messages.hpp"
#include "functions/outbox.hpp"
#include "functions/owner_side.hpp"
#include "functions/route.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lapwing::detail::functions {

/// A message of calls, each for a rank of its own, at the rank that has made it or passes it on.
struct Transit {
    Rank origin{};            ///< from which it came; this rank: it has made it
    RelayHead head;           ///< as it came
    std::uint32_t left = 0;   ///< calls that have not ended
    std::size_t bytes = 0;    ///< of the calls and their results
    std::uint64_t number = 0; ///< among those that this rank has made
    std::vector<std::byte> results;
    std::vector<std::uint32_t> failed; ///< which of the calls
    std::uint64_t unknown = 0;         ///< see ResultHead
    std::string text;                  ///< of a failure
    std::atomic<bool> done{false};     ///< all of the above is final
};

/// Passes calls on where a team is so large that each rank sends to few others: see Route. A rank sends to a neighbour
/// what it has for it at once, and, as long as that is under way, gathers what comes after it: so messages are the
/// longer, the more there is to do, and each neighbour has one message of each hop to keep. A message is answered, with
/// the results of its calls, when they have run. As messages of a hop wait for those of later hops alone, none waits
/// for itself.
///
/// Used with the engine's mutex held, unless a function says otherwise.
class Relay {
public:
    Relay(team::TeamState& team, OwnerSide& owner, Outbox& outbox, std::atomic<bool>& under_way);

    /// Without the mutex. One hop: there is nothing to relay.
    [[nodiscard]] const Route& route() const noexcept { return route_; }

    /// Without the mutex, unless it is called in a function that runs in a round of progress. `calls`: of the one kind
    /// that `head` says, each after the rank of its target. Where results are not asked for, complete() waits for them.
    [[nodiscard]] std::shared_ptr<Transit> begin(const RelayHead& head, std::span<const std::byte> calls);
    /// As many of this rank's own calls are under way as may be: begin() would need more memory.
    [[nodiscard]] bool full() const noexcept { return own_bytes_ >= most_own_bytes; }

    /// Of this rank's calls without results: the number of the last one.
    [[nodiscard]] std::uint64_t last_post() const noexcept { return posts_.empty() ? 0 : posts_.back()->number; }
    [[nodiscard]] bool has_posts(std::uint64_t last) const noexcept {
        return !posts_.empty() && posts_.front()->number <= last;
    }
    /// Returns what the first of them threw that failed since the last time; empty: none did.
    [[nodiscard]] std::string take_problem() { return std::exchange(problem_, {}); }
    [[nodiscard]] bool under_way() const noexcept { return !posts_.empty() || !problem_.empty(); }

    // Handlers.
    void on_message(Rank origin, std::span<const std::byte> message);
    void on_answer(Rank hop, std::span<const std::byte> answer);
    /// At the end of a round of progress.
    void on_progress();

private:
    struct CallOf {
        std::uint32_t transit = 0; ///< in transits_
        std::uint32_t index = 0;   ///< there
    };
    /// Calls for a neighbour.
    struct Outbound {
        RelayHead head;
        std::vector<std::byte> message; ///< with room for the head
        std::vector<CallOf> calls;
    };
    struct Hop {
        std::deque<Outbound> waiting;
        std::vector<CallOf> sent; ///< and not answered
    };
    using Key = std::uint64_t; ///< the hop's number and the rank: also the token of what was sent

    static constexpr std::size_t most_own_bytes = std::size_t{128} << 10;

    /// Returns where it is in transits_.
    [[nodiscard]] std::uint32_t enter(const std::shared_ptr<Transit>& transit);
    /// Has the calls run here, or sends them on.
    void distribute(std::uint32_t number, std::span<const std::byte> calls);
    void add(Hop& hop, const RelayHead& head, CallOf where, std::span<const std::byte> call);
    void run_here(std::uint32_t number, std::span<const std::uint32_t> which, std::span<const std::byte> arguments);
    /// Sends what waits, unless something is under way.
    void send(Key key, Hop& hop);
    /// So many calls have ended.
    void end(std::uint32_t number, std::size_t count);
    void end_own(Transit& transit);
    void answer(const Transit& transit);

    team::TeamState& team_;
    OwnerSide& owner_;
    Outbox& outbox_;
    std::atomic<bool>& team_under_way_;
    Route route_;
    std::size_t message_bytes_;                      ///< of calls, at most
    std::unordered_map<Key, Hop> hops_;              ///< that have something waiting or under way
    std::vector<std::shared_ptr<Transit>> transits_; ///< that have not ended, and null
    std::vector<std::uint32_t> free_;                ///< where they are null
    std::size_t own_bytes_ = 0;                      ///< of this rank's calls under way
    std::uint64_t own_number_ = 0;
    std::deque<std::shared_ptr<Transit>> posts_; ///< own ones without results that have not ended, oldest first
    std::string problem_;
    std::vector<std::pair<std::uint32_t, std::vector<std::byte>>>
        later_; ///< calls of functions, which hold everything up
};

} // namespace lapwing::detail::functions
