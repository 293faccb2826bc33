#include "window/progress/engine.hpp"

#include "src/support/mpi_error.hpp"
#include "window/atomics.hpp"
#include "window/progress/pieces.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lapwing::window {
namespace {

constexpr int request_tag = 0;
constexpr int reply_tag = 1;
constexpr int first_bulk_tag = 2;

/// Data of bulk gets and bulk puts may flow between a pair of ranks in the same direction, the one numbered by the
/// receiver, the other by the sender: so they take tags of different parity.
int bulk_get_tag(std::uint32_t number) { return first_bulk_tag + static_cast<int>(2 * number); }
int bulk_put_tag(std::uint32_t number) { return first_bulk_tag + static_cast<int>(2 * number + 1); }

} // namespace

Engine::Engine(MPI_Comm communicator, const EngineLimits& limits, support::Statistics& statistics, EngineListener& listener)
    : communicator_{communicator}, limits_{limits}, statistics_{statistics}, listener_{listener},
      inline_limit_{limits.packet_bytes / 2}, request_pool_{limits.request_packets, limits.packet_bytes},
      reply_pool_{limits.reply_packets, limits.packet_bytes}, slots_(limits.operations), served_puts_(limits.bulk_transfers) {
    for (auto i = static_cast<std::uint32_t>(limits.operations); i-- > 0;) free_slots_.push_back(i);
    const auto open = [&](Ring& ring, std::uint64_t count, int tag, What what) {
        ring.memory.resize(count * limits_.packet_bytes);
        ring.requests.assign(count, MPI_REQUEST_NULL);
        ring.tag = tag;
        ring.what = what;
        for (std::size_t i = 0; i < count; ++i) post(ring, i);
        watch_head(ring);
    };
    open(request_ring_, limits.request_receives, request_tag, What::request_in);
    open(reply_ring_, limits.reply_receives, reply_tag, What::reply_in);
    memory_bytes_ = (limits.request_packets + limits.reply_packets + limits.request_receives + limits.reply_receives) *
                    limits.packet_bytes;
}

Engine::~Engine() = default;

void Engine::expose(std::uint64_t window, const ExposedMemory& memory) {
    const std::lock_guard guard{mutex_};
    exposed_.emplace(window, memory);
}

void Engine::withdraw(std::uint64_t window) {
    const std::lock_guard guard{mutex_};
    exposed_.erase(window);
}

Engine::Peer& Engine::peer(int rank) {
    if (last_peer_ != nullptr && last_peer_->rank == rank) return *last_peer_;
    auto& entry = peers_[rank];
    if (entry == nullptr) {
        entry = std::make_unique<Peer>();
        entry->rank = rank;
    }
    last_peer_ = entry.get();
    return *entry;
}

// ---- receiving ------------------------------------------------------------------------------------------------------

void Engine::post(Ring& ring, std::size_t index) {
    support::check_mpi(MPI_Irecv(ring.memory.data() + index * limits_.packet_bytes, static_cast<int>(limits_.packet_bytes),
                                 MPI_BYTE, MPI_ANY_SOURCE, ring.tag, communicator_, &ring.requests[index]),
                       "MPI_Irecv");
}

void Engine::watch_head(Ring& ring) {
    requests_.add(std::exchange(ring.requests[ring.head], MPI_REQUEST_NULL),
                  {ring.what, static_cast<std::uint32_t>(ring.head)});
}

void Engine::complete(const Handler& handler, const MPI_Status& status) {
    switch (handler.what) {
    case What::request_in: {
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        reading_ = {true, status.MPI_SOURCE, sizeof(PacketHeader), static_cast<std::uint64_t>(bytes)};
        statistics_.add(Counter::messages_received);
        read_requests();
        return;
    }
    case What::reply_in:
        statistics_.add(Counter::messages_received);
        read_replies(status);
        return;
    case What::request_out: request_pool_.give_back(&request_pool_.all()[handler.index]); return;
    case What::reply_out: reply_pool_.give_back(&reply_pool_.all()[handler.index]); return;
    case What::own_piece: {
        Slot& slot = slots_[handler.index];
        --slot.pieces;
        finish_part(slot);
        release_if_complete(handler.index);
        return;
    }
    case What::served_get: --served_bulk_; return;
    case What::served_put: {
        ServedPut& put = served_puts_[handler.index];
        if (--put.pieces == 0) {
            raise_counter(put.window, put.counter_plus_one);
            finished_puts_.push_back(handler.index);
        }
        return;
    }
    }
}

void Engine::read_replies(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const std::byte* const packet = reply_ring_.memory.data() + reply_ring_.head * limits_.packet_bytes;
    Peer& from = peer(status.MPI_SOURCE);
    for (std::uint64_t position = sizeof(PacketHeader); position < static_cast<std::uint64_t>(bytes);) {
        Reply reply;
        std::memcpy(&reply, packet + position, sizeof reply);
        position += sizeof reply;
        if (Slot* const slot = slot_of(reply.token); slot != nullptr) {
            if (reply.kind == ReplyKind::data && slot->operation != nullptr)
                std::memcpy(slot->operation->destination, packet + position, reply.size);
            slot->awaits_reply = false;
            if (!slot->bulk) finish_part(*slot);
            release_if_complete(static_cast<std::size_t>(slot - slots_.data()));
        }
        if (reply.kind == ReplyKind::data) position += padded(reply.size);
    }
    // Only now: whoever sees the acknowledgement may rely on the replies that came before it.
    PacketHeader header;
    std::memcpy(&header, packet, sizeof header);
    packets_unacknowledged_ -= header.acknowledged - from.packets_acknowledged;
    from.packets_acknowledged = header.acknowledged;
    post(reply_ring_, reply_ring_.head);
    reply_ring_.head = (reply_ring_.head + 1) % reply_ring_.requests.size();
    watch_head(reply_ring_);
}

void Engine::read_requests() {
    if (!reading_.active) return;
    const std::byte* const packet = request_ring_.memory.data() + request_ring_.head * limits_.packet_bytes;
    Peer& origin = peer(reading_.origin);
    while (reading_.position < reading_.end) {
        Command command;
        std::memcpy(&command, packet + reading_.position, sizeof command);
        const std::byte* const payload = packet + reading_.position + sizeof command;
        if (!carry_out(origin, command, payload)) return; // no buffer for the answer now: on with it in a later round
        reading_.position += sizeof command;
        switch (command.kind) {
        case CommandKind::put: reading_.position += padded(command.size); break;
        case CommandKind::atomic: reading_.position += sizeof(AtomicPayload); break;
        case CommandKind::barrier: reading_.position += sizeof(BarrierToken); break;
        default: break;
        }
        statistics_.add(Counter::commands_served);
    }
    reading_.active = false;
    ++origin.packets_carried_out;
    list_reply(origin);
    post(request_ring_, request_ring_.head);
    request_ring_.head = (request_ring_.head + 1) % request_ring_.requests.size();
    watch_head(request_ring_);
}

std::byte* Engine::address_of(const Command& command, std::uint64_t bytes) {
    const auto found = exposed_.find(command.window);
    // The origin has checked against the same sizes: this keeps a mistake of Lapwing's from becoming a stray write.
    if (found == exposed_.end() || bytes > found->second.bytes || command.offset > found->second.bytes - bytes)
        throw Error{fmt::format("service request for bytes [{}, {}+{}) of window {} which are not exposed here", command.offset,
                                command.offset, bytes, command.window)};
    return found->second.base + command.offset;
}

bool Engine::carry_out(Peer& origin, const Command& command, const std::byte* payload) {
    switch (command.kind) {
    case CommandKind::get: {
        std::byte* const answer = append_reply(origin, {.kind = ReplyKind::data, .token = command.token, .size = command.size},
                                               command.size);
        if (answer == nullptr) return false;
        std::memcpy(answer, address_of(command, command.size), command.size);
        return true;
    }
    case CommandKind::put:
        if (command.size != 0) std::memcpy(address_of(command, command.size), payload, command.size);
        raise_counter(command.window, command.counter_plus_one);
        return true;
    case CommandKind::bulk_get:
    case CommandKind::bulk_put: return serve_bulk(origin, command, address_of(command, command.size));
    case CommandKind::atomic: {
        std::byte* const answer =
            append_reply(origin, {.kind = ReplyKind::data, .token = command.token, .size = 8}, 8);
        if (answer == nullptr) return false;
        AtomicPayload values;
        std::memcpy(&values, payload, sizeof values);
        std::byte* const address = address_of(command, size_of(command.type));
        if (command.is_compare_swap != 0)
            processor_compare_swap(command.type, address, &values.expected, &values.operand, answer);
        else
            processor_fetch(command.operation, command.type, address, &values.operand, answer);
        return true;
    }
    case CommandKind::barrier: {
        BarrierToken token;
        std::memcpy(&token, payload, sizeof token);
        listener_.on_barrier_token(token);
        return true;
    }
    case CommandKind::departed: listener_.on_departed(static_cast<int>(command.offset)); return true;
    case CommandKind::wake: wakes_.fetch_add(1, std::memory_order_relaxed); return true;
    }
    return true;
}

bool Engine::serve_bulk(Peer& origin, const Command& command, std::byte* address) {
    const std::uint64_t pieces = piece_count(command.size);
    if (served_bulk_ >= limits_.bulk_transfers) return false;
    if (command.kind == CommandKind::bulk_get) {
        for_each_piece(command.size, [&](std::uint64_t at, int bytes) {
            MPI_Request request = MPI_REQUEST_NULL;
            support::check_mpi(MPI_Isend(address + at, bytes, MPI_BYTE, origin.rank, bulk_get_tag(command.tag), communicator_,
                                         &request),
                               "MPI_Isend");
            requests_.add(request, {What::served_get, 0});
        });
        served_bulk_ += pieces;
        return true;
    }
    const auto free = std::ranges::find_if(served_puts_, [](const ServedPut& put) { return !put.in_use; });
    if (free == served_puts_.end()) return false;
    *free = {&origin, command.token, command.window, static_cast<std::uint32_t>(pieces), command.counter_plus_one, true};
    const auto index = static_cast<std::uint32_t>(free - served_puts_.begin());
    for_each_piece(command.size, [&](std::uint64_t at, int bytes) {
        MPI_Request request = MPI_REQUEST_NULL;
        support::check_mpi(
            MPI_Irecv(address + at, bytes, MPI_BYTE, origin.rank, bulk_put_tag(command.tag), communicator_, &request),
            "MPI_Irecv");
        requests_.add(request, {What::served_put, index});
    });
    return true;
}

void Engine::raise_counter(std::uint64_t window, std::uint32_t counter_plus_one) {
    if (counter_plus_one == 0) return;
    const auto found = exposed_.find(window);
    if (found == exposed_.end() || counter_plus_one > found->second.counter_count) return;
    // Release: whoever sees the counter sees the bytes that were written before.
    found->second.counters[counter_plus_one - 1].fetch_add(1, std::memory_order_release);
}

// ---- replies --------------------------------------------------------------------------------------------------------

void Engine::list_reply(Peer& to) {
    if (to.listed_reply) return;
    to.listed_reply = true;
    reply_peers_.push_back(&to);
}

std::byte* Engine::append_reply(Peer& to, const Reply& reply, std::uint64_t payload_bytes) {
    if (to.open_reply != nullptr && !to.open_reply->fits(sizeof reply, payload_bytes)) send_reply_packet(to);
    if (to.open_reply == nullptr) to.open_reply = reply_pool_.take();
    if (to.open_reply == nullptr) return nullptr;
    list_reply(to);
    return to.open_reply->append(reply, payload_bytes);
}

void Engine::send_reply_packet(Peer& to) {
    Packet* const packet = std::exchange(to.open_reply, nullptr);
    packet->set_header({.acknowledged = to.packets_carried_out});
    send(packet, to.rank, reply_tag, {What::reply_out, static_cast<std::uint32_t>(packet - reply_pool_.all().data())});
}

void Engine::send_replies() {
    // First the bulk puts that have arrived: their `done` may share the packet.
    std::erase_if(finished_puts_, [&](std::uint32_t index) {
        ServedPut& put = served_puts_[index];
        if (append_reply(*put.peer, {.kind = ReplyKind::done, .token = put.token}, 0) == nullptr) return false;
        put.in_use = false;
        return true;
    });
    std::erase_if(reply_peers_, [&](Peer* to) {
        if (to->open_reply == nullptr) to->open_reply = reply_pool_.take();
        if (to->open_reply == nullptr) return false; // a later round, when a buffer has come free
        send_reply_packet(*to);
        to->listed_reply = false;
        return true;
    });
}

// ---- requests -------------------------------------------------------------------------------------------------------

void Engine::send(Packet* packet, int target, int tag, Handler handler) {
    MPI_Request request = MPI_REQUEST_NULL;
    support::check_mpi(MPI_Isend(packet->memory(), static_cast<int>(packet->used()), MPI_BYTE, target, tag, communicator_,
                                 &request),
                       "MPI_Isend");
    requests_.add(request, handler);
    statistics_.add(Counter::messages_sent);
}

bool Engine::send_request_packet(Peer& to) {
    if (to.packets_sent - to.packets_acknowledged >= limits_.packets_in_flight) return false;
    Packet* const packet = std::exchange(to.open_request, nullptr);
    packet->set_header({});
    send(packet, to.rank, request_tag, {What::request_out, static_cast<std::uint32_t>(packet - request_pool_.all().data())});
    ++to.packets_sent;
    ++packets_unacknowledged_;
    to.urgent = false;
    return true;
}

std::byte* Engine::append_request(Peer& to, const Command& command, std::uint64_t payload_bytes) {
    if (to.open_request != nullptr && !to.open_request->fits(sizeof command, payload_bytes) && !send_request_packet(to))
        return nullptr;
    if (to.open_request == nullptr) to.open_request = request_pool_.take();
    if (to.open_request == nullptr) return nullptr;
    return to.open_request->append(command, payload_bytes);
}

void Engine::send_or_list(Peer& to, bool urgent) {
    to.urgent = to.urgent || urgent;
    if (to.urgent && send_request_packet(to)) return;
    if (to.listed_open) return;
    to.listed_open = true;
    open_peers_.push_back(&to);
}

void Engine::pump() {
    // Packets that nobody waits for leave when nothing else is on its way to the target, or when they are half full:
    // so that a stream of small operations is gathered by itself.
    std::erase_if(open_peers_, [&](Peer* to) {
        const bool idle = to->packets_sent == to->packets_acknowledged;
        if (to->open_request != nullptr && (to->urgent || idle || to->open_request->used() > limits_.packet_bytes / 2))
            send_request_packet(*to);
        to->listed_open = to->open_request != nullptr;
        return !to->listed_open;
    });
}

std::uint64_t Engine::take_slot(Operation* operation, Peer& to) {
    const std::uint32_t index = free_slots_.back();
    free_slots_.pop_back();
    Slot& slot = slots_[index];
    slot.operation = operation;
    slot.peer = &to;
    slot.in_use = true;
    slot.bulk = false;
    slot.awaits_reply = false;
    slot.pieces = 0;
    return static_cast<std::uint64_t>(slot.generation) << 32 | index;
}

Engine::Slot* Engine::slot_of(std::uint64_t token) {
    const auto index = static_cast<std::uint32_t>(token);
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.in_use && slot.generation == token >> 32 ? &slot : nullptr;
}

void Engine::finish_part(Slot& slot) {
    // Release: the waiting thread reads the data after it has seen the count fall.
    if (slot.operation != nullptr && slot.operation->remaining.fetch_sub(1, std::memory_order_release) == 1)
        slot.operation = nullptr; // its owner may be gone from here on
}

void Engine::release_if_complete(std::size_t index) {
    Slot& slot = slots_[index];
    if (slot.pieces != 0 || slot.awaits_reply) return;
    if (slot.bulk) {
        --slot.peer->bulk_under_way;
        --own_bulk_;
    }
    slot.in_use = false;
    slot.operation = nullptr;
    ++slot.generation;
    free_slots_.push_back(static_cast<std::uint32_t>(index));
}

bool Engine::try_get(Operation& operation, int target, std::uint64_t window, std::uint64_t offset, std::uint64_t bytes,
                     bool urgent) {
    const std::lock_guard guard{mutex_};
    const bool bulk = bytes > inline_limit_;
    if (free_slots_.empty() || (bulk && own_bulk_ >= limits_.bulk_transfers)) return false;
    Peer& to = peer(target);
    Command command{.kind = bulk ? CommandKind::bulk_get : CommandKind::get, .window = window, .offset = offset, .size = bytes};
    const std::uint32_t number = free_slots_.back(); // the one that take_slot will take
    command.tag = number;
    command.token = static_cast<std::uint64_t>(slots_[number].generation) << 32 | number;
    if (append_request(to, command, 0) == nullptr) return false;
    take_slot(&operation, to);
    Slot& slot = slots_[number];
    if (bulk) {
        const auto pieces = static_cast<std::uint32_t>(piece_count(bytes));
        operation.remaining.store(pieces, std::memory_order_relaxed); // published by the mutex
        slot.bulk = true;
        slot.pieces = pieces;
        ++to.bulk_under_way;
        ++own_bulk_;
        for_each_piece(bytes, [&](std::uint64_t at, int piece_bytes) {
            MPI_Request request = MPI_REQUEST_NULL;
            support::check_mpi(MPI_Irecv(operation.destination + at, piece_bytes, MPI_BYTE, target, bulk_get_tag(number),
                                         communicator_, &request),
                               "MPI_Irecv");
            requests_.add(request, {What::own_piece, number});
        });
    } else {
        operation.remaining.store(1, std::memory_order_relaxed);
        slot.awaits_reply = true;
    }
    // The first of a stream of gets leaves at once; those behind it gather until its answer is here.
    send_or_list(to, urgent || bulk || to.packets_sent == to.packets_acknowledged);
    update_active();
    return true;
}

bool Engine::try_put(Operation& operation, int target, std::uint64_t window, std::uint64_t offset, const std::byte* source,
                     std::uint64_t bytes, std::uint32_t counter_plus_one) {
    const std::lock_guard guard{mutex_};
    Peer& to = peer(target);
    Command command{.kind = CommandKind::put,
                    .counter_plus_one = counter_plus_one,
                    .window = window,
                    .offset = offset,
                    .size = bytes};
    if (bytes <= inline_limit_) {
        std::byte* const payload = append_request(to, command, bytes);
        if (payload == nullptr) return false;
        if (bytes != 0) std::memcpy(payload, source, bytes);
        send_or_list(to, counter_plus_one != 0);
        update_active();
        return true;
    }
    if (free_slots_.empty() || own_bulk_ >= limits_.bulk_transfers) return false;
    const std::uint32_t number = free_slots_.back(); // the one that take_slot will take
    command.kind = CommandKind::bulk_put;
    command.tag = number;
    command.token = static_cast<std::uint64_t>(slots_[number].generation) << 32 | number;
    if (append_request(to, command, 0) == nullptr) return false;
    take_slot(&operation, to);
    Slot& slot = slots_[number];
    const auto pieces = static_cast<std::uint32_t>(piece_count(bytes));
    operation.remaining.store(pieces, std::memory_order_relaxed);
    slot.bulk = true;
    slot.awaits_reply = true; // `done`, once the data is in the target's memory
    slot.pieces = pieces;
    ++to.bulk_under_way;
    ++own_bulk_;
    send_or_list(to, true); // before the data, so that the target can post its receive
    for_each_piece(bytes, [&](std::uint64_t at, int piece_bytes) {
        MPI_Request request = MPI_REQUEST_NULL;
        support::check_mpi(
            MPI_Isend(source + at, piece_bytes, MPI_BYTE, target, bulk_put_tag(number), communicator_, &request), "MPI_Isend");
        requests_.add(request, {What::own_piece, number});
    });
    update_active();
    return true;
}

bool Engine::try_atomic(Operation& operation, int target, const Command& command, const AtomicPayload& payload) {
    const std::lock_guard guard{mutex_};
    if (free_slots_.empty()) return false;
    Peer& to = peer(target);
    Command numbered = command;
    const std::uint32_t number = free_slots_.back(); // the one that take_slot will take
    numbered.token = static_cast<std::uint64_t>(slots_[number].generation) << 32 | number;
    std::byte* const bytes = append_request(to, numbered, sizeof payload);
    if (bytes == nullptr) return false;
    std::memcpy(bytes, &payload, sizeof payload);
    take_slot(&operation, to);
    operation.remaining.store(1, std::memory_order_relaxed);
    slots_[number].awaits_reply = true;
    send_or_list(to, true);
    update_active();
    return true;
}

bool Engine::try_wake(int target) {
    const std::lock_guard guard{mutex_};
    return try_send_locked(target, Command{.kind = CommandKind::wake}, nullptr, 0);
}

bool Engine::try_send_locked(int target, const Command& command, const void* payload, std::uint64_t payload_bytes) {
    Peer& to = peer(target);
    std::byte* const bytes = append_request(to, command, payload_bytes);
    if (bytes == nullptr) return false;
    if (payload_bytes != 0) std::memcpy(bytes, payload, payload_bytes);
    send_or_list(to, true);
    update_active();
    return true;
}

void Engine::abandon(Operation& operation) noexcept {
    const std::lock_guard guard{mutex_};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (!slot.in_use || slot.operation != &operation) continue;
        slot.operation = nullptr;
        // Data may still be on its way into the caller's memory: take the receives back. What cannot be taken back has
        // arrived.
        while (MPI_Request* const request = requests_.find({What::own_piece, static_cast<std::uint32_t>(i)})) {
            requests_.cancel(request);
            --slot.pieces;
        }
        slot.awaits_reply = slot.awaits_reply && !slot.bulk;
        if (slot.bulk) release_if_complete(i);
    }
}

// ---- flushing and progress ------------------------------------------------------------------------------------------

Engine::FlushTicket Engine::start_flush(int target) {
    const std::lock_guard guard{mutex_};
    const auto found = peers_.find(target);
    if (found == peers_.end()) return {};
    Peer& to = *found->second;
    FlushTicket ticket{.packets = to.packets_sent, .any = true};
    if (to.open_request != nullptr) {
        ++ticket.packets;
        send_or_list(to, true);
    }
    return ticket;
}

bool Engine::flushed(int target, const FlushTicket& ticket) {
    if (!ticket.any) return true;
    const std::lock_guard guard{mutex_};
    const Peer& to = *peers_.at(target);
    return to.packets_acknowledged >= ticket.packets && to.bulk_under_way == 0;
}

std::vector<int> Engine::busy_targets() {
    const std::lock_guard guard{mutex_};
    std::vector<int> targets;
    if (active_.load(std::memory_order_relaxed) == 0) return targets;
    for (const auto& [rank, to] : peers_)
        if (to->open_request != nullptr || to->packets_acknowledged != to->packets_sent || to->bulk_under_way != 0)
            targets.push_back(rank);
    return targets;
}

void Engine::update_active() noexcept {
    active_.store(packets_unacknowledged_ + open_peers_.size() + own_bulk_, std::memory_order_release); // busy()
}

bool Engine::progress_locked() {
    if (stopped_) return false;
    bool moved = requests_.poll([this](const Handler& handler, const MPI_Status& status) { complete(handler, status); });
    if (reading_.active) read_requests();
    listener_.on_progress();
    if (!finished_puts_.empty() || !reply_peers_.empty()) send_replies();
    if (!open_peers_.empty()) pump();
    update_active();
    return moved;
}

bool Engine::progress() {
    const std::unique_lock guard{mutex_, std::try_to_lock};
    return guard.owns_lock() && progress_locked();
}

bool Engine::idle() {
    const std::lock_guard guard{mutex_};
    progress_locked();
    // The two requests that remain are the watched receives.
    return active_.load(std::memory_order_relaxed) == 0 && reply_peers_.empty() && finished_puts_.empty() &&
           !reading_.active && requests_.size() <= 2;
}

void Engine::stop() noexcept {
    const std::lock_guard guard{mutex_};
    if (std::exchange(stopped_, true)) return;
    for (Ring* ring : {&request_ring_, &reply_ring_})
        for (MPI_Request& request : ring->requests)
            if (request != MPI_REQUEST_NULL) requests_.add(std::exchange(request, MPI_REQUEST_NULL), {});
    requests_.cancel_all();
}

} // namespace lapwing::window
