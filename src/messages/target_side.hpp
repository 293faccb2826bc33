#pragma once

#include "src/messages/exposed_windows.hpp"
#include "src/messages/owner_atomics.hpp"
#include "src/messages/packet_stream.hpp"
#include "src/messages/remote_calls.hpp"
#include "src/messages/reply_queue.hpp"
#include "src/messages/served_transfers.hpp"

#include <lapwing/statistics.hpp>

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::messages {

/// The engine's end at the target: reads requests, handles and answers them. Used with the engine's mutex held.
class TargetSide {
public:
    TargetSide(Endpoint& endpoint, PacketStream& request_packets, ReplyQueue& replies, const EngineLimits& limits,
               support::Statistics& statistics, EngineListener& listener);

    [[nodiscard]] ExposedWindows& windows() noexcept { return windows_; }
    [[nodiscard]] RemoteCalls& remote_calls() noexcept { return remote_calls_; }

    /// A packet of requests has come in.
    void receive(const MPI_Status& status);
    /// Reads on in the packets that wait for room, one rank after the other.
    void read_on();
    /// A piece of a bulk transfer has moved.
    void complete(const Purpose& purpose, const MPI_Status& status) { transfers_.complete(purpose, status); }
    void send_replies();
    /// See Engine::abandon().
    void abandon(std::uint64_t window, LateRequests late);
    /// Whether MPI may still read a window's memory for a rank that asked for it.
    [[nodiscard]] bool sends_from(std::uint64_t window) const noexcept { return transfers_.sends_from(window); }

    /// Whether every request that has come in has been handled and answered.
    [[nodiscard]] bool idle() const noexcept {
        return parked_.empty() && replies_.empty() && !transfers_.has_finished();
    }
    /// Times a wake request has come in. From any thread.
    [[nodiscard]] std::uint64_t wakes() const noexcept { return wakes_.load(std::memory_order_relaxed); }

    /// Ends the process where an invariant does not hold; for builds with internal assertions.
    void validate() const;

private:
    // The handlers that RequestTable names. A handler that returns a bool returns false if there is no room for the
    // answer now; it has then done nothing, and the request is handled again in a later round. Room for replies comes
    // free by itself; a handler must not wait for anything else.
    friend struct RequestTable;
    bool handle_get(Peer& origin, const Request& request);
    void handle_put(Peer& origin, const Request& request, std::span<const std::byte> data);
    bool handle_bulk_get(Peer& origin, const Request& request);
    bool handle_bulk_put(Peer& origin, const Request& request);
    void handle_scatter(Peer& origin, const Request& request, std::span<const std::byte> message);
    bool handle_gather(Peer& origin, const Request& request, std::span<const std::byte> table);
    bool handle_bulk_scatter(Peer& origin, const Request& request);
    bool handle_bulk_gather(Peer& origin, const Request& request, std::span<const std::byte> table);
    void handle_put_runs(Peer& origin, const Request& request, std::span<const std::byte> payload);
    bool handle_atomic(Peer& origin, const Request& request, const AtomicPayload& values);
    bool handle_wide_atomic(Peer& origin, const Request& request, const WidePayload& values);
    bool handle_atomics(Peer& origin, const Request& request, std::span<const std::byte> list);
    void handle_adds(Peer& origin, const Request& request, std::span<const std::byte> list);
    void handle_peer_left(Peer& origin, const Request& request);
    void handle_waiting(Peer& origin, const Request& request, const WaitingNote& note);
    void handle_wake(Peer& origin, const Request& request);
    void handle_remote_call(Peer& origin, const Request& request, std::span<const std::byte> bytes);
    bool handle_answered_call(Peer& origin, const Request& request, std::span<const std::byte> bytes);
    bool handle_bulk_call(Peer& origin, const Request& request);
    bool handle_bulk_answered_call(Peer& origin, const Request& request, std::span<const std::byte> bytes);

    /// Takes requests of `origin` off a packet, to its end or to one that has to wait for room. True at the end, which
    /// is acknowledged.
    bool read(Peer& origin, std::span<const std::byte>& packet);
    /// Keeps the rest of a packet in which a request has to wait, so that requests of other ranks need not.
    void park(Peer& origin, std::span<const std::byte> packet);
    /// True when the peer has no packets left.
    bool read_parked(Peer& origin);
    /// Answers a request for memory that is gone; false where there is no room for the answer now.
    bool drop(Peer& origin, const Request& request);
    /// Whether it is for memory that the program has freed.
    [[nodiscard]] bool is_late(const Request& request) const;
    /// Notes a problem: a request that is not valid.
    void note_senseless(const Peer& origin, const Request& request);
    /// Where the answer with the data of a get goes; null if there is no room now.
    [[nodiscard]] std::byte* append_data(Peer& origin, const Request& request);
    /// False, and a problem is noted, where a request asks for more than a packet can answer.
    [[nodiscard]] bool answer_fits(const Peer& origin, const Request& request, std::uint64_t bytes);

    Endpoint& endpoint_;
    PacketStream& request_packets_;
    ReplyQueue& replies_;
    support::Statistics& statistics_;
    EngineListener& listener_;
    const std::uint64_t largest_answer_;
    ExposedWindows windows_;
    ServedTransfers transfers_;
    OwnerAtomics atomics_;
    RemoteCalls remote_calls_;

    /// The ranks whose packets wait for room. The flow control keeps them few: of each rank at most as many as may be
    /// unacknowledged.
    std::vector<Peer*> parked_;
    std::atomic<std::uint64_t> wakes_{0};
};

} // namespace lapwing::detail::messages
