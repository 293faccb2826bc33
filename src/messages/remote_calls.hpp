#pragma once

#include "src/messages/endpoint.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>

namespace lapwing::detail::messages {

/// Names the handler of a remote call: the same on all ranks of a team. Rooms above choose them; one that is taken is
/// refused.
enum class HandlerNumber : std::uint32_t {};

/// What a remote call runs at its target: gets the rank that called, and the bytes that it sent, which begin at a
/// multiple of 8 and are gone when the handler returns. Calls of one rank run in the order in which it queued them.
///
/// It runs in the middle of a round of progress, on whichever thread makes it, with the engine's mutex held. So:
/// - It must be short and must not block, nor wait for anything of Lapwing's: nobody else is served meanwhile.
/// - Of the engine it may call only what is marked "from the listener or a handler". Where Engine::try_call_locked()
/// finds no room,
///   what it is to send must be kept and sent later, by a thread or EngineListener::on_progress(): room comes only when
///   this rank reads on.
/// - A call has no reply of its own; an answer is a call back.
/// - It should not throw. What it throws ends the team as an MPI call that fails does: EngineListener::on_failed()
/// hears the text,
///   and the call counts as handled.
using RemoteCallHandler = std::function<void(int origin, std::span<const std::byte> bytes)>;

/// The handlers that rooms above have registered.
class RemoteCalls {
public:
    explicit RemoteCalls(Endpoint& endpoint) : endpoint_{endpoint} {}

    /// Throws UsageError where the number is taken, or the handler empty.
    void add(HandlerNumber number, RemoteCallHandler handler);
    void remove(HandlerNumber number);
    /// A call of a number that nobody has registered, and what a handler throws, are noted as problems.
    void run(int origin, HandlerNumber number, std::span<const std::byte> bytes);

private:
    Endpoint& endpoint_;
    std::unordered_map<HandlerNumber, RemoteCallHandler> handlers_;
};

} // namespace lapwing::detail::messages
