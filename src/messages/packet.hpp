#pragma once

#include "src/messages/request.hpp"
#include "src/support/aligned_memory.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

namespace lapwing::messages {

/// One message buffer of the service path.
class Packet {
public:
    Packet(std::byte* memory, std::uint64_t capacity) : memory_{memory}, capacity_{capacity} { clear(); }

    void clear() { used_ = sizeof(PacketHeader); }
    [[nodiscard]] std::uint64_t used() const { return used_; }
    [[nodiscard]] std::byte* memory() const { return memory_; }
    [[nodiscard]] bool fits(std::uint64_t head_bytes, std::uint64_t payload_bytes) const {
        return head_bytes + padded(payload_bytes) <= capacity_ - used_;
    }

    /// Appends a request or reply with room for `payload_bytes`, and returns where the payload goes. Must fit.
    template <class Head>
    std::byte* append(const Head& head, std::uint64_t payload_bytes) {
        std::memcpy(memory_ + used_, &head, sizeof head);
        std::byte* const payload = memory_ + used_ + sizeof head;
        used_ += sizeof head + padded(payload_bytes);
        return payload;
    }

    void set_header(const PacketHeader& header) { std::memcpy(memory_, &header, sizeof header); }

private:
    std::byte* memory_;
    std::uint64_t capacity_;
    std::uint64_t used_ = 0;
};

/// A fixed number of packets, allocated once.
class PacketPool {
public:
    PacketPool(std::size_t count, std::uint64_t packet_bytes) {
        const std::uint64_t stride = support::rounded_to_alignment(packet_bytes);
        memory_ = support::allocate_zeroed(count * stride); // what pads payloads is sent, too
        packets_.reserve(count);
        free_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) packets_.emplace_back(memory_.get() + i * stride, packet_bytes);
        for (Packet& packet : packets_) free_.push_back(&packet);
    }

    /// An empty packet, or null when all are in use.
    [[nodiscard]] Packet* take() {
        if (free_.empty()) return nullptr;
        Packet* const packet = free_.back();
        free_.pop_back();
        packet->clear();
        return packet;
    }
    void give_back(Packet* packet) { free_.push_back(packet); }
    [[nodiscard]] std::vector<Packet>& all() { return packets_; }

private:
    support::AlignedMemory memory_;
    std::vector<Packet> packets_;
    std::vector<Packet*> free_;
};

} // namespace lapwing::messages
