#include "src/messages/origin_side.hpp"

#include "src/messages/request_table.hpp"
#include "src/messages/tags.hpp"
#include "src/mpi/pieces.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace lapwing::detail::messages {
namespace {

[[nodiscard]] std::string_view name_of(ReplyKind kind) noexcept {
    switch (kind) {
    case ReplyKind::acknowledgement: return "acknowledgement";
    case ReplyKind::data: return "data";
    case ReplyKind::done: return "done";
    case ReplyKind::barrier: return "barrier";
    case ReplyKind::dropped: return "dropped";
    }
    return "unknown";
}

/// Of the answer to a request that is answered by a reply with data.
[[nodiscard]] std::uint64_t answer_bytes(const Request& request) noexcept {
    constexpr std::uint64_t value = 8;
    if (request.kind == RequestKind::atomic) return value;
    if (request.kind == RequestKind::wide_atomic) return WidePayload::value_bytes;
    if (request.kind == RequestKind::answered_call) return request.offset;
    if (request.kind != RequestKind::atomics) return request.size;
    return request.size / (request.is_compare_swap != 0 ? sizeof(ListedSwap) : sizeof(AddPayload)) * value;
}

/// How long the payload of a reply may be.
[[nodiscard]] bool has_right_size(const Reply& reply) noexcept {
    switch (reply.kind) {
    case ReplyKind::data: return true; // as the operation says
    case ReplyKind::done: return reply.size == 0;
    case ReplyKind::barrier: return reply.size == sizeof(BarrierToken);
    case ReplyKind::dropped: return reply.size == sizeof(DroppedNote);
    case ReplyKind::acknowledgement: break; // has no reply of its own
    }
    return false;
}

} // namespace

OriginSide::OriginSide(Endpoint& endpoint, PacketStream& request_packets, PacketStream& reply_packets,
                       const EngineLimits& limits, EngineListener& listener)
    : endpoint_{endpoint},
      request_packets_{request_packets},
      reply_packets_{reply_packets},
      limits_{limits},
      listener_{listener},
      inline_limit_{(limits.packet_bytes - sizeof(PacketHeader) - sizeof(Request)) / 8 * 8},
      slots_{limits.operations, largest_bulk_number(endpoint.largest_tag())} {}

// ---- packets of requests --------------------------------------------------------------------------------------------

bool OriginSide::append(Peer& to, const Request& request, std::span<const std::byte> payload) {
    const RequestRow& row = *row_of(request.kind);
    if (payload.size() != row.payload_bytes(request)) [[unlikely]]
        throw Error{
            fmt::format("{}: a request ({}) to rank {} has {} bytes of payload and says {}: a fault of Lapwing's",
                        endpoint_.who(), row.name, to.rank.value, payload.size(), row.payload_bytes(request))};
    if (to.open_request != nullptr && !to.open_request->fits(sizeof request, payload.size()) && !send_packet(to))
        return false;
    if (to.open_request == nullptr) to.open_request = request_packets_.take();
    if (to.open_request == nullptr) return false;
    if (!to.listed_busy) { // bulk transfers and packets that are sent begin here
        busy_peers_.push_back(&to);
        to.listed_busy = true;
    }
    std::byte* const place = to.open_request->append(request, payload.size());
    if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    return true;
}

bool OriginSide::send_packet(Peer& to) {
    if (to.packets_sent - to.packets_acknowledged >= limits_.packets_in_flight) return false;
    Packet* const packet = std::exchange(to.open_request, nullptr);
    packet->set_header({});
    // Counted before it is sent: if MPI refuses the packet it is never acknowledged, so no flush believes that it has
    // arrived.
    ++to.packets_sent;
    ++packets_unacknowledged_;
    to.urgent = false;
    request_packets_.send(packet, to.rank);
    return true;
}

void OriginSide::send_or_list(Peer& to, bool urgent) {
    to.urgent = to.urgent || urgent;
    if (to.urgent && send_packet(to)) return;
    if (to.listed_open) return;
    open_peers_.push_back(&to);
    to.listed_open = true;
}

void OriginSide::send_gathered() {
    // Packets that nobody waits for are sent when nothing else is on its way to the target, or when they are half full:
    // so a stream of small operations is aggregated by itself.
    std::erase_if(open_peers_, [&](Peer* to) {
        const bool idle = to->packets_sent == to->packets_acknowledged;
        if (to->open_request != nullptr && (to->urgent || idle || to->open_request->used() > limits_.packet_bytes / 2))
            send_packet(*to);
        to->listed_open = to->open_request != nullptr;
        return !to->listed_open;
    });
}

void OriginSide::update_active() noexcept {
    const std::uint64_t active = packets_unacknowledged_ + open_peers_.size() + slots_.bulk();
    active_.store(active, std::memory_order_release); // busy()
    pushing_.store(active != 0 && (!open_peers_.empty() || endpoint_.requests_under_way() > lingering_),
                   std::memory_order_relaxed);
}

// ---- operations -----------------------------------------------------------------------------------------------------

bool OriginSide::try_send(Rank target, const Request& request, std::span<const std::byte> payload, bool urgent) {
    return send_appended(endpoint_.peer(target), request, payload, urgent);
}

bool OriginSide::try_stream(Rank target, const Request& request, std::span<const std::byte> payload) {
    Peer& to = endpoint_.peer(target);
    return send_appended(to, request, payload, to.packets_sent == to.packets_acknowledged);
}

bool OriginSide::send_appended(Peer& to, const Request& request, std::span<const std::byte> payload, bool urgent) {
    if (!append(to, request, payload)) return false;
    send_or_list(to, urgent);
    update_active();
    return true;
}

template <class Step>
void OriginSide::start_or_forget(std::uint32_t index, Step&& step) {
    try {
        step();
    } catch (...) {
        take_back(index);
        throw;
    }
}

bool OriginSide::try_fetch(Operation& operation, Rank target, Request request, std::span<const std::byte> payload,
                           bool urgent) {
    const Answered answered = row_of(request.kind)->answered;
    const bool bulk = answered == Answered::by_data;
    if (slots_.full() || (bulk && slots_.bulk() >= limits_.bulk_transfers)) return false;
    Peer& to = endpoint_.peer(target);
    const OperationSlots::Name name = slots_.next();
    request.tag = name.tag;
    request.token = name.token;
    if (!append(to, request, payload)) return false;
    Slot& slot = slots_.take(operation, to);
    slot.awaits_reply = answered == Answered::by_reply;
    if (bulk) {
        slots_.make_bulk(slot, request.size);
    } else {
        slot.bytes = answer_bytes(request);
        operation.remaining.store(1, std::memory_order_relaxed);
    }
    start_or_forget(name.index, [&] {
        if (bulk)
            mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
                endpoint_.receive(operation.destination + at, bytes, target, bulk_get_tag(name.tag),
                                  {Purpose::own_get, name.index});
            });
        // The first of a stream of gets is sent at once; those after it are aggregated until its answer arrives.
        send_or_list(to, urgent || bulk || to.packets_sent == to.packets_acknowledged);
    });
    update_active();
    return true;
}

bool OriginSide::try_send_data(Operation& operation, Rank target, Request request, RequestKind bulk_kind,
                               const std::byte* source) {
    Peer& to = endpoint_.peer(target);
    if (request.size <= inline_limit_)
        return send_appended(to, request, {source, request.size}, request.counter_plus_one != 0);
    if (slots_.full() || slots_.bulk() >= limits_.bulk_transfers) return false;
    const OperationSlots::Name name = slots_.next();
    request.kind = bulk_kind;
    request.tag = name.tag;
    request.token = name.token;
    if (!append(to, request, {})) return false;
    Slot& slot = slots_.take(operation, to);
    slots_.make_bulk(slot, request.size);
    slot.awaits_reply =
        row_of(bulk_kind)->answered == Answered::by_reply; // `done`, once the data is in the target's memory
    start_or_forget(name.index, [&] {
        send_or_list(to, true); // before the data, so that the target can post its receive
        mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
            endpoint_.send(source + at, bytes, target, bulk_put_tag(name.tag), {Purpose::own_put, name.index});
        });
    });
    update_active();
    return true;
}

// ---- flushing -------------------------------------------------------------------------------------------------------

FlushTicket OriginSide::start_flush(Rank target) {
    Peer* const to = endpoint_.known_peer(target);
    if (to == nullptr) return {};
    FlushTicket ticket{.packets = to->packets_sent, .bulk = to->bulk_started, .any = true};
    if (to->open_request != nullptr) {
        ++ticket.packets;
        send_or_list(*to, true);
    }
    return ticket;
}

bool OriginSide::flushed(Rank target, const FlushTicket& ticket) const {
    if (!ticket.any) return true;
    const Peer& to = *endpoint_.known_peer(target);
    return to.packets_acknowledged >= ticket.packets &&
           (to.bulk_under_way.empty() || to.bulk_under_way.front() > ticket.bulk);
}

TargetList OriginSide::busy_targets() {
    TargetList targets;
    if (active_.load(std::memory_order_relaxed) == 0) return targets;
    std::erase_if(busy_peers_, [&](Peer* to) {
        if (to->busy()) targets.push_back(to->rank);
        else to->listed_busy = false;
        return !to->listed_busy;
    });
    return targets;
}

// ---- completion -----------------------------------------------------------------------------------------------------

void OriginSide::receive(const MPI_Status& status) {
    std::span<const std::byte> packet = reply_packets_.incoming(status);
    Peer& from = endpoint_.peer(status.MPI_SOURCE);
    PacketHeader header;
    if (packet.size() >= sizeof header) std::memcpy(&header, packet.data(), sizeof header);
    if (packet.size() < sizeof header || header.acknowledged < from.packets_acknowledged ||
        header.acknowledged > from.packets_sent) {
        endpoint_.note_problem(
            fmt::format("rank {} sent {} bytes instead of replies, which acknowledge nothing of what it was "
                        "sent: they were dropped; {}",
                        from.rank.value, packet.size(), fault_of_builds));
        return reply_packets_.read();
    }
    packet = packet.subspan(sizeof header);
    for (Reply reply; read_reply(packet, reply, from.rank); packet = packet.subspan(padded(reply.size)))
        handle_reply(from, reply, packet.data());
    // Only now: whoever sees the acknowledgement may rely on the replies that came before it.
    packets_unacknowledged_ -= header.acknowledged - from.packets_acknowledged;
    from.packets_acknowledged = header.acknowledged;
    reply_packets_.read();
}

bool OriginSide::read_reply(std::span<const std::byte>& packet, Reply& reply, Rank origin) {
    if (packet.empty()) return false;
    const std::size_t left = packet.size();
    if (left >= sizeof reply) {
        std::memcpy(&reply, packet.data(), sizeof reply);
        packet = packet.subspan(sizeof reply);
        if (has_right_size(reply) && reply.size <= packet.size() && padded(reply.size) <= packet.size()) return true;
    }
    endpoint_.note_problem(fmt::format("rank {} sent {} bytes that are not valid replies: they were dropped; {}",
                                       origin.value, left, fault_of_builds));
    return false;
}

void OriginSide::note_senseless(const Peer& from, const Reply& reply) {
    endpoint_.note_problem(
        fmt::format("rank {} sent a reply ({}, of {} bytes, to operation {:x}) that answers nothing it was asked: it "
                    "was ignored; {}",
                    from.rank.value, name_of(reply.kind), reply.size, reply.token, fault_of_builds));
}

bool OriginSide::is_answer(const Slot& slot, const Peer& from, const Reply& reply) {
    if (slot.peer != &from || !slot.awaits_reply) return false;
    return slot.bulk() ? reply.kind == ReplyKind::done : reply.kind == ReplyKind::data && reply.size == slot.bytes;
}

void OriginSide::handle_reply(Peer& from, const Reply& reply, const std::byte* payload) {
    if (reply.kind == ReplyKind::barrier) {
        BarrierToken token;
        std::memcpy(&token, payload, sizeof token);
        if (token.origin != from.rank || !listener_.on_barrier_token(token)) note_senseless(from, reply);
        return;
    }
    if (reply.kind == ReplyKind::dropped) return handle_dropped(from, reply, payload);
    Slot* const slot = slots_.named(reply.token);
    if (slot == nullptr) { // nobody waits for it any more
        if (!slots_.was_given(reply.token)) note_senseless(from, reply);
        return;
    }
    if (!is_answer(*slot, from, reply)) return note_senseless(from, reply);
    if (reply.kind == ReplyKind::data && slot->operation != nullptr)
        std::memcpy(slot->operation->destination, payload, reply.size);
    slots_.replied(*slot);
}

void OriginSide::handle_dropped(Peer& from, const Reply& reply, const std::byte* payload) {
    DroppedNote note;
    std::memcpy(&note, payload, sizeof note);
    if (Slot* const slot = slots_.named(reply.token); slot != nullptr) {
        const bool bulk_get = slot->bulk() && !slot->awaits_reply;
        if (slot->peer != &from || (!slot->awaits_reply && slot->pieces == 0)) return note_senseless(from, reply);
        // Of data that cannot come. That of a put leaves all the same.
        if (bulk_get) (void)endpoint_.requests().take_back_receives({Purpose::own_get, slots_.index_of(*slot)});
        const bool waits = slot->operation != nullptr;
        const bool bulk_put = slot->bulk() && !bulk_get;
        slots_.drop(*slot);
        if (waits && !bulk_put) return;
    } else if (reply.token != no_operation) {
        if (!slots_.was_given(reply.token)) return note_senseless(from, reply);
        const auto scrap = std::ranges::find_if(
            scraps_, [&](const auto& one) { return one.second.token == reply.token && one.second.peer == &from; });
        if (scrap == scraps_.end()) return; // nobody waits for it any more
        (void)endpoint_.requests().take_back_receives({Purpose::scrap, scrap->first});
        --lingering_;
        scraps_.erase(scrap);
        return;
    }
    dropped_.try_emplace(note.window, from.rank);
    any_dropped_.store(true, std::memory_order_release);
}

Rank OriginSide::take_dropped(std::uint64_t window) {
    const auto found = dropped_.find(window);
    if (found == dropped_.end()) return {-1};
    const Rank rank = found->second;
    dropped_.erase(found);
    any_dropped_.store(!dropped_.empty(), std::memory_order_release);
    return rank;
}

void OriginSide::complete(const Purpose& purpose, const MPI_Status& status) {
    if (purpose.kind == Purpose::own_get || purpose.kind == Purpose::own_put) {
        Slot& slot = slots_[purpose.index];
        if (slot.pieces == 0) return; // was dropped in the same round
        if (purpose.kind == Purpose::own_get) {
            int bytes = 0;
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            slot.arrived += static_cast<std::uint64_t>(bytes);
            if (slot.pieces == 1 && slot.arrived != slot.bytes)
                endpoint_.note_problem(fmt::format("rank {} sent {} bytes for a get of {}; {}", slot.peer->rank.value,
                                                   slot.arrived, slot.bytes, fault_of_builds));
        }
        return slots_.moved(slot);
    }
    if (purpose.kind != Purpose::scrap) return void(--lingering_);
    const auto scrap = scraps_.find(purpose.index);
    if (scrap == scraps_.end()) return; // was dropped in the same round
    --lingering_;
    scrap->second.bytes -= std::min(scrap->second.bytes, mpi::largest_piece_bytes);
    if (scrap->second.bytes == 0) scraps_.erase(scrap);
    else receive_scrap_piece(purpose.index);
}

// ---- giving up ------------------------------------------------------------------------------------------------------

std::optional<Purpose> OriginSide::abandon(const Operation& operation) noexcept {
    const Slot* const slot = slots_.of(operation);
    if (slot == nullptr) return std::nullopt;
    return take_back(slots_.index_of(*slot));
}

Purpose OriginSide::take_back(std::uint32_t index) noexcept {
    const Purpose discarded{Purpose::discarded, index};
    Slot& slot = slots_[index];
    const std::size_t to_come = endpoint_.requests().take_back_receives({Purpose::own_get, index});
    if (to_come != 0) receive_into_scrap(slot, to_come);
    lingering_ += endpoint_.requests().reassign({Purpose::own_put, index}, discarded);
    slots_.forget(slot);
    return discarded;
}

void OriginSide::receive_into_scrap(const Slot& slot, std::uint64_t pieces) noexcept {
    try {
        // MPI matches the pieces in order: it is the last ones that are still to come.
        const std::uint64_t here = (mpi::piece_count(slot.bytes) - pieces) * mpi::largest_piece_bytes;
        const std::uint64_t bytes = slot.bytes - here;
        scraps_.insert_or_assign(next_scrap_,
                                 Scrap{.memory = support::allocate_aligned(std::min(bytes, mpi::largest_piece_bytes)),
                                       .token = slots_.name_of(slot),
                                       .peer = slot.peer,
                                       .tag = slot.tag,
                                       .bytes = bytes});
        receive_scrap_piece(next_scrap_);
        ++next_scrap_;
    } catch (...) { // then its sender keeps it
        scraps_.erase(next_scrap_);
    }
}

void OriginSide::receive_scrap_piece(std::uint32_t number) {
    Scrap& scrap = scraps_.at(number);
    const auto bytes = static_cast<int>(std::min(scrap.bytes, mpi::largest_piece_bytes));
    endpoint_.receive(scrap.memory.get(), bytes, scrap.peer->rank, bulk_get_tag(scrap.tag), {Purpose::scrap, number});
    ++lingering_;
}

void OriginSide::take_back_all_receives() noexcept {
    for (std::size_t i = 0; i < slots_.size(); ++i)
        endpoint_.requests().take_back_receives({Purpose::own_get, static_cast<std::uint32_t>(i)});
}

} // namespace lapwing::detail::messages
