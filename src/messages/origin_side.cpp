#include "src/messages/origin_side.hpp"

#include "src/messages/request_table.hpp"
#include "src/messages/tags.hpp"
#include "src/mpi/pieces.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace lapwing::messages {
namespace {

/// Of data whose receive was taken back, in one piece: a larger one stays with its sender.
constexpr std::uint64_t largest_scrap = std::uint64_t{64} << 20;

} // namespace

OriginSide::OriginSide(Endpoint& endpoint, PacketStream& request_packets, PacketStream& reply_packets, const EngineLimits& limits,
                       EngineListener& listener)
    : endpoint_{endpoint}, request_packets_{request_packets}, reply_packets_{reply_packets}, limits_{limits}, listener_{listener},
      inline_limit_{(limits.packet_bytes - sizeof(PacketHeader) - sizeof(Request)) / 8 * 8},
      slots_{limits.operations, largest_bulk_number(endpoint.largest_tag())} {}

// ---- packets of requests --------------------------------------------------------------------------------------------

bool OriginSide::append(Peer& to, const Request& request, std::span<const std::byte> payload) {
    const RequestRow& row = *row_of(request.kind);
    if (payload.size() != row.payload_bytes(request)) [[unlikely]]
        throw Error{fmt::format("{}: a request ({}) to rank {} has {} bytes of payload and says {}: a fault of Lapwing's",
                                endpoint_.who(), row.name, to.rank, payload.size(), row.payload_bytes(request))};
    if (to.open_request != nullptr && !to.open_request->fits(sizeof request, payload.size()) && !send_packet(to)) return false;
    if (to.open_request == nullptr) to.open_request = request_packets_.take();
    if (to.open_request == nullptr) return false;
    if (!to.listed_busy) { // bulk transfers and packets that are sent begin here
        to.listed_busy = true;
        busy_peers_.push_back(&to);
    }
    std::byte* const place = to.open_request->append(request, payload.size());
    if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    return true;
}

bool OriginSide::send_packet(Peer& to) {
    if (to.packets_sent - to.packets_acknowledged >= limits_.packets_in_flight) return false;
    Packet* const packet = std::exchange(to.open_request, nullptr);
    packet->set_header({});
    // Counted before it is sent: what MPI does not take is never acknowledged, so no flush believes that it has arrived.
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
    to.listed_open = true;
    open_peers_.push_back(&to);
}

void OriginSide::send_gathered() {
    // Packets that nobody waits for leave when nothing else is on its way to the target, or when they are half full:
    // so that a stream of small operations is gathered by itself.
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

bool OriginSide::try_send(int target, const Request& request, std::span<const std::byte> payload, bool urgent) {
    return send_appended(endpoint_.peer(target), request, payload, urgent);
}

bool OriginSide::try_stream(int target, const Request& request, std::span<const std::byte> payload) {
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

bool OriginSide::try_fetch(Operation& operation, int target, Request request, std::span<const std::byte> payload, bool urgent) {
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
    if (bulk) slots_.make_bulk(slot, request.size);
    else operation.remaining.store(1, std::memory_order_relaxed);
    start_or_forget(name.index, [&] {
        if (bulk)
            mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
                endpoint_.receive(operation.destination + at, bytes, target, bulk_get_tag(name.tag), {Purpose::own_get, name.index});
            });
        // The first of a stream of gets leaves at once; those behind it gather until its answer is here.
        send_or_list(to, urgent || bulk || to.packets_sent == to.packets_acknowledged);
    });
    update_active();
    return true;
}

bool OriginSide::try_send_data(Operation& operation, int target, Request request, RequestKind bulk_kind, const std::byte* source) {
    Peer& to = endpoint_.peer(target);
    if (request.size <= inline_limit_) return send_appended(to, request, {source, request.size}, request.counter_plus_one != 0);
    if (slots_.full() || slots_.bulk() >= limits_.bulk_transfers) return false;
    const OperationSlots::Name name = slots_.next();
    request.kind = bulk_kind;
    request.tag = name.tag;
    request.token = name.token;
    if (!append(to, request, {})) return false;
    Slot& slot = slots_.take(operation, to);
    slots_.make_bulk(slot, request.size);
    slot.awaits_reply = row_of(bulk_kind)->answered == Answered::by_reply; // `done`, once the data is in the target's memory
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

FlushTicket OriginSide::start_flush(int target) {
    Peer* const to = endpoint_.known_peer(target);
    if (to == nullptr) return {};
    FlushTicket ticket{.packets = to->packets_sent, .bulk = to->bulk_started, .any = true};
    if (to->open_request != nullptr) {
        ++ticket.packets;
        send_or_list(*to, true);
    }
    return ticket;
}

bool OriginSide::flushed(int target, const FlushTicket& ticket) const {
    if (!ticket.any) return true;
    const Peer& to = *endpoint_.known_peer(target);
    return to.packets_acknowledged >= ticket.packets && (to.bulk_under_way.empty() || to.bulk_under_way.front() > ticket.bulk);
}

std::vector<int> OriginSide::busy_targets() {
    std::vector<int> targets;
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
    if (packet.size() < sizeof header || header.acknowledged < from.packets_acknowledged || header.acknowledged > from.packets_sent) {
        endpoint_.note_problem(fmt::format("rank {} sent {} bytes in the place of replies, which acknowledge nothing of what it was "
                                           "sent: they were dropped; {}",
                                           from.rank, packet.size(), fault_of_builds));
        return reply_packets_.read();
    }
    packet = packet.subspan(sizeof header);
    for (Reply reply; read_reply(packet, reply, from.rank); packet = packet.subspan(padded(reply.size)))
        handle_reply(reply, packet.data());
    // Only now: whoever sees the acknowledgement may rely on the replies that came before it.
    packets_unacknowledged_ -= header.acknowledged - from.packets_acknowledged;
    from.packets_acknowledged = header.acknowledged;
    reply_packets_.read();
}

bool OriginSide::read_reply(std::span<const std::byte>& packet, Reply& reply, int origin) {
    if (packet.empty()) return false;
    const std::size_t left = packet.size();
    if (left >= sizeof reply) {
        std::memcpy(&reply, packet.data(), sizeof reply);
        packet = packet.subspan(sizeof reply);
        const bool whole = reply.kind != ReplyKind::barrier || reply.size == sizeof(BarrierToken);
        if (whole && reply.size <= packet.size() && padded(reply.size) <= packet.size()) return true;
    }
    endpoint_.note_problem(fmt::format("rank {} sent {} bytes in the place of replies, which are none: they were dropped; {}",
                                       origin, left, fault_of_builds));
    return false;
}

void OriginSide::handle_reply(const Reply& reply, const std::byte* payload) {
    if (reply.kind == ReplyKind::barrier) {
        BarrierToken token;
        std::memcpy(&token, payload, sizeof token);
        return listener_.on_barrier_token(token);
    }
    Slot* const slot = slots_.named(reply.token);
    if (slot == nullptr) return;
    if (reply.kind == ReplyKind::data && slot->operation != nullptr) std::memcpy(slot->operation->destination, payload, reply.size);
    slots_.replied(*slot);
}

void OriginSide::complete(const Purpose& purpose) {
    if (purpose.kind == Purpose::own_get || purpose.kind == Purpose::own_put) return slots_.moved(slots_[purpose.index]);
    --lingering_;
    if (purpose.kind == Purpose::scrap) scraps_.erase(purpose.index);
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
    if (to_come == 1 && slot.bytes <= largest_scrap && slot.pieces == 1) receive_into_scrap(slot);
    lingering_ += endpoint_.requests().reassign({Purpose::own_put, index}, discarded);
    slots_.forget(slot);
    return discarded;
}

void OriginSide::receive_into_scrap(const Slot& slot) noexcept {
    try {
        std::byte* const scrap = scraps_.emplace(next_scrap_, support::allocate_aligned(slot.bytes)).first->second.get();
        endpoint_.receive(scrap, static_cast<int>(slot.bytes), slot.peer->rank, bulk_get_tag(slot.tag), {Purpose::scrap, next_scrap_});
        ++next_scrap_;
        ++lingering_;
    } catch (...) { // then its sender keeps it
        scraps_.erase(next_scrap_);
    }
}

void OriginSide::take_back_all_receives() noexcept {
    for (std::size_t i = 0; i < slots_.size(); ++i)
        endpoint_.requests().take_back_receives({Purpose::own_get, static_cast<std::uint32_t>(i)});
}

} // namespace lapwing::messages
