#pragma once

#include <cstdint>

namespace lapwing::messages {

struct EngineLimits {
    std::uint64_t packet_bytes = 8000;
    std::uint64_t packets_in_flight = 4;       ///< unacknowledged request packets to one target
    std::uint64_t request_packets = 64;        ///< buffers for outgoing requests
    std::uint64_t reply_packets = 64;          ///< buffers for outgoing replies
    std::uint64_t request_receives = 32;       ///< receives that are posted for requests
    std::uint64_t reply_receives = 32;         ///< receives that are posted for replies
    std::uint64_t operations = 256;            ///< own operations that wait for an answer
    std::uint64_t bulk_transfers = 64;         ///< own, and as many served, straight from or to memory at a time
    std::uint64_t staging_buffers = 8;         ///< for what is packed or unpacked for others; allocated when first used
    std::uint64_t staging_bytes = 1 << 20;     ///< of each
};

} // namespace lapwing::messages
