#pragma once

#include "src/messages/target_side.hpp"

#include <lapwing/rank.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace lapwing::detail::messages {

/// How a request is answered.
enum class Answered : std::uint8_t {
    no,
    by_reply, ///< its operation awaits a reply
    by_data   ///< by bulk data: a message of its own straight into the operation's memory
};

/// What the engine knows of a kind of request, at both ends.
struct RequestRow {
    using Bytes = std::span<const std::byte>;
    using Handler = bool (*)(TargetSide&, Peer&, const Request&, Bytes);

    RequestKind kind{};
    const char* name = "";
    std::uint64_t fixed_bytes = 0;                  ///< of the payload, where no field says
    std::uint64_t Request::* bytes_field = nullptr; ///< the field that says it
    Answered answered{};
    Handler handle = nullptr; ///< false: it has to wait for room; see TargetSide

    [[nodiscard]] constexpr std::uint64_t payload_bytes(const Request& request) const noexcept {
        return bytes_field != nullptr ? request.*bytes_field : fixed_bytes;
    }

    /// A request that is its head alone.
    template <auto handler>
    [[nodiscard]] static constexpr RequestRow bare(RequestKind kind, const char* name, Answered answered) {
        const Handler handle = [](TargetSide& target, Peer& origin, const Request& request, Bytes) {
            return call<handler>(target, origin, request);
        };
        return {kind, name, 0, nullptr, answered, handle};
    }
    /// The payload is one `Payload`.
    template <class Payload, auto handler>
        requires std::is_trivially_copyable_v<Payload>
    [[nodiscard]] static constexpr RequestRow typed(RequestKind kind, const char* name, Answered answered) {
        const Handler handle = [](TargetSide& target, Peer& origin, const Request& request, Bytes bytes) {
            Payload payload;
            std::memcpy(&payload, bytes.data(), sizeof payload);
            return call<handler>(target, origin, request, payload);
        };
        return {kind, name, sizeof(Payload), nullptr, answered, handle};
    }
    /// The payload is as many bytes as a field of the head says.
    template <auto handler>
    [[nodiscard]] static constexpr RequestRow bytes(RequestKind kind, const char* name, std::uint64_t Request::* field,
                                                    Answered answered) {
        const Handler handle = [](TargetSide& target, Peer& origin, const Request& request, Bytes payload) {
            return call<handler>(target, origin, request, payload);
        };
        return {kind, name, 0, field, answered, handle};
    }

private:
    /// A handler that returns nothing never has to wait.
    template <auto handler, class... Payload>
    static bool call(TargetSide& target, Peer& origin, const Request& request, const Payload&... payload) {
        if constexpr (std::same_as<decltype((target.*handler)(origin, request, payload...)), bool>)
            return (target.*handler)(origin, request, payload...);
        (target.*handler)(origin, request, payload...);
        return true;
    }
};

/// All kinds of requests, in their order.
struct RequestTable {
    static constexpr std::array rows{
        RequestRow::bare<&TargetSide::handle_get>(RequestKind::get, "get", Answered::by_reply),
        RequestRow::bytes<&TargetSide::handle_put>(RequestKind::put, "put", &Request::size, Answered::no),
        RequestRow::bare<&TargetSide::handle_bulk_get>(RequestKind::bulk_get, "bulk get", Answered::by_data),
        RequestRow::bare<&TargetSide::handle_bulk_put>(RequestKind::bulk_put, "bulk put", Answered::by_reply),
        RequestRow::bytes<&TargetSide::handle_scatter>(RequestKind::scatter, "scatter", &Request::size, Answered::no),
        RequestRow::bytes<&TargetSide::handle_gather>(RequestKind::gather, "gather", &Request::offset,
                                                      Answered::by_reply),
        RequestRow::bare<&TargetSide::handle_bulk_scatter>(RequestKind::bulk_scatter, "bulk scatter",
                                                           Answered::by_reply),
        RequestRow::bytes<&TargetSide::handle_bulk_gather>(RequestKind::bulk_gather, "bulk gather", &Request::offset,
                                                           Answered::by_data),
        RequestRow::bytes<&TargetSide::handle_put_runs>(RequestKind::put_runs, "put of runs", &Request::size,
                                                        Answered::no),
        RequestRow::typed<AtomicPayload, &TargetSide::handle_atomic>(RequestKind::atomic, "atomic", Answered::by_reply),
        RequestRow::typed<WidePayload, &TargetSide::handle_wide_atomic>(RequestKind::wide_atomic, "atomic on 16 bytes",
                                                                        Answered::by_reply),
        RequestRow::bytes<&TargetSide::handle_atomics>(RequestKind::atomics, "list of atomics", &Request::size,
                                                       Answered::by_reply),
        RequestRow::bytes<&TargetSide::handle_adds>(RequestKind::adds, "list of adds", &Request::size, Answered::no),
        RequestRow::bare<&TargetSide::handle_peer_left>(RequestKind::peer_left, "leave notice", Answered::no),
        RequestRow::typed<WaitingNote, &TargetSide::handle_waiting>(RequestKind::waiting, "note of a wait",
                                                                    Answered::no),
        RequestRow::bare<&TargetSide::handle_wake>(RequestKind::wake, "wake", Answered::no),
        RequestRow::bytes<&TargetSide::handle_remote_call>(RequestKind::remote_call, "remote call", &Request::size,
                                                           Answered::no),
        RequestRow::bytes<&TargetSide::handle_answered_call>(RequestKind::answered_call, "answered call",
                                                             &Request::size, Answered::by_reply),
        RequestRow::bare<&TargetSide::handle_bulk_call>(RequestKind::bulk_call, "bulk call", Answered::by_reply),
        RequestRow::bytes<&TargetSide::handle_bulk_answered_call>(
            RequestKind::bulk_answered_call, "call answered in bulk", &Request::offset, Answered::by_data),
    };
};

/// Whether the row of each kind is at the place of its number. (Every row that can be made has a handler.)
[[nodiscard]] constexpr bool is_complete(std::span<const RequestRow> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].kind != static_cast<RequestKind>(i)) return false;
    return rows.size() == static_cast<std::size_t>(RequestKind::end);
}
static_assert(is_complete(RequestTable::rows),
              "each RequestKind needs a row in RequestTable, in the order of the kinds");

/// Null: no such kind.
[[nodiscard]] inline const RequestRow* row_of(RequestKind kind) noexcept {
    const auto index = static_cast<std::size_t>(kind);
    return index < RequestTable::rows.size() ? &RequestTable::rows[index] : nullptr;
}

/// Whether a request of this kind is about memory of the window that its head names.
[[nodiscard]] constexpr bool concerns_window(RequestKind kind) noexcept { return kind <= RequestKind::adds; }

/// The first request in the rest of a packet.
struct ReadRequest {
    Request head;
    const RequestRow* row = nullptr; ///< null: it is none; see fault_of()
    std::span<const std::byte> payload{};
    std::span<const std::byte> rest{}; ///< of the packet, after it
};

[[nodiscard]] inline ReadRequest read_request(std::span<const std::byte> packet) noexcept {
    ReadRequest read;
    if (packet.size() < sizeof read.head) return read;
    std::memcpy(&read.head, packet.data(), sizeof read.head);
    packet = packet.subspan(sizeof read.head);
    const RequestRow* const row = row_of(read.head.kind);
    if (row == nullptr) return read;
    const std::uint64_t bytes = row->payload_bytes(read.head);
    if (bytes > packet.size() || padded(bytes) > packet.size()) return read;
    read.row = row;
    read.payload = packet.first(bytes);
    read.rest = packet.subspan(padded(bytes));
    return read;
}

/// Why read_request() finds no request in what `origin` has sent.
[[nodiscard]] std::string fault_of(std::span<const std::byte> packet, Rank origin);

} // namespace lapwing::detail::messages
