#include "src/messages/locked_calls.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace lapwing::detail::messages {
namespace {

void require_room_for_call(const Endpoint& endpoint, Rank target, std::uint32_t handler, std::uint64_t bytes,
                           std::uint64_t limit) {
    if (bytes > limit)
        throw RangeError{
            fmt::format("{}: remote call {} to rank {} with {} bytes, of which {} fit into a packet; send less, or "
                        "raise LAPWING_SERVICE_PACKET",
                        endpoint.who(), handler, target.value, bytes, limit)};
}

} // namespace

bool LockedCalls::try_call(Rank target, HandlerNumber number, std::span<const std::byte> bytes) {
    const auto handler = static_cast<std::uint32_t>(number);
    require_room_for_call(endpoint_, target, handler, bytes.size(), origin_side_.inline_limit());
    return origin_side_.try_stream(target, {.kind = RequestKind::remote_call, .handler = handler, .size = bytes.size()},
                                   bytes);
}

bool LockedCalls::try_call(Operation& operation, Rank target, HandlerNumber number, std::span<const std::byte> bytes) {
    if (bytes.size() <= origin_side_.inline_limit()) return try_call(target, number, bytes);
    return origin_side_.try_send_data(
        operation, target,
        {.kind = RequestKind::remote_call, .handler = static_cast<std::uint32_t>(number), .size = bytes.size()},
        RequestKind::bulk_call, bytes.data());
}

bool LockedCalls::try_ask(Operation& operation, Rank target, HandlerNumber number, std::span<const std::byte> bytes,
                          std::uint64_t answer_bytes) {
    const auto handler = static_cast<std::uint32_t>(number);
    require_room_for_call(endpoint_, target, handler, bytes.size(), origin_side_.inline_limit());
    if (answer_bytes > origin_side_.largest_staged())
        throw RangeError{fmt::format("{}: remote call {} to rank {} with an answer of {} bytes, of which {} fit into a "
                                     "message; ask for less",
                                     endpoint_.who(), handler, target.value, answer_bytes,
                                     origin_side_.largest_staged())};
    Request request{
        .kind = RequestKind::answered_call, .handler = handler, .offset = answer_bytes, .size = bytes.size()};
    if (answer_bytes > origin_side_.inline_limit()) {
        request.kind = RequestKind::bulk_answered_call;
        std::swap(request.offset, request.size);
    }
    return origin_side_.try_fetch(operation, target, request, bytes, true);
}

} // namespace lapwing::detail::messages
