#pragma once

#include "src/messages/endpoint.hpp"
#include "src/messages/engine_limits.hpp"
#include "src/messages/operation.hpp"
#include "src/messages/operation_slots.hpp"
#include "src/messages/packet_stream.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/rank.hpp>

#include <boost/container/small_vector.hpp>
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace lapwing::detail::messages {

/// What must be acknowledged for everything queued to a target so far to be complete there.
struct FlushTicket {
    std::uint64_t packets = 0; ///< to be acknowledged
    std::uint64_t bulk = 0;    ///< bulk transfers up to this number; later ones are another flush's
    bool any = false;
};

/// A flush of all targets takes no memory while there are few of them: each barrier has one.
inline constexpr std::size_t few_targets = 16;
using TargetList = boost::container::small_vector<Rank, few_targets>;
using FlushTickets = boost::container::small_vector<FlushTicket, few_targets>;

/// The engine's end at the origin: queues requests, reads replies, and knows which operations they belong to. Used with
/// the engine's mutex held, unless a function says otherwise.
class OriginSide {
public:
    OriginSide(Endpoint& endpoint, PacketStream& request_packets, PacketStream& reply_packets,
               const EngineLimits& limits, EngineListener& listener);

    [[nodiscard]] std::uint64_t inline_limit() const noexcept { return inline_limit_; }
    [[nodiscard]] std::uint64_t largest_staged() const noexcept { return limits_.staging_bytes; }

    // The try_ calls return false, having done nothing, when there is no room at the moment.

    /// A request that is answered with data; its row in RequestTable says how. `request.size` bytes of it are bulk data
    /// then.
    bool try_fetch(Operation& operation, Rank target, Request request, std::span<const std::byte> payload, bool urgent);
    /// A request whose payload is `request.size` bytes at `source`; as `bulk_kind`, beside the packets, if they fit
    /// into none.
    bool try_send_data(Operation& operation, Rank target, Request request, RequestKind bulk_kind,
                       const std::byte* source);
    /// A request without an answer.
    bool try_send(Rank target, const Request& request, std::span<const std::byte> payload, bool urgent);
    /// Likewise; the first of a stream leaves at once, and those after it gather until it has been acknowledged.
    bool try_stream(Rank target, const Request& request, std::span<const std::byte> payload);

    [[nodiscard]] FlushTicket start_flush(Rank target);
    [[nodiscard]] bool flushed(Rank target, const FlushTicket& ticket) const;
    [[nodiscard]] TargetList busy_targets();

    /// A packet of replies has come in.
    void receive(const MPI_Status& status);
    /// A piece of an own bulk transfer has moved, or of one that was given up.
    void complete(const Purpose& purpose, const MPI_Status& status);
    /// Sends the packets that nobody waits for, when it is time.
    void send_gathered();
    void update_active() noexcept;

    /// Ends what MPI does for an operation: receives are cancelled, and data that comes for them goes to a scrap; sends
    /// under way continue with the purpose that is returned.
    std::optional<Purpose> abandon(const Operation& operation) noexcept;
    /// Nothing is written to operations' memory any more.
    void take_back_all_receives() noexcept;

    /// A rank that has dropped requests about a window which nobody waits for individually, and -1 if none has; each is
    /// returned once.
    [[nodiscard]] Rank take_dropped(std::uint64_t window);
    /// The window is about to be freed: nobody asks any more.
    void forget_dropped(std::uint64_t window) { (void)take_dropped(window); }
    /// Whether take_dropped() may find something. From any thread.
    [[nodiscard]] bool any_dropped() const noexcept { return any_dropped_.load(std::memory_order_acquire); }

    /// See Engine. From any thread.
    [[nodiscard]] bool busy() const noexcept { return active_.load(std::memory_order_acquire) != 0; }
    [[nodiscard]] bool pushing() const noexcept { return pushing_.load(std::memory_order_relaxed); }

    /// Ends the process where an invariant does not hold; for builds with internal assertions.
    void validate() const;

private:
    using Slot = OperationSlots::Slot;

    /// Room for the payload of a request, in the peer's open packet; false if there is none. Must be as long as the
    /// request says.
    bool append(Peer& to, const Request& request, std::span<const std::byte> payload);
    bool send_packet(Peer& to);
    void send_or_list(Peer& to, bool urgent);
    bool send_appended(Peer& to, const Request& request, std::span<const std::byte> payload, bool urgent);
    /// The rest of the start of an operation whose slot is taken. If it throws, the operation is over.
    template <class Step>
    void start_or_forget(std::uint32_t index, Step&& step);
    Purpose take_back(std::uint32_t index) noexcept;
    /// Receives the last `pieces` of bulk data that nobody needs any more.
    void receive_into_scrap(const Slot& slot, std::uint64_t pieces) noexcept;
    void receive_scrap_piece(std::uint32_t number);
    /// Takes the head of the next reply off the packet; false at its end, or where there is no reply.
    bool read_reply(std::span<const std::byte>& packet, Reply& reply, Rank origin);
    void handle_reply(Peer& from, const Reply& reply, const std::byte* payload);
    void handle_dropped(Peer& from, const Reply& reply, const std::byte* payload);
    /// Whether a reply is what the operation that it names waits for.
    [[nodiscard]] static bool is_answer(const Slot& slot, const Peer& from, const Reply& reply);
    void note_senseless(const Peer& from, const Reply& reply);

    Endpoint& endpoint_;
    PacketStream& request_packets_;
    PacketStream& reply_packets_;
    const EngineLimits& limits_;
    EngineListener& listener_;
    const std::uint64_t inline_limit_;

    OperationSlots slots_;
    std::vector<Peer*> open_peers_;            ///< with an open packet, or one before long
    std::vector<Peer*> busy_peers_;            ///< all that are busy(), and some that were
    std::uint64_t packets_unacknowledged_ = 0; ///< over all peers
    std::size_t lingering_ = 0; ///< MPI requests of operations that were abandoned, which may never complete
    /// Where data goes whose receive was cancelled: its sender counts it as under way until it has been received.
    struct Scrap {
        support::AlignedMemory memory; ///< for one piece at a time
        std::uint64_t token = 0;       ///< of the operation
        Peer* peer = nullptr;
        std::uint32_t tag = 0;
        std::uint64_t bytes = 0; ///< still to come
    };
    std::unordered_map<std::uint32_t, Scrap> scraps_;
    std::uint32_t next_scrap_ = 0;
    std::unordered_map<std::uint64_t, Rank> dropped_; ///< by window: see take_dropped()
    std::atomic<bool> any_dropped_{false};
    std::atomic<std::uint64_t> active_{0};
    std::atomic<bool> pushing_{false};
};

} // namespace lapwing::detail::messages
