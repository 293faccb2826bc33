// The engine's end at the origin: queues requests, and knows which operations they belong to.
#include "src/messages/engine.hpp"

#include "src/messages/tags.hpp"
#include "src/mpi/pieces.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace lapwing::messages {

bool Engine::send_request_packet(Peer& to) {
    if (to.packets_sent - to.packets_acknowledged >= limits_.packets_in_flight) return false;
    Packet* const packet = std::exchange(to.open_request, nullptr);
    packet->set_header({});
    // Counted before it is sent: what MPI does not take is never acknowledged, so no flush believes that it has arrived.
    ++to.packets_sent;
    ++packets_unacknowledged_;
    to.urgent = false;
    send(packet, to.rank, request_tag, {What::request_out, static_cast<std::uint32_t>(packet - request_pool_.all().data())});
    return true;
}

std::byte* Engine::append_request(Peer& to, const Request& request, std::uint64_t payload_bytes) {
    if (to.open_request != nullptr && !to.open_request->fits(sizeof request, payload_bytes) && !send_request_packet(to))
        return nullptr;
    if (to.open_request == nullptr) to.open_request = request_pool_.take();
    if (to.open_request == nullptr) return nullptr;
    if (!to.listed_busy) { // bulk transfers and packets that are sent begin here
        to.listed_busy = true;
        busy_peers_.push_back(&to);
    }
    return to.open_request->append(request, payload_bytes);
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

Engine::SlotName Engine::next_slot() const {
    const std::uint32_t index = free_slots_.back();
    return {index, slots_[index].tag, static_cast<std::uint64_t>(slots_[index].generation) << 32 | index};
}

Engine::Slot& Engine::take_slot(Operation& operation, Peer& to) {
    Slot& slot = slots_[free_slots_.back()];
    free_slots_.pop_back();
    slot.operation = &operation;
    slot.peer = &to;
    slot.in_use = true;
    slot.bulk_number = 0;
    slot.awaits_reply = false;
    slot.pieces = 0;
    return slot;
}

void Engine::make_bulk(Slot& slot, std::uint64_t bytes) {
    slot.bytes = bytes;
    slot.pieces = static_cast<std::uint32_t>(mpi::piece_count(bytes));
    slot.operation->remaining.store(slot.pieces, std::memory_order_relaxed); // published by the mutex
    slot.bulk_number = ++slot.peer->bulk_started;
    slot.peer->bulk_under_way.push_back(slot.bulk_number);
    ++own_bulk_;
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
    if (slot.bulk()) {
        auto& numbers = slot.peer->bulk_under_way; // nearly always the first
        numbers.erase(std::ranges::find(numbers, slot.bulk_number));
        --own_bulk_;
    }
    slot.in_use = false;
    slot.operation = nullptr;
    ++slot.generation;
    if (slot.tag <= last_tag_number_) free_slots_.push_back(static_cast<std::uint32_t>(index));
}

void Engine::forget(std::size_t index) {
    Slot& slot = slots_[index];
    slot.operation = nullptr;
    slot.awaits_reply = false; // one that still comes names an earlier generation
    slot.pieces = 0;
    // Bulk data that still comes must not meet the receive of a later transfer. Numbers do not come again: a slot that has
    // used up its own, 60 at the least, is not used any more.
    if (slot.bulk()) slot.tag += static_cast<std::uint32_t>(slots_.size());
    release_if_complete(index);
}

Engine::Purpose Engine::take_back(std::uint32_t index) noexcept {
    const Purpose discarded{What::discarded, index};
    const Slot& slot = slots_[index];
    const std::size_t to_come = requests_.take_back_receives({What::own_get, index});
    if (to_come == 1 && slot.bytes <= largest_scrap && slot.pieces == 1) {
        try {
            support::AlignedMemory scrap = support::allocate_aligned(slot.bytes);
            const MPI_Request request =
                receive(scrap.get(), static_cast<int>(slot.bytes), slot.peer->rank, bulk_get_tag(slot.tag));
            scraps_.emplace(next_scrap_, std::move(scrap));
            requests_.add(request, {What::scrap, next_scrap_++});
            ++lingering_;
        } catch (...) { // then its sender keeps it
        }
    }
    lingering_ += requests_.reassign({What::own_put, index}, discarded);
    forget(index);
    return discarded;
}

template <class Step>
void Engine::start_or_forget(std::uint32_t index, Step&& step) {
    try {
        step();
    } catch (...) {
        take_back(index);
        throw;
    }
}

bool Engine::try_fetch_data(Operation& operation, int target, Request request, bool bulk, std::span<const std::byte> payload,
                            bool urgent) {
    const std::lock_guard guard{mutex_};
    if (free_slots_.empty() || (bulk && own_bulk_ >= limits_.bulk_transfers)) return false;
    Peer& to = peer(target);
    const SlotName name = next_slot();
    request.tag = name.tag;
    request.token = name.token;
    std::byte* const place = append_request(to, request, payload.size());
    if (place == nullptr) return false;
    if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
    Slot& slot = take_slot(operation, to);
    if (bulk) {
        make_bulk(slot, request.size);
    } else {
        operation.remaining.store(1, std::memory_order_relaxed);
        slot.awaits_reply = true;
    }
    start_or_forget(name.index, [&] {
        if (bulk)
            mpi::for_each_piece(request.size, [&](std::uint64_t at, int piece_bytes) {
                requests_.add(receive(operation.destination + at, piece_bytes, target, bulk_get_tag(name.tag)),
                              {What::own_get, name.index});
            });
        // The first of a stream of gets leaves at once; those behind it gather until its answer is here.
        send_or_list(to, urgent || bulk || to.packets_sent == to.packets_acknowledged);
    });
    update_active();
    return true;
}

bool Engine::try_get(Operation& operation, int target, std::uint64_t window, std::uint64_t offset, std::uint64_t bytes,
                     bool urgent) {
    const bool bulk = bytes > inline_limit_;
    return try_fetch_data(
        operation, target,
        {.kind = bulk ? RequestKind::bulk_get : RequestKind::get, .window = window, .offset = offset, .size = bytes}, bulk, {},
        urgent);
}

bool Engine::try_gather(Operation& operation, int target, std::uint64_t window, std::span<const std::byte> table,
                        std::uint64_t bytes) {
    const bool bulk = bytes > inline_limit_;
    return try_fetch_data(
        operation, target,
        {.kind = bulk ? RequestKind::bulk_gather : RequestKind::gather, .window = window, .offset = table.size(), .size = bytes},
        bulk, table, false);
}

bool Engine::try_send_data(Operation& operation, int target, Request request, RequestKind bulk_kind, const std::byte* source) {
    const std::lock_guard guard{mutex_};
    Peer& to = peer(target);
    if (request.size <= inline_limit_) return try_send(to, request, source, request.size, request.counter_plus_one != 0);
    if (free_slots_.empty() || own_bulk_ >= limits_.bulk_transfers) return false;
    const SlotName name = next_slot();
    request.kind = bulk_kind;
    request.tag = name.tag;
    request.token = name.token;
    if (append_request(to, request, 0) == nullptr) return false;
    Slot& slot = take_slot(operation, to);
    make_bulk(slot, request.size);
    slot.awaits_reply = true; // `done`, once the data is in the target's memory
    start_or_forget(name.index, [&] {
        send_or_list(to, true); // before the data, so that the target can post its receive
        mpi::for_each_piece(request.size, [&](std::uint64_t at, int piece_bytes) {
            requests_.add(send(source + at, piece_bytes, target, bulk_put_tag(name.tag)), {What::own_put, name.index});
        });
    });
    update_active();
    return true;
}

bool Engine::try_put(Operation& operation, int target, std::uint64_t window, std::uint64_t offset, const std::byte* source,
                     std::uint64_t bytes, std::uint32_t counter_plus_one) {
    return try_send_data(operation, target,
                         {.kind = RequestKind::put,
                          .counter_plus_one = counter_plus_one,
                          .window = window,
                          .offset = offset,
                          .size = bytes},
                         RequestKind::bulk_put, source);
}

bool Engine::try_scatter(Operation& operation, int target, std::uint64_t window, std::span<const std::byte> message,
                         std::uint64_t table_bytes) {
    return try_send_data(
        operation, target,
        {.kind = RequestKind::scatter, .window = window, .offset = table_bytes, .size = message.size()},
        RequestKind::bulk_scatter, message.data());
}

bool Engine::try_atomic(Operation& operation, int target, const Request& request, const AtomicPayload& payload) {
    const std::lock_guard guard{mutex_};
    if (free_slots_.empty()) return false;
    Peer& to = peer(target);
    Request numbered = request;
    const SlotName name = next_slot();
    numbered.token = name.token;
    std::byte* const bytes = append_request(to, numbered, sizeof payload);
    if (bytes == nullptr) return false;
    std::memcpy(bytes, &payload, sizeof payload);
    operation.remaining.store(1, std::memory_order_relaxed);
    take_slot(operation, to).awaits_reply = true;
    start_or_forget(name.index, [&] { send_or_list(to, true); });
    update_active();
    return true;
}

bool Engine::try_atomics(Operation& operation, int target, const Request& request, std::span<const std::byte> payload) {
    return try_fetch_data(operation, target, request, false, payload, true);
}

bool Engine::try_adds(int target, const Request& request, std::span<const AddPayload> adds) {
    const std::lock_guard guard{mutex_};
    return try_send(peer(target), request, adds.data(), adds.size_bytes(), false);
}

bool Engine::try_wake(int target) {
    const std::lock_guard guard{mutex_};
    return try_send_locked(target, Request{.kind = RequestKind::wake}, nullptr, 0);
}

bool Engine::try_send_locked(int target, const Request& request, const void* payload, std::uint64_t payload_bytes) {
    return try_send(peer(target), request, payload, payload_bytes, true);
}

bool Engine::try_send_locked(int target, const BarrierToken& token) {
    Peer& to = peer(target);
    std::byte* const place = append_reply(to, {.kind = ReplyKind::barrier, .size = sizeof token}, sizeof token);
    if (place == nullptr) return false;
    std::memcpy(place, &token, sizeof token);
    send_reply_packet(to);
    return true;
}

bool Engine::try_send(Peer& to, const Request& request, const void* payload, std::uint64_t payload_bytes, bool urgent) {
    std::byte* const bytes = append_request(to, request, payload_bytes);
    if (bytes == nullptr) return false;
    if (payload_bytes != 0) std::memcpy(bytes, payload, payload_bytes);
    send_or_list(to, urgent);
    update_active();
    return true;
}

void Engine::abandon(Operation& operation) noexcept {
    Purpose discarded{What::discarded};
    {
        const std::lock_guard guard{mutex_};
        const auto found = std::ranges::find_if(slots_, [&](const Slot& slot) { return slot.in_use && slot.operation == &operation; });
        if (found == slots_.end()) return;
        discarded = take_back(static_cast<std::uint32_t>(found - slots_.begin()));
    }
    outlast(discarded);
}

void Engine::outlast(const Purpose& purpose) noexcept {
    // A send cannot be taken back everywhere: Open MPI does not even try. It may never end either, if its target does not
    // receive any more, and does no harm beyond reading.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{200};
    for (bool first = true;; first = false) {
        const std::lock_guard guard{mutex_};
        if (stopped_ || !requests_.contains(purpose)) return;
        if (!first && std::chrono::steady_clock::now() >= end) return;
        try {
            progress_locked();
        } catch (...) { // the wait that was given up has told, or the next one will
        }
    }
}

} // namespace lapwing::messages
