#pragma once

#include <cstdint>

namespace lapwing::detail::messages {

/// The most that packets_in_flight may be on any rank.
inline constexpr std::uint64_t most_packets_in_flight = 1024;

struct EngineLimits {
    std::uint64_t packet_bytes = 8000;
    std::uint64_t packets_in_flight = 4;   ///< unacknowledged request packets to one target
    std::uint64_t request_packets = 64;    ///< buffers for outgoing requests
    std::uint64_t reply_packets = 64;      ///< buffers for outgoing replies; more where others hold all
    std::uint64_t request_receives = 32;   ///< receives that are posted for requests
    std::uint64_t reply_receives = 32;     ///< receives that are posted for replies
    std::uint64_t operations = 256;        ///< own operations that wait for an answer
    std::uint64_t bulk_transfers = 64;     ///< own, and as many served, straight from or to memory at a time
    std::uint64_t staging_buffers = 8;     ///< for what is packed or unpacked for others; allocated when first used
    std::uint64_t staging_bytes = 1 << 20; ///< of each
    /// As many bytes more as so many buffers have, where ranks that do not receive what they asked for hold those.
    std::uint64_t extra_staging_buffers = 64;
};

} // namespace lapwing::detail::messages
