#pragma once

#include "src/messages/packet.hpp"

#include <cstdint>
#include <vector>

namespace lapwing::messages {

/// What is kept about a rank that this one has exchanged packets with.
struct Peer {
    int rank = 0;
    // Of this rank as the origin of requests.
    Packet* open_request = nullptr; ///< being filled
    bool urgent = false;            ///< send it as soon as the flow control allows
    bool listed_open = false;       ///< in OriginSide::open_peers_
    bool listed_busy = false;       ///< in OriginSide::busy_peers_
    // Of this rank as their target.
    bool listed_reply = false; ///< in ReplyQueue::peers_
    Packet* open_reply = nullptr;

    std::uint64_t packets_sent = 0;
    std::uint64_t packets_acknowledged = 0;
    std::uint64_t packets_handled = 0;         ///< of the peer's, by this rank
    std::uint64_t acknowledgement_sent = 0;    ///< the packets_handled that the peer has been told
    std::uint64_t bulk_started = 0;            ///< own bulk transfers, which have numbers from 1
    std::vector<std::uint64_t> bulk_under_way; ///< their numbers, ascending

    [[nodiscard]] bool busy() const noexcept {
        return open_request != nullptr || packets_acknowledged != packets_sent || !bulk_under_way.empty();
    }
};

} // namespace lapwing::messages
