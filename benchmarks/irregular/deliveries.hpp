#pragma once

#include <lapwing/aggregator.hpp>
#include <lapwing/functions.hpp>
#include <lapwing/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::bench::irregular {

/// What ranks have for each other, as Exchange, by functions at the owner: each item is posted on its own, and an
/// Aggregator gathers them. One object of a type of items is in use at a time.
template <class Item>
class Deliveries {
public:
    explicit Deliveries(Runtime& runtime) : runtime_{runtime} {}

    /// Collective. `each(to)` calls `to(rank, item)` for every item that this rank sends. Returns what was sent to this
    /// rank; valid until the next call.
    template <class Each>
    [[nodiscard]] std::span<const Item> operator()(const Each& each) {
        odd_ = !odd_;
        return odd_ ? deliver<1>(each) : deliver<0>(each);
    }
    /// Items that all ranks have sent in the last call.
    [[nodiscard]] std::int64_t sent_by_all() const { return sent_by_all_; }

private:
    template <std::size_t Inbox, class Each>
    [[nodiscard]] std::span<const Item> deliver(const Each& each) {
        std::int64_t sent = 0;
        {
            Aggregator aggregator{runtime_};
            each([&](std::size_t rank, Item item) {
                ++sent;
                aggregator.post(static_cast<int>(rank), fn<&Deliveries::template receive<Inbox>>, item);
            });
        }
        // Other ranks may be one delivery ahead: what they send then comes to the other inbox.
        inboxes_[1 - Inbox].clear();
        runtime_.release();
        sent_by_all_ = runtime_.sum(sent); // as a barrier
        return inboxes_[Inbox];
    }
    template <std::size_t Inbox>
    static void receive(Item item) {
        inboxes_[Inbox].push_back(item);
    }

    // Functions know no object.
    static inline std::array<std::vector<Item>, 2> inboxes_;
    static inline bool odd_ = false; ///< which one is in use: the same on all ranks

    Runtime& runtime_;
    std::int64_t sent_by_all_ = 0;
};

} // namespace lapwing::bench::irregular
