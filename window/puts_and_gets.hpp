#pragma once

#include "window/access_order.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::window {

/// The program's puts and gets that go to ranks which are not reached by load and store. Ranges have been checked.
class PutsAndGets {
public:
    PutsAndGets(AccessOrder& order, transport::Transports& transports) noexcept
        : order_{order}, transports_{transports} {}

    // Through the cache if there is one. Copies are notified of puts.
    void get(Rank target, Offset offset, std::span<std::byte> destination);
    void put(Rank target, Offset offset, std::span<const std::byte> source);

    // Past the cache.
    void get_past_cache(Rank target, Offset offset, std::span<std::byte> destination);
    [[nodiscard]] Completion start_get(Rank target, Offset offset, std::span<std::byte> destination);
    /// Copies are notified.
    [[nodiscard]] Completion start_put(Rank target, Offset offset, std::span<const std::byte> source);
    /// A part of a transfer, which is not empty; the caller notifies copies of the whole transfer.
    [[nodiscard]] Completion start_put_part(Rank target, Offset offset, std::span<const std::byte> source);

private:
    AccessOrder& order_;
    transport::Transports& transports_;
};

} // namespace lapwing::detail::window
