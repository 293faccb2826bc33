#pragma once

#include "src/messages/request.hpp"
#include "src/support/aligned_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <new>
#include <utility>
#include <vector>

namespace lapwing::detail::messages {

struct Peer;

/// One message buffer of the service path.
class Packet {
public:
    Packet(std::byte* memory, std::uint64_t capacity, std::uint32_t index = 0)
        : memory_{memory}, capacity_{capacity}, index_{index} {
        clear();
    }

    void clear() { used_ = sizeof(PacketHeader); }
    [[nodiscard]] std::uint64_t used() const { return used_; }
    [[nodiscard]] std::byte* memory() const { return memory_; }
    /// In its pool.
    [[nodiscard]] std::uint32_t index() const { return index_; }
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

    /// Takes back what was appended last.
    void take_back(std::uint64_t head_bytes, std::uint64_t payload_bytes) {
        used_ -= head_bytes + padded(payload_bytes);
    }

    void set_header(const PacketHeader& header) { std::memcpy(memory_, &header, sizeof header); }

    Peer* holder = nullptr; ///< of a packet of replies: for whom it was taken

private:
    std::byte* memory_;
    std::uint64_t capacity_;
    std::uint64_t used_ = 0;
    std::uint32_t index_;
};

/// A number of packets that are allocated once, and additional ones while they are needed.
class PacketPool {
public:
    PacketPool(std::size_t count, std::uint64_t packet_bytes) : packet_bytes_{packet_bytes}, count_{count} {
        const std::uint64_t stride = support::rounded_to_alignment(packet_bytes);
        memory_ = support::allocate_zeroed(count * stride); // what pads payloads is sent, too
        free_.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            packets_.emplace_back(memory_.get() + i * stride, packet_bytes, static_cast<std::uint32_t>(i));
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
    /// An additional packet, which is freed when it comes back; null when there is no memory.
    [[nodiscard]] Packet* take_extra() noexcept {
        try {
            if (spare_.empty()) {
                extra_.emplace_back();
                packets_.emplace_back(nullptr, packet_bytes_, static_cast<std::uint32_t>(packets_.size()));
                spare_.reserve(extra_.size());
                spare_.push_back(packets_.back().index());
            }
            const std::uint32_t index = spare_.back();
            support::AlignedMemory& memory = extra_[index - count_];
            memory = support::allocate_zeroed(packet_bytes_);
            spare_.pop_back();
            packets_[index] = Packet{memory.get(), packet_bytes_, index};
            return &packets_[index];
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }
    void give_back(Packet* packet) {
        if (packet->index() < count_) return free_.push_back(packet);
        extra_[packet->index() - count_].reset();
        spare_.push_back(packet->index());
    }
    [[nodiscard]] std::size_t free() const noexcept { return free_.size(); }
    [[nodiscard]] Packet& operator[](std::uint32_t index) { return packets_[index]; }

private:
    std::uint64_t packet_bytes_;
    std::size_t count_; ///< of those that stay
    support::AlignedMemory memory_;
    std::deque<Packet> packets_;
    std::vector<Packet*> free_;
    std::deque<support::AlignedMemory> extra_; ///< memory of the packets after the first count_; null: not in use
    std::vector<std::uint32_t> spare_;         ///< of the extra ones those not in use
};

} // namespace lapwing::detail::messages
