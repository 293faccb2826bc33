#pragma once

#include "src/messages/endpoint.hpp"
#include "src/messages/exposed_windows.hpp"
#include "src/messages/operation.hpp"
#include "src/messages/origin_side.hpp"
#include "src/messages/remote_calls.hpp"
#include "src/messages/target_side.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::messages {

/// What handlers of remote calls, the engine's listener, and others that hold the engine's mutex may do with remote
/// calls.
class LockedCalls {
public:
    LockedCalls(Endpoint& endpoint, OriginSide& origin_side, TargetSide& target_side) noexcept
        : endpoint_{endpoint}, origin_side_{origin_side}, target_side_{target_side} {}

    /// As those of the engine.
    [[nodiscard]] bool try_call(Rank target, HandlerNumber number, std::span<const std::byte> bytes);
    /// The same for up to Engine::largest_staged() bytes: `operation` completes when they may be reused, at once where
    /// they fit into a packet.
    [[nodiscard]] bool try_call(Operation& operation, Rank target, HandlerNumber number,
                                std::span<const std::byte> bytes);
    [[nodiscard]] bool try_ask(Operation& operation, Rank target, HandlerNumber number,
                               std::span<const std::byte> bytes, std::uint64_t answer_bytes);
    /// Forgets an operation of try_ask(), as Engine::abandon().
    void abandon(Operation& operation) noexcept { (void)origin_side_.abandon(operation); }
    /// This rank's part of a window; null: it has none, or no longer.
    [[nodiscard]] const ExposedMemory* part_of(std::uint64_t window) {
        return target_side_.windows().memory_of(window);
    }

private:
    Endpoint& endpoint_;
    OriginSide& origin_side_;
    TargetSide& target_side_;
};

} // namespace lapwing::detail::messages
