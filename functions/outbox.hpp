#pragma once

#include "src/messages/operation.hpp"
#include "src/messages/remote_calls.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lapwing::detail::functions {

/// A message that is sent from its own memory.
struct Outgoing {
    explicit Outgoing(std::vector<std::byte> bytes) noexcept : message{std::move(bytes)} {}
    std::vector<std::byte> message;
    messages::Operation operation; ///< done: it has left
};

/// Messages that a function or a handler sends, and that found no room: it cannot wait. Those to one rank stay in
/// order. Used with the engine's mutex held.
class Outbox {
public:
    explicit Outbox(team::TeamState& team) noexcept : team_{team} {}
    ~Outbox();
    Outbox(const Outbox&) = delete;
    Outbox& operator=(const Outbox&) = delete;

    /// Sends; false: there is no room.
    using Send = std::function<bool()>;

    [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }
    [[nodiscard]] bool holds(Rank target) const { return !queues_.empty() && queues_.contains(target.value); }
    /// Sends at once if it can.
    void send(Rank target, Send send) {
        if (!holds(target) && send()) return;
        keep(target, 0, std::move(send));
    }
    /// The same, later, of so many bytes that a function sends.
    void keep(Rank target, std::size_t bytes, Send send) {
        queues_[target.value].push_back({std::move(send), bytes});
        kept_bytes_ += bytes;
    }
    /// Of the messages of keep() that have not been sent.
    [[nodiscard]] std::size_t kept_bytes() const noexcept { return kept_bytes_; }
    /// False: there is no room. Else it stays until it has left.
    [[nodiscard]] bool try_call(Rank target, messages::HandlerNumber number, const std::shared_ptr<Outgoing>& outgoing);
    /// Keeps a message until it has left.
    void keep_until_left(const std::shared_ptr<Outgoing>& outgoing) {
        if (!outgoing->operation.done()) leaving_.push_back(outgoing);
    }
    /// Sends what there is room for.
    void send_on();

private:
    struct Kept {
        Send send;
        std::size_t bytes = 0;
    };

    team::TeamState& team_;
    std::vector<std::shared_ptr<Outgoing>> leaving_;   ///< as many as the engine has bulk transfers, at most
    std::unordered_map<int, std::deque<Kept>> queues_; ///< of the ranks that have some
    std::size_t kept_bytes_ = 0;
};

} // namespace lapwing::detail::functions
