#include "src/messages/operation_slots.hpp"

#include "src/mpi/pieces.hpp"

#include <algorithm>

namespace lapwing::detail::messages {

OperationSlots::OperationSlots(std::uint64_t count, std::uint32_t last_tag_number)
    : slots_(count), last_tag_number_{last_tag_number} {
    for (auto i = static_cast<std::uint32_t>(count); i-- > 0;) {
        slots_[i].tag = i;
        free_.push_back(i);
    }
}

OperationSlots::Slot* OperationSlots::named(std::uint64_t token) {
    const auto index = static_cast<std::uint32_t>(token);
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.in_use && slot.generation == token >> 32 ? &slot : nullptr;
}

bool OperationSlots::was_given(std::uint64_t token) const noexcept {
    const auto index = static_cast<std::uint32_t>(token);
    if (index >= slots_.size()) return false;
    // Generations may begin anew.
    const auto behind = static_cast<std::int32_t>(slots_[index].generation - static_cast<std::uint32_t>(token >> 32));
    return behind > 0 || (behind == 0 && slots_[index].in_use);
}

OperationSlots::Slot* OperationSlots::of(const Operation& operation) {
    const auto found =
        std::ranges::find_if(slots_, [&](const Slot& slot) { return slot.in_use && slot.operation == &operation; });
    return found == slots_.end() ? nullptr : &*found;
}

OperationSlots::Name OperationSlots::next() const {
    const std::uint32_t index = free_.back();
    return {index, slots_[index].tag, name_of(slots_[index])};
}

OperationSlots::Slot& OperationSlots::take(Operation& operation, Peer& peer) {
    Slot& slot = slots_[free_.back()];
    free_.pop_back();
    slot.operation = &operation;
    slot.peer = &peer;
    slot.in_use = true;
    slot.bulk_number = 0;
    slot.awaits_reply = false;
    slot.pieces = 0;
    slot.bytes = 0;
    slot.arrived = 0;
    operation.dropped = false;
    return slot;
}

void OperationSlots::make_bulk(Slot& slot, std::uint64_t bytes) {
    slot.bytes = bytes;
    slot.pieces = static_cast<std::uint32_t>(mpi::piece_count(bytes));
    slot.operation->remaining.store(slot.pieces, std::memory_order_relaxed); // published by the mutex
    slot.bulk_number = ++slot.peer->bulk_started;
    slot.peer->bulk_under_way.push_back(slot.bulk_number);
    ++bulk_;
}

void OperationSlots::replied(Slot& slot) {
    slot.awaits_reply = false;
    if (!slot.bulk()) finish_part(slot);
    release_if_complete(slot);
}

void OperationSlots::drop(Slot& slot) {
    if (slot.operation != nullptr) slot.operation->dropped = true; // published with what remains of it
    if (slot.awaits_reply) return replied(slot);                   // of a bulk put MPI may still be reading the source
    slot.pieces = 0;
    if (slot.operation != nullptr) slot.operation->remaining.store(0, std::memory_order_release); // as in finish_part()
    slot.operation = nullptr;
    release_if_complete(slot);
}

void OperationSlots::moved(Slot& slot) {
    --slot.pieces;
    finish_part(slot);
    release_if_complete(slot);
}

void OperationSlots::finish_part(Slot& slot) {
    // Release: the waiting thread reads the data after it has seen the count fall.
    if (slot.operation != nullptr && slot.operation->remaining.fetch_sub(1, std::memory_order_release) == 1)
        slot.operation = nullptr; // its owner may be gone from here on
}

void OperationSlots::release_if_complete(Slot& slot) {
    if (slot.pieces != 0 || slot.awaits_reply) return;
    if (slot.bulk()) {
        auto& numbers = slot.peer->bulk_under_way; // nearly always the first
        numbers.erase(std::ranges::find(numbers, slot.bulk_number));
        --bulk_;
    }
    slot.in_use = false;
    slot.operation = nullptr;
    ++slot.generation;
    if (slot.tag <= last_tag_number_) free_.push_back(index_of(slot));
}

void OperationSlots::forget(Slot& slot) {
    slot.operation = nullptr;
    slot.awaits_reply = false; // one that still comes names an earlier generation
    slot.pieces = 0;
    // Bulk data that still comes must not meet the receive of a later transfer. Numbers do not come again: a slot that
    // has used up its own, 60 at the least, is not used any more.
    if (slot.bulk()) slot.tag += static_cast<std::uint32_t>(slots_.size());
    release_if_complete(slot);
}

} // namespace lapwing::detail::messages
