#pragma once

#include "src/messages/packet.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lapwing::detail::messages {

/// A packet of a rank's requests that could not be read to its end: see TargetSide::read_on().
struct ParkedPacket {
    std::vector<std::byte> requests; ///< from the one on that had to wait
    std::size_t read = 0;            ///< bytes of them
};

/// What a rank holds of this rank's resources, apart from packets of replies: see is_fair().
struct Lent {
    static constexpr std::uint32_t no_call = 0xffffffff;

    std::uint32_t call = no_call; ///< number of the bulk put that brings a remote call, for which its requests wait
    std::uint32_t gets = 0;       ///< bulk transfers
    std::uint32_t puts = 0;
    std::uint32_t staging_buffers = 0;
    std::vector<ParkedPacket> parked; ///< in the order in which they came
};

/// What is kept about a rank that this one has exchanged packets with. Small, since a rank that all others address
/// keeps one for each.
struct Peer {
    Rank rank = 0;
    // Of this rank as the origin of requests.
    bool urgent : 1 = false;      ///< send open_request as soon as the flow control allows
    bool listed_open : 1 = false; ///< in OriginSide::open_peers_
    bool listed_busy : 1 = false; ///< in OriginSide::busy_peers_
    // Of this rank as their target.
    bool listed_reply : 1 = false;   ///< in ReplyQueue::peers_
    std::uint16_t reply_packets = 0; ///< that it holds
    Packet* open_request = nullptr;  ///< being filled
    Packet* open_reply = nullptr;
    std::unique_ptr<Lent> lent; ///< null: nothing so far

    std::uint64_t packets_sent = 0;
    std::uint64_t packets_acknowledged = 0;
    std::uint64_t packets_handled = 0;         ///< of the peer's, by this rank
    std::uint64_t acknowledgement_sent = 0;    ///< the packets_handled that have been acknowledged to the peer
    std::uint64_t bulk_started = 0;            ///< own bulk transfers, which have numbers from 1
    std::vector<std::uint64_t> bulk_under_way; ///< their numbers, ascending

    Lent& lend() {
        if (lent == nullptr) lent = std::make_unique<Lent>();
        return *lent;
    }
    [[nodiscard]] bool parked() const noexcept { return lent != nullptr && !lent->parked.empty(); }
    [[nodiscard]] bool busy() const noexcept {
        return open_request != nullptr || packets_acknowledged != packets_sent || !bulk_under_way.empty();
    }
};

} // namespace lapwing::detail::messages
