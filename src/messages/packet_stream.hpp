#pragma once

#include "src/messages/endpoint.hpp"
#include "src/messages/mpi_requests.hpp"
#include "src/messages/packet.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::messages {

/// The packets of one sort, requests or replies: buffers for outgoing packets, and receives for incoming ones. The
/// receives are posted in a ring: MPI matches them in order, so the head is always the next to complete, and only the
/// head is tested.
class PacketStream {
public:
    struct Sort {
        int tag = 0;
        Purpose::Kind in{};
        Purpose::Kind out{};
        std::uint64_t buffers = 0;
        std::uint64_t receives = 0;
    };
    PacketStream(Endpoint& endpoint, support::Statistics& statistics, const Sort& sort, std::uint64_t packet_bytes);
    /// Posts the receives, which MPI writes to from then on.
    void open();

    /// An empty packet, or null when all are in use.
    [[nodiscard]] Packet* take() { return pool_.take(); }
    /// One beyond the number of buffers, allocated for this use; null when there is no memory.
    [[nodiscard]] Packet* take_extra() { return pool_.take_extra(); }
    [[nodiscard]] std::size_t free() const noexcept { return pool_.free(); }
    /// The packet comes back when MPI has sent it: see sent().
    void send(Packet* packet, Rank target);
    /// `index`: that of the purpose.
    [[nodiscard]] const Packet& packet(std::uint32_t index) { return pool_[index]; }
    void sent(std::uint32_t index) { pool_.give_back(&pool_[index]); }

    /// The packet that has come in. It stays until read().
    [[nodiscard]] std::span<const std::byte> incoming(const MPI_Status& status);
    void read();

    /// Hands the receives over to the endpoint's requests, to be cancelled with them.
    void hand_over_receives();
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

private:
    [[nodiscard]] std::byte* buffer(std::size_t index) const noexcept {
        return memory_.get() + index * support::rounded_to_alignment(packet_bytes_);
    }
    void post(std::size_t index);
    void watch_head();

    Endpoint& endpoint_;
    support::Statistics& statistics_;
    Sort sort_;
    std::uint64_t packet_bytes_;
    PacketPool pool_;
    support::AlignedMemory memory_; ///< of the receives
    std::vector<MPI_Request> receives_;
    std::size_t head_ = 0;
};

} // namespace lapwing::detail::messages
