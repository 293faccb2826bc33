#include "src/messages/packet_stream.hpp"

#include <utility>

namespace lapwing::detail::messages {

PacketStream::PacketStream(Endpoint& endpoint, support::Statistics& statistics, const Sort& sort,
                           std::uint64_t packet_bytes)
    : endpoint_{endpoint},
      statistics_{statistics},
      sort_{sort},
      packet_bytes_{packet_bytes},
      pool_{sort.buffers, packet_bytes},
      memory_{support::allocate_zeroed(sort.receives * support::rounded_to_alignment(packet_bytes))},
      receives_(sort.receives, MPI_REQUEST_NULL) {}

void PacketStream::open() {
    for (std::size_t i = 0; i < receives_.size(); ++i) post(i);
    watch_head();
}

void PacketStream::send(Packet* packet, Rank target) {
    endpoint_.send(packet->memory(), static_cast<int>(packet->used()), target, sort_.tag, {sort_.out, packet->index()});
    statistics_.add(Counter::messages_sent);
}

std::span<const std::byte> PacketStream::incoming(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    statistics_.add(Counter::messages_received);
    return {buffer(head_), static_cast<std::size_t>(bytes)};
}

void PacketStream::read() {
    endpoint_.requests().make_room(); // or no receive would be watched any more
    post(head_);
    head_ = (head_ + 1) % receives_.size();
    watch_head();
}

void PacketStream::post(std::size_t index) {
    receives_[index] =
        endpoint_.post_receive(buffer(index), static_cast<int>(packet_bytes_), MPI_ANY_SOURCE, sort_.tag);
}

void PacketStream::watch_head() {
    endpoint_.requests().add(std::exchange(receives_[head_], MPI_REQUEST_NULL),
                             {sort_.in, static_cast<std::uint32_t>(head_)});
}

void PacketStream::hand_over_receives() {
    for (MPI_Request& request : receives_)
        if (request != MPI_REQUEST_NULL)
            endpoint_.requests().add(std::exchange(request, MPI_REQUEST_NULL), {Purpose::discarded});
}

std::uint64_t PacketStream::memory_bytes() const noexcept {
    return (sort_.buffers + sort_.receives) * support::rounded_to_alignment(packet_bytes_);
}

} // namespace lapwing::detail::messages
