#pragma once

#include "functions/call_list.hpp"
#include "functions/messages.hpp"
#include "functions/outbox.hpp"
#include "functions/owner_side.hpp"
#include "functions/route.hpp"
#include "functions/slots.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lapwing::detail::functions {

/// A message of calls at several ranks, at the rank that has made it or passes it on.
struct Transit {
    Rank origin{};            ///< from which it came; this rank: it has made it
    RelayHead head;           ///< as it came
    std::uint32_t left = 0;   ///< calls that have not ended
    std::size_t bytes = 0;    ///< of the message and the results
    std::uint64_t number = 0; ///< among those that this rank has made
    std::vector<std::byte> results;
    std::vector<FailedCall> failed;
    std::atomic<bool> done{false}; ///< all of the above is final

    /// Of one of the failures.
    [[nodiscard]] std::string failure_text() const;
};

/// Passes calls on where a team is so large that each rank sends to few others: see Route. A rank sends to a neighbour
/// what it has for it at once, and, as long as that is under way, gathers what comes after it: so messages are the
/// longer, the more there is to do, and a neighbour has one message of each step to keep. A message is answered, with
/// the results of its calls, when they have run. As messages wait for those of later steps alone, and no rank refuses
/// one, none waits for itself. Calls of one rank at another run in their order.
///
/// Used with the engine's mutex held, unless a function says otherwise.
class Relay {
public:
    /// `under_way` is set where calls of this rank begin.
    Relay(team::TeamState& team, OwnerSide& owner, Outbox& outbox, std::atomic<bool>& under_way);

    /// Without the mutex. One hop: nothing is to be relayed.
    [[nodiscard]] const Route& route() const noexcept { return route_; }

    /// This rank's own calls. In a function, which holds everything up, they leave in the next round of progress.
    [[nodiscard]] std::shared_ptr<Transit> begin(CallList& calls, std::uint32_t result_bytes);
    /// Of this rank's own calls that are under way.
    [[nodiscard]] std::size_t own_bytes() const noexcept { return own_bytes_; }
    /// So many of them are under way that no more should be.
    [[nodiscard]] bool full() const noexcept { return own_bytes_ >= most_own_bytes || own_.size() >= most_own; }
    /// The number of this rank's last message, that of the last one without results, and whether one up to a number has
    /// not ended.
    [[nodiscard]] std::uint64_t last_own() const noexcept { return own_number_; }
    [[nodiscard]] std::uint64_t last_post() const noexcept { return last_post_; }
    [[nodiscard]] bool has_own(std::uint64_t last) const noexcept {
        return !own_.empty() && own_.front()->number <= last;
    }
    /// Returns a text of the failures since the last time of calls without results; empty: there are none.
    [[nodiscard]] std::string take_problem();
    [[nodiscard]] bool under_way() const noexcept { return !own_.empty() || failed_ != 0; }

    // Handlers.
    void on_message(Rank from, std::span<const std::byte> message);
    void on_answer(Rank from, std::span<const std::byte> answer);
    /// At the end of a round of progress.
    void on_progress();

private:
    struct CallOf {
        std::uint32_t transit = 0; ///< in transits_
        std::uint32_t index = 0;   ///< there
    };
    /// Calls for a neighbour.
    struct Outbound {
        std::uint32_t result_bytes = 0;
        CallList message{};
        std::vector<CallOf> calls{};
    };
    /// What goes to one neighbour on one step.
    struct Queue {
        std::deque<Outbound> waiting;
        std::vector<CallOf> sent; ///< and not answered
        bool changed = false;
    };
    using Key = std::uint64_t; ///< the step and the neighbour: also the token of what was sent

    static constexpr std::size_t most_own_bytes = std::size_t{128} << 10;
    static constexpr std::size_t most_own = 1024;

    /// Returns where it is in transits_.
    [[nodiscard]] std::uint32_t enter(const std::shared_ptr<Transit>& transit);
    /// Throws Error unless they are calls of `head` at ranks of the team.
    void require_calls(const RelayHead& head, std::span<const std::byte> runs) const;
    /// Has the calls run here, or sends them on.
    void distribute(std::uint32_t transit, std::span<const std::byte> runs);
    void add(Queue& queue, std::uint32_t result_bytes, const RelayRun& run, Rank target, CallOf where,
             const std::byte* arguments);
    void run_here(std::uint32_t transit, const RelayRun& run, std::span<const std::uint32_t> indices,
                  std::span<const std::byte> arguments);
    /// Sends what waits, unless something is under way.
    void send(Key key, Queue& queue);
    /// So many calls have ended.
    void end(std::uint32_t transit, std::size_t count);
    void end_own(Transit& transit);
    void answer(const Transit& transit);

    team::TeamState& team_;
    OwnerSide& owner_;
    Outbox& outbox_;
    std::atomic<bool>& team_under_way_;
    Route route_;
    std::size_t message_bytes_;                ///< at most, unless a single call has more; also of the results
    std::unordered_map<Key, Queue> queues_;    ///< that have something waiting or under way
    Slots<std::shared_ptr<Transit>> transits_; ///< that have not ended, and null
    std::size_t own_bytes_ = 0;                ///< of this rank's messages under way
    std::uint64_t own_number_ = 0;
    std::uint64_t last_post_ = 0;
    std::deque<std::shared_ptr<Transit>> own_;                            ///< those, oldest first; some that have ended
    std::uint64_t failed_ = 0;                                            ///< of this rank's calls without results
    std::string problem_;                                                 ///< of the first of them
    std::vector<std::pair<std::uint32_t, std::vector<std::byte>>> later_; ///< of functions
};

} // namespace lapwing::detail::functions
