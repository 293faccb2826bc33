#pragma once

#include "src/messages/engine.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

namespace lapwing::detail::functions {

/// Messages that a function or a handler sends, and that found no room: it cannot wait. Those to one rank stay in
/// order. Used with the engine's mutex held.
class Outbox {
public:
    /// Sends; false: there is no room.
    using Send = std::function<bool()>;

    [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }
    [[nodiscard]] bool holds(Rank target) const { return !queues_.empty() && queues_.contains(target.value); }
    /// Sends at once if it can.
    void send(Rank target, Send send) {
        if (!holds(target) && send()) return;
        queues_[target.value].push_back(std::move(send));
    }
    /// The same, later.
    void keep(Rank target, Send send) { queues_[target.value].push_back(std::move(send)); }
    /// Sends what there is room for.
    void send_on();

private:
    std::unordered_map<int, std::deque<Send>> queues_; ///< of the ranks that have some
};

} // namespace lapwing::detail::functions
