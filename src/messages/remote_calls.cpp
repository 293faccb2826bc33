#include "src/messages/remote_calls.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace lapwing::detail::messages {

template <class Handler>
void RemoteCalls::add(std::unordered_map<HandlerNumber, Handler>& handlers, HandlerNumber number, Handler handler) {
    const auto name = static_cast<std::uint32_t>(number);
    if (!handler)
        throw UsageError{fmt::format("{}: the handler of remote calls {} is empty; pass what they are to run",
                                     endpoint_.who(), name)};
    if (!handlers.try_emplace(number, std::move(handler)).second)
        throw UsageError{fmt::format("{}: a handler of remote calls {} is registered already; take another number",
                                     endpoint_.who(), name)};
}

void RemoteCalls::add(HandlerNumber number, RemoteCallHandler handler) { add(handlers_, number, std::move(handler)); }
void RemoteCalls::add(HandlerNumber number, AnsweringHandler handler) { add(answering_, number, std::move(handler)); }

void RemoteCalls::remove(HandlerNumber number) {
    handlers_.erase(number);
    answering_.erase(number);
}

template <class Handler, class Call>
bool RemoteCalls::run(const std::unordered_map<HandlerNumber, Handler>& handlers, Rank origin, HandlerNumber number,
                      std::size_t bytes, Call&& call) {
    const auto name = static_cast<std::uint32_t>(number);
    const auto found = handlers.find(number);
    if (found == handlers.end()) {
        endpoint_.note_problem(
            fmt::format("rank {} sent remote call {} with {} bytes, for which no handler is registered here: "
                        "the call was dropped; register it on all ranks before any of them calls",
                        origin.value, name, bytes));
        return true;
    }
    const std::uint64_t failures = endpoint_.failures();
    std::string what = "an exception other than std::exception";
    try {
        return call(found->second);
    } catch (const std::exception& error) {
        what = error.what();
    } catch (...) {
    }
    if (endpoint_.failures() == failures) // else an MPI call of the engine's, which has been reported
        endpoint_.note_problem(fmt::format("the handler of remote call {} of rank {} with {} bytes threw: {}", name,
                                           origin.value, bytes, what));
    return true;
}

void RemoteCalls::run(Rank origin, HandlerNumber number, std::span<const std::byte> bytes) {
    run(handlers_, origin, number, bytes.size(), [&](const RemoteCallHandler& handler) {
        handler(origin.value, bytes);
        return true;
    });
}

bool RemoteCalls::answer(Rank origin, HandlerNumber number, std::span<const std::byte> bytes,
                         std::span<std::byte> answer) {
    std::ranges::fill(answer, std::byte{0});
    return run(answering_, origin, number, bytes.size(),
               [&](const AnsweringHandler& handler) { return handler(origin.value, bytes, answer); });
}

} // namespace lapwing::detail::messages
