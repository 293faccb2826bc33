#pragma once

#include "src/messages/endpoint.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <variant>

namespace lapwing::detail::messages {

/// Names the handler of a remote call: the same on all ranks of a team. The rooms above choose the names; a name in use
/// is refused.
enum class HandlerNumber : std::uint32_t {};

/// What a remote call runs at its target: gets the rank that called, and the bytes that it sent, which begin at a
/// multiple of 8 and are valid until the handler returns. Calls of one rank run in the order in which it queued them.
///
/// It runs in the middle of a round of progress, on whichever thread makes it, with the engine's mutex held. So:
/// - It must be short and must neither block nor wait for anything of Lapwing's: no other rank is served meanwhile.
/// - Of the engine it may call only what is marked "from the listener or a handler".
/// - If LockedCalls::try_call() finds no room, the message must be kept and sent later, by a thread or by
///   EngineListener::on_progress(): room becomes free only when this rank reads on.
/// - A call has no reply of its own; an answer is a call back.
/// - It should not throw. An exception ends the team, as an MPI call that fails does: EngineListener::on_failed() is
///   notified with its text, and the call counts as handled.
using RemoteCallHandler = std::function<void(int origin, std::span<const std::byte> bytes)>;

/// The same for a remote call with an answer: the caller waits for it, one message for the question and one back.
/// `answer` has as many bytes as the caller has asked for, all zero, and begins at a multiple of 8. False: not now; it
/// has done nothing, and is called again in a later round, before anything else that this rank has sent. Where it
/// throws, or the answer is of another size than it expects, the contents of `answer` are sent all the same.
using AnsweringHandler = std::function<bool(int origin, std::span<const std::byte> bytes, std::span<std::byte> answer)>;

using AnyHandler = std::variant<RemoteCallHandler, AnsweringHandler>;

/// The handlers that rooms above have registered.
class RemoteCalls {
public:
    explicit RemoteCalls(Endpoint& endpoint) : endpoint_{endpoint} {}

    /// Throws UsageError where the number is taken, or the handler empty.
    void add(HandlerNumber number, RemoteCallHandler handler);
    /// The two sorts of handlers have their numbers apart.
    void add(HandlerNumber number, AnsweringHandler handler);
    void remove(HandlerNumber number);
    /// A call of a number that nobody has registered, and what a handler throws, are noted as problems.
    void run(Rank origin, HandlerNumber number, std::span<const std::byte> bytes);
    /// False: not now.
    [[nodiscard]] bool answer(Rank origin, HandlerNumber number, std::span<const std::byte> bytes,
                              std::span<std::byte> answer);

private:
    template <class Handler>
    void add(std::unordered_map<HandlerNumber, Handler>& handlers, HandlerNumber number, Handler handler);
    /// Runs `call(handler)`; what it returns, or true where that failed.
    template <class Handler, class Call>
    bool run(const std::unordered_map<HandlerNumber, Handler>& handlers, Rank origin, HandlerNumber number,
             std::size_t bytes, Call&& call);

    Endpoint& endpoint_;
    std::unordered_map<HandlerNumber, RemoteCallHandler> handlers_;
    std::unordered_map<HandlerNumber, AnsweringHandler> answering_;
};

} // namespace lapwing::detail::messages
