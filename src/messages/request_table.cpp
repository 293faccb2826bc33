#include "src/messages/request_table.hpp"

#include <fmt/format.h>

namespace lapwing::detail::messages {

std::string fault_of(std::span<const std::byte> packet, Rank origin) {
    std::string what;
    if (packet.size() < sizeof(Request)) {
        what = fmt::format("{} bytes instead of a request, whose head has {}", packet.size(), sizeof(Request));
    } else {
        const Request head = read_request(packet).head;
        const std::uint64_t left = packet.size() - sizeof head;
        const RequestRow* const row = row_of(head.kind);
        what = row == nullptr
                   ? fmt::format("a request of kind {}, of which there are {}, with {} bytes after its head",
                                 static_cast<int>(head.kind), RequestTable::rows.size(), left)
                   : fmt::format("a request ({}, kind {}) with {} bytes of payload, of which its packet has {}",
                                 row->name, static_cast<int>(head.kind), row->payload_bytes(head), left);
    }
    return fmt::format("rank {} sent {}: the rest of the packet was dropped; {}", origin.value, what, fault_of_builds);
}

} // namespace lapwing::detail::messages
