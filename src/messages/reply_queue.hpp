#pragma once

#include "src/messages/packet_stream.hpp"
#include "src/messages/peer.hpp"
#include "src/messages/request.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::messages {

/// The replies and acknowledgements that this rank owes. A rank always reads the replies that it gets, but perhaps only
/// at its next call, or signal: until then MPI's unsent messages hold buffers here. So answers take a fair share of the
/// buffers, and a rank that holds none gets one in any case: no rank keeps this one from answering another.
class ReplyQueue {
public:
    explicit ReplyQueue(PacketStream& packets) : packets_{packets} {}

    /// Room for the payload of a reply, of `reply.size` bytes, in the peer's open reply packet; null when the peer
    /// holds as many buffers as it may have now.
    std::byte* append(Peer& to, const Reply& reply);
    /// Takes back a reply that append() has just made room for.
    static void take_back(Peer& to, const Reply& reply) { to.open_reply->take_back(sizeof reply, reply.size); }
    /// A packet of the peer's has been handled: it must be acknowledged.
    void acknowledge(Peer& to) {
        ++to.packets_handled;
        list(to);
    }
    /// Hands a token to MPI with what is owed to the peer; false when no buffer is free.
    bool send_now(Peer& to, const BarrierToken& token);
    /// Sends what is owed, as far as there are buffers.
    void send();
    /// MPI has sent a packet. `index`: that of the purpose.
    void sent(std::uint32_t index);
    [[nodiscard]] bool empty() const noexcept { return peers_.empty(); }

    /// Ends the process where an invariant does not hold; for builds with internal assertions.
    void validate() const;

private:
    enum class Use : std::uint8_t {
        answer,
        duty ///< tokens and acknowledgements, few and small: whatever the peer holds
    };
    /// Ensures an open packet with room for the head and payload of a reply, if possible.
    [[nodiscard]] bool open(Peer& to, std::uint64_t payload_bytes, Use use);
    /// Null: none for that peer now.
    [[nodiscard]] Packet* take(Peer& to, Use use);
    [[nodiscard]] std::byte* append_open(Peer& to, const Reply& reply);
    void list(Peer& to);
    void send_packet(Peer& to);

    PacketStream& packets_;
    std::vector<Peer*> peers_; ///< to whom something is owed
};

} // namespace lapwing::detail::messages
