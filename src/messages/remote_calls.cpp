#include "src/messages/remote_calls.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace lapwing::detail::messages {

void RemoteCalls::add(HandlerNumber number, RemoteCallHandler handler) {
    const auto name = static_cast<std::uint32_t>(number);
    if (!handler)
        throw UsageError{fmt::format("{}: the handler of remote calls {} is empty; pass what they are to run",
                                     endpoint_.who(), name)};
    if (!handlers_.try_emplace(number, std::move(handler)).second)
        throw UsageError{fmt::format("{}: a handler of remote calls {} is registered already; take another number",
                                     endpoint_.who(), name)};
}

void RemoteCalls::remove(HandlerNumber number) { handlers_.erase(number); }

void RemoteCalls::run(int origin, HandlerNumber number, std::span<const std::byte> bytes) {
    const auto name = static_cast<std::uint32_t>(number);
    const auto found = handlers_.find(number);
    if (found == handlers_.end())
        return endpoint_.note_problem(
            fmt::format("rank {} sent remote call {} with {} bytes, for which no handler is registered here: "
                        "the call was dropped; register it on all ranks before any of them calls",
                        origin, name, bytes.size()));
    const std::uint64_t failures = endpoint_.failures();
    std::string what = "an exception that is no std::exception";
    try {
        return found->second(origin, bytes);
    } catch (const std::exception& error) {
        what = error.what();
    } catch (...) {
    }
    if (endpoint_.failures() != failures) return; // an MPI call of the engine's, which has been told
    endpoint_.note_problem(fmt::format("the handler of remote call {} of rank {} with {} bytes threw: {}", name, origin,
                                       bytes.size(), what));
}

} // namespace lapwing::detail::messages
