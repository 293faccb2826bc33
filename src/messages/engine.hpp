#pragma once

#include "src/messages/endpoint.hpp"
#include "src/messages/engine_limits.hpp"
#include "src/messages/engine_listener.hpp"
#include "src/messages/exposed_windows.hpp"
#include "src/messages/locked_calls.hpp"
#include "src/messages/operation.hpp"
#include "src/messages/origin_side.hpp"
#include "src/messages/packet_stream.hpp"
#include "src/messages/remote_calls.hpp"
#include "src/messages/reply_queue.hpp"
#include "src/messages/request.hpp"
#include "src/messages/target_side.hpp"
#include "src/support/polled_mutex.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::messages {

/// One rank's end of the service path: carries requests to other ranks' memory in packets, and answers theirs. Two
/// threads use it, as in MuPC (Zhang 2007, section 4.3): the computation thread queues requests and, while it waits,
/// drives progress itself; the communication thread drives it otherwise. One mutex guards it all; whoever holds it is
/// the one that calls MPI.
///
/// Own memory is bounded by EngineLimits, whatever the number of ranks: about 1.5 MiB with the defaults, up to 8 MiB
/// more once others have asked for packing or unpacking, and about 120 bytes for each rank that packets have been
/// exchanged with. MPI's is not: what has been sent to a rank and not been received waits inside MPI there, up to
/// packets_in_flight packets from each rank that has requests under way to it (MPI_Issend would not help: both MPIs
/// send small messages' data along with it). Requests wait at the sender for acknowledgements. Requests and replies use
/// separate receives and separate buffers, and replies never cause messages: so replies are always consumed, and reply
/// buffers come free, as soon as their receivers make progress.
///
/// Fairness: a rank that requests more than it receives answers for keeps no other rank waiting. Each rank gets a share
/// of the buffers (is_fair()), and always its first. Requests that have to wait for a buffer are parked, at most
/// packets_in_flight packets of each rank, and the packets of others are read meanwhile. For each rank that does not
/// receive its answers at the moment, those packets and one packet of replies are added to the memory above.
///
/// Order: requests of a pair of ranks are handled in the order they were queued, except that the data of bulk
/// transfers moves on its own; the origin keeps overlapping operations from passing each other (see
/// OutstandingAccesses).
class Engine {
public:
    using FlushTicket = messages::FlushTicket;
    using LateRequests = messages::LateRequests;

    /// Collective over `communicator`, which the engine uses alone (it posts receives from any source).
    Engine(MPI_Comm communicator, const EngineLimits& limits, support::Statistics& statistics,
           EngineListener& listener);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    void expose(std::uint64_t window, const ExposedMemory& memory);
    void withdraw(std::uint64_t window);
    /// Withdraws memory that is about to go while other ranks may still ask for it: ends what moves to and from it, as
    /// far as it can be brought to an end.
    void abandon(std::uint64_t window, LateRequests late) noexcept;

    /// Largest payload that travels inside a packet, which it may fill, a multiple of 8; larger ones are bulk
    /// transfers.
    [[nodiscard]] std::uint64_t inline_limit() const noexcept { return origin_side_.inline_limit(); }
    /// Bytes of a packet for requests and their payloads.
    [[nodiscard]] std::uint64_t packet_room() const noexcept { return limits_.packet_bytes - sizeof(PacketHeader); }
    [[nodiscard]] std::uint64_t largest_staged() const noexcept { return limits_.staging_bytes; }
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
        return request_packets_.memory_bytes() + reply_packets_.memory_bytes();
    }

    // The try_ calls return false, having done nothing, when there is no room at the moment: make progress, call again.

    /// Starts a get; `operation` completes when the bytes are in its destination, which the caller has set.
    bool try_get(Operation& operation, Rank target, std::uint64_t window, Offset offset, std::uint64_t bytes,
                 bool urgent);
    /// Starts a put; `operation` completes when the source may be reused: at once for payloads within inline_limit().
    bool try_put(Operation& operation, Rank target, std::uint64_t window, Offset offset, const std::byte* source,
                 std::uint64_t bytes, std::uint32_t counter_plus_one = 0);
    /// Starts a put to places that a RunTable names: `message` is the table, `table_bytes` of it, and the data. At most
    /// largest_staged() bytes. `operation` as of a put.
    bool try_scatter(Operation& operation, Rank target, std::uint64_t window, std::span<const std::byte> message,
                     std::uint64_t table_bytes);
    /// Starts a get of `bytes` bytes from places that a RunTable names, at most largest_staged(); the table at most
    /// inline_limit(). `operation` as of a get.
    bool try_gather(Operation& operation, Rank target, std::uint64_t window, std::span<const std::byte> table,
                    std::uint64_t bytes);
    /// Starts an atomic, with an AtomicPayload, or a list of them, of at most inline_limit() bytes; the destination of
    /// `operation` gets 8 bytes for each.
    bool try_atomics(Operation& operation, Rank target, const Request& request, std::span<const std::byte> payload);
    /// Sends a request that has no answer, atomic adds or runs of bytes, which is complete when flushed(). The payload,
    /// of at most inline_limit() bytes, is copied.
    bool try_post(Rank target, const Request& request, std::span<const std::byte> payload);
    /// Asks the target's progress thread to stay awake.
    bool try_wake(Rank target);

    /// Lets other ranks run `handler` here by remote calls. A call that comes before is an error: so register on all
    /// ranks before a barrier after which they call. Throws UsageError where the number is taken. See
    /// RemoteCallHandler for what a handler may do.
    void register_handler(HandlerNumber number, AnyHandler handler);
    /// On return no handler of that number runs any more.
    void withdraw_handler(HandlerNumber number);
    /// Runs a handler of the target's on `bytes`, which are copied; has run when flushed(). Throws RangeError above
    /// inline_limit(). A call after another leaves in a later round of progress: flush, or nudge the progress thread,
    /// when it is to run soon.
    bool try_call(Rank target, HandlerNumber number, std::span<const std::byte> bytes);
    /// Runs an answering handler of the target's on `bytes`, which are copied; `operation` completes when the
    /// `answer_bytes` bytes of its answer, at most largest_staged(), are in the operation's destination. Throws
    /// RangeError above inline_limit() bytes. The target answers when it makes progress, by a thread or by calls.
    bool try_ask(Operation& operation, Rank target, HandlerNumber number, std::span<const std::byte> bytes,
                 std::uint64_t answer_bytes);
    /// From the listener or a handler: remote calls, and what their handlers need.
    [[nodiscard]] LockedCalls locked() noexcept { return {endpoint_, origin_side_, target_side_}; }

    /// From the listener or a handler: queues a request with its payload, which is copied, and sends it at once if it
    /// can.
    bool try_send_locked(Rank target, const Request& request, std::span<const std::byte> payload = {}) {
        return origin_side_.try_send(target, request, payload, true);
    }
    /// From the listener or a handler: hands a token to MPI, whatever else is under way to the target.
    bool try_send_locked(Rank target, const BarrierToken& token) {
        return replies_.send_now(endpoint_.peer(target), token);
    }

    /// A rank that has dropped requests of this rank that nobody waits for individually (small puts, adds,
    /// notifications), since the window's memory is gone there; -1 if none has. Each is returned once.
    [[nodiscard]] Rank take_dropped(std::uint64_t window);
    /// Whether take_dropped() may find something.
    [[nodiscard]] bool any_dropped() const noexcept { return origin_side_.any_dropped(); }

    /// Forgets an operation whose owner no longer waits for it, because its target has left or progress has failed, so
    /// that no later operation is mistaken for it. Nothing is written to the owner's memory afterwards. MPI may go on
    /// reading it, but only for a bounded time, as far as the operation can be ended.
    void abandon(Operation& operation) noexcept;

    /// For everything queued to `target` so far, which is sent.
    FlushTicket start_flush(Rank target);
    [[nodiscard]] bool flushed(Rank target, const FlushTicket& ticket);
    /// The targets with operations that may not be complete.
    /// Cost: by their number, whatever that of the ranks.
    [[nodiscard]] TargetList busy_targets();

    /// One round of progress, unless another thread is making one. Returns whether anything moved.
    bool progress();
    /// Whether own operations are under way, so that someone should keep polling.
    /// Acquire: a flush that finds none returns at once, and what they brought may then be read.
    [[nodiscard]] bool busy() const noexcept { return origin_side_.busy(); }
    /// Whether MPI is working on this rank's messages, or messages are queued behind others: they move only when
    /// progress is made. Messages that only wait for an acknowledgement do not count.
    [[nodiscard]] bool pushing() const noexcept { return origin_side_.pushing(); }
    /// Times a wake request has come in.
    [[nodiscard]] std::uint64_t wakes() const noexcept { return target_side_.wakes(); }

    /// For calls "from the listener" that are made elsewhere, and for the listener's own state.
    [[nodiscard]] support::PolledMutex& mutex() noexcept { return mutex_; }
    /// Makes progress; true when everything queued here has been acknowledged and every answer owed has left.
    [[nodiscard]] bool idle();
    /// Takes back the posted receives. Nothing may be sent to this rank any more (or it will stay unread).
    void stop() noexcept;

private:
    bool progress_locked();
    /// An MPI request is complete.
    void complete(const Purpose& purpose, const MPI_Status& status);
    /// Drives progress for a bounded time while `pending()` holds, which is asked with the mutex held.
    template <class Pending>
    void outlast(Pending&& pending) noexcept;

    const EngineLimits limits_;
    EngineListener& listener_;
    support::PolledMutex mutex_{support::LockRank::engine};
    Endpoint endpoint_;
    PacketStream request_packets_;
    PacketStream reply_packets_;
    ReplyQueue replies_;
    OriginSide origin_side_;
    TargetSide target_side_;
    bool stopped_ = false;
};

// Here, so that a small put or get costs one call: of what queues it.

inline bool Engine::try_get(Operation& operation, Rank target, std::uint64_t window, Offset offset, std::uint64_t bytes,
                            bool urgent) {
    const RequestKind kind = bytes > inline_limit() ? RequestKind::bulk_get : RequestKind::get;
    const std::lock_guard guard{mutex_};
    return origin_side_.try_fetch(operation, target,
                                  {.kind = kind, .window = window, .offset = offset.bytes, .size = bytes}, {}, urgent);
}

inline bool Engine::try_put(Operation& operation, Rank target, std::uint64_t window, Offset offset,
                            const std::byte* source, std::uint64_t bytes, std::uint32_t counter_plus_one) {
    const std::lock_guard guard{mutex_};
    return origin_side_.try_send_data(operation, target,
                                      {.kind = RequestKind::put,
                                       .counter_plus_one = counter_plus_one,
                                       .window = window,
                                       .offset = offset.bytes,
                                       .size = bytes},
                                      RequestKind::bulk_put, source);
}

inline bool Engine::flushed(Rank target, const FlushTicket& ticket) {
    const std::lock_guard guard{mutex_};
    return origin_side_.flushed(target, ticket);
}

} // namespace lapwing::detail::messages
