#include "src/messages/reply_queue.hpp"

#include "src/messages/fair_share.hpp"

#include <cstring>
#include <utility>

namespace lapwing::detail::messages {

Packet* ReplyQueue::take(Peer& to, Use use) {
    Packet* packet = nullptr;
    if (use == Use::duty || is_fair(to.reply_packets, packets_.free())) packet = packets_.take();
    if (packet == nullptr && to.reply_packets == 0) packet = packets_.take_extra();
    if (packet == nullptr) return nullptr;
    packet->holder = &to;
    ++to.reply_packets;
    return packet;
}

bool ReplyQueue::open(Peer& to, std::uint64_t payload_bytes, Use use) {
    if (to.open_reply != nullptr && !to.open_reply->fits(sizeof(Reply), payload_bytes)) send_packet(to);
    if (to.open_reply == nullptr) to.open_reply = take(to, use);
    return to.open_reply != nullptr;
}

std::byte* ReplyQueue::append_open(Peer& to, const Reply& reply) {
    list(to);
    return to.open_reply->append(reply, reply.size);
}

std::byte* ReplyQueue::append(Peer& to, const Reply& reply) {
    return open(to, reply.size, Use::answer) ? append_open(to, reply) : nullptr;
}

bool ReplyQueue::send_now(Peer& to, const BarrierToken& token) {
    if (!open(to, sizeof token, Use::duty)) return false;
    std::memcpy(append_open(to, {.kind = ReplyKind::barrier, .size = sizeof token}), &token, sizeof token);
    send_packet(to);
    return true;
}

void ReplyQueue::send() {
    std::erase_if(peers_, [&](Peer* to) {
        // Its acknowledgement may have left with a barrier's token.
        if (to->open_reply != nullptr || to->acknowledgement_sent != to->packets_handled) {
            if (to->open_reply == nullptr) to->open_reply = take(*to, Use::duty);
            if (to->open_reply == nullptr) return false; // a later round, when a buffer has come free
            send_packet(*to);
        }
        to->listed_reply = false;
        return true;
    });
}

void ReplyQueue::sent(std::uint32_t index) {
    --packets_.packet(index).holder->reply_packets;
    packets_.sent(index);
}

void ReplyQueue::list(Peer& to) {
    if (to.listed_reply) return;
    peers_.push_back(&to);
    to.listed_reply = true;
}

void ReplyQueue::send_packet(Peer& to) {
    Packet* const packet = std::exchange(to.open_reply, nullptr);
    packet->set_header({.acknowledged = to.packets_handled});
    to.acknowledgement_sent = to.packets_handled;
    packets_.send(packet, to.rank);
}

} // namespace lapwing::detail::messages
