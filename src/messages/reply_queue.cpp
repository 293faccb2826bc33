#include "src/messages/reply_queue.hpp"

#include <cstring>
#include <utility>

namespace lapwing::messages {

std::byte* ReplyQueue::append(Peer& to, const Reply& reply) {
    if (to.open_reply != nullptr && !to.open_reply->fits(sizeof reply, reply.size)) send_packet(to);
    if (to.open_reply == nullptr) to.open_reply = packets_.take();
    if (to.open_reply == nullptr) return nullptr;
    list(to);
    return to.open_reply->append(reply, reply.size);
}

bool ReplyQueue::send_now(Peer& to, const BarrierToken& token) {
    std::byte* const place = append(to, {.kind = ReplyKind::barrier, .size = sizeof token});
    if (place == nullptr) return false;
    std::memcpy(place, &token, sizeof token);
    send_packet(to);
    return true;
}

void ReplyQueue::send() {
    std::erase_if(peers_, [&](Peer* to) {
        // Its acknowledgement may have left with a barrier's token.
        if (to->open_reply != nullptr || to->acknowledgement_sent != to->packets_handled) {
            if (to->open_reply == nullptr) to->open_reply = packets_.take();
            if (to->open_reply == nullptr) return false; // a later round, when a buffer has come free
            send_packet(*to);
        }
        to->listed_reply = false;
        return true;
    });
}

void ReplyQueue::list(Peer& to) {
    if (to.listed_reply) return;
    to.listed_reply = true;
    peers_.push_back(&to);
}

void ReplyQueue::send_packet(Peer& to) {
    Packet* const packet = std::exchange(to.open_reply, nullptr);
    packet->set_header({.acknowledged = to.packets_handled});
    to.acknowledgement_sent = to.packets_handled;
    packets_.send(packet, to.rank);
}

} // namespace lapwing::messages
