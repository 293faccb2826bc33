#pragma once

#include "src/messages/packet_stream.hpp"
#include "src/messages/peer.hpp"
#include "src/messages/request.hpp"

#include <cstddef>
#include <vector>

namespace lapwing::messages {

/// The replies and acknowledgements that this rank owes. Reply buffers always come free, since whoever gets replies reads them
/// whatever else is under way.
class ReplyQueue {
public:
    explicit ReplyQueue(PacketStream& packets) : packets_{packets} {}

    /// Room for the payload of a reply, of `reply.size` bytes, in the peer's open reply packet; null when no buffer is free.
    std::byte* append(Peer& to, const Reply& reply);
    /// A packet of the peer's has been handled: it is to be told.
    void acknowledge(Peer& to) {
        ++to.packets_handled;
        list(to);
    }
    /// Hands a token to MPI with what is owed to the peer; false when no buffer is free.
    bool send_now(Peer& to, const BarrierToken& token);
    /// Sends what is owed, as far as there are buffers.
    void send();
    [[nodiscard]] bool empty() const noexcept { return peers_.empty(); }

private:
    void list(Peer& to);
    void send_packet(Peer& to);

    PacketStream& packets_;
    std::vector<Peer*> peers_; ///< to whom something is owed
};

} // namespace lapwing::messages
