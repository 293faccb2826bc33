// How requests are read from packets: nothing invalid is taken for a request.
#include "src/messages/packet.hpp"
#include "src/messages/request_table.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using lapwing::detail::messages::Packet;
using lapwing::detail::messages::PacketHeader;
using lapwing::detail::messages::padded;
using lapwing::detail::messages::ReadRequest;
using lapwing::detail::messages::Request;
using lapwing::detail::messages::RequestKind;
using lapwing::detail::messages::RequestRow;
using lapwing::detail::messages::RequestTable;

/// The requests of a packet with one of each kind, whose payload of `bytes` bytes, if a field says its length, is the
/// kind's number.
std::vector<std::byte> one_of_each(std::uint64_t bytes) {
    std::vector<std::byte> memory(4096);
    Packet packet{memory.data(), memory.size()};
    for (const RequestRow& row : RequestTable::rows) {
        Request head{.kind = row.kind, .token = 77};
        if (row.bytes_field != nullptr) head.*row.bytes_field = bytes;
        const std::uint64_t length = row.payload_bytes(head);
        std::memset(packet.append(head, length), static_cast<int>(row.kind), length);
    }
    memory.resize(packet.used());
    memory.erase(memory.begin(), memory.begin() + sizeof(PacketHeader));
    return memory;
}

std::vector<std::byte> packet_of(const Request& head, std::size_t payload_bytes) {
    std::vector<std::byte> memory(sizeof head + payload_bytes);
    std::memcpy(memory.data(), &head, sizeof head);
    return memory;
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("a table without the row of a kind, or with rows out of their order, is not complete") {
    const std::span<const RequestRow> rows{RequestTable::rows};
    CHECK(is_complete(rows));
    CHECK_FALSE(is_complete(rows.first(rows.size() - 1)));
    CHECK_FALSE(is_complete(rows.subspan(1)));
    auto changed = RequestTable::rows;
    std::swap(changed[2], changed[3]);
    CHECK_FALSE(is_complete(changed));
}

TEST_CASE("requests of all kinds are read from a packet, each with its payload") {
    for (const std::uint64_t bytes : {0U, 1U, 8U, 13U, 64U}) {
        const std::vector<std::byte> memory = one_of_each(bytes);
        std::span<const std::byte> packet{memory};
        for (const RequestRow& row : RequestTable::rows) {
            INFO(row.name << ", " << bytes << " bytes");
            const ReadRequest read = lapwing::detail::messages::read_request(packet);
            REQUIRE(read.row != nullptr);
            CHECK(read.row->kind == row.kind);
            CHECK(read.head.token == 77);
            CHECK(read.payload.size() == (row.bytes_field != nullptr ? bytes : row.fixed_bytes));
            CHECK(std::ranges::all_of(read.payload,
                                      [&](std::byte one) { return one == static_cast<std::byte>(row.kind); }));
            packet = read.rest;
        }
        CHECK(packet.empty());
    }
}

TEST_CASE("what is no request of a known kind, or no whole one, is an error with kind, sender and lengths") {
    const auto fault = [](const std::vector<std::byte>& packet) {
        CHECK(lapwing::detail::messages::read_request(packet).row == nullptr);
        return lapwing::detail::messages::fault_of(packet, 5);
    };
    const std::string unknown = fault(packet_of({.kind = static_cast<RequestKind>(200)}, 24));
    CHECK(mentions(unknown, "rank 5 sent a request of kind 200"));
    CHECK(mentions(unknown, "24 bytes after its head"));
    CHECK(mentions(fault(packet_of({.kind = RequestKind::end}, 0)),
                   "kind " + std::to_string(static_cast<int>(RequestKind::end))));

    // A payload of a length that a field says, and one that is a structure.
    CHECK(mentions(fault(packet_of({.kind = RequestKind::put, .size = 17}, 16)),
                   "(put, kind 1) with 17 bytes of payload, of which its packet has 16"));
    CHECK(mentions(fault(packet_of({.kind = RequestKind::put, .size = 17}, 17)),
                   "17 bytes of payload")); // without what pads it
    CHECK(mentions(fault(packet_of({.kind = RequestKind::atomic}, 8)),
                   "(atomic, kind 9) with 16 bytes of payload, of which its packet has 8"));
    // Lengths at which sums overflow.
    for (const std::uint64_t size :
         {std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max() - 6})
        CHECK(mentions(fault(packet_of({.kind = RequestKind::remote_call, .size = size}, 64)), std::to_string(size)));

    const std::string short_head = fault(std::vector<std::byte>(sizeof(Request) - 8));
    CHECK(mentions(short_head, "rank 5 sent 40 bytes instead of a request, whose head has 48"));
}
