// The invariants of the engine's queues, once a round of progress is over. Looked at in builds with internal assertions
// alone.
#include "src/messages/operation_slots.hpp"
#include "src/messages/origin_side.hpp"
#include "src/messages/reply_queue.hpp"
#include "src/messages/staging_buffers.hpp"
#include "src/messages/target_side.hpp"
#include "src/support/assert.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lapwing::detail::messages {
namespace {

[[nodiscard]] bool is_ascending(const std::vector<std::uint64_t>& numbers) {
    return std::ranges::adjacent_find(numbers, std::ranges::greater_equal{}) == numbers.end();
}

[[nodiscard]] bool each_once(std::vector<Peer*> peers) {
    std::ranges::sort(peers);
    return std::ranges::adjacent_find(peers) == peers.end();
}

} // namespace

void OperationSlots::validate() const {
    std::vector<bool> is_free(slots_.size());
    for (const std::uint32_t index : free_) {
        LAPWING_ASSERT(index < slots_.size() && !slots_[index].in_use && !is_free[index]);
        is_free[index] = true;
    }
    std::size_t bulk = 0;
    for (const Slot& slot : slots_) {
        if (!slot.in_use) {
            LAPWING_ASSERT(slot.operation == nullptr);
            LAPWING_ASSERT(is_free[index_of(slot)] || slot.tag > last_tag_number_); // which has used up its tags
            continue;
        }
        LAPWING_ASSERT(slot.peer != nullptr && (slot.awaits_reply || slot.pieces != 0));
        if (!slot.bulk()) continue;
        ++bulk;
        LAPWING_ASSERT(std::ranges::binary_search(slot.peer->bulk_under_way, slot.bulk_number));
    }
    LAPWING_ASSERT(bulk == bulk_);
}

void ReplyQueue::validate() const {
    LAPWING_ASSERT(each_once(peers_));
    for (const Peer* const peer : peers_) {
        LAPWING_ASSERT(peer->listed_reply);
        LAPWING_ASSERT(peer->acknowledgement_sent <= peer->packets_handled);
    }
}

void StagingBuffers::validate() const {
    std::uint64_t in_use = 0;
    for (const Buffer& buffer : buffers_) {
        LAPWING_ASSERT(!buffer.in_use || buffer.memory != nullptr);
        in_use += buffer.in_use && !buffer.extra ? 1 : 0;
    }
    LAPWING_ASSERT(in_use == in_use_ && in_use_ <= most_);
}

void OriginSide::validate() const {
    slots_.validate();
    LAPWING_ASSERT(each_once(open_peers_) && each_once(busy_peers_));
    for (const Peer* const peer : open_peers_) LAPWING_ASSERT(peer->listed_open);
    std::uint64_t unacknowledged = 0;
    for (const Peer* const peer : busy_peers_) {
        LAPWING_ASSERT(peer->listed_busy);
        LAPWING_ASSERT(peer->packets_acknowledged <= peer->packets_sent);
        LAPWING_ASSERT(is_ascending(peer->bulk_under_way));
        unacknowledged += peer->packets_sent - peer->packets_acknowledged;
    }
    LAPWING_ASSERT(unacknowledged == packets_unacknowledged_);
}

void TargetSide::validate() const {
    replies_.validate();
    transfers_.validate();
    LAPWING_ASSERT(each_once(parked_));
    for (const Peer* const peer : parked_) LAPWING_ASSERT(peer->parked());
}

} // namespace lapwing::detail::messages
