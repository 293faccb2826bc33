#pragma once

#include "src/messages/engine_limits.hpp"
#include "src/messages/exposed_windows.hpp"
#include "src/messages/remote_calls.hpp"
#include "src/messages/reply_queue.hpp"
#include "src/messages/staging_buffers.hpp"
#include "src/support/aligned_memory.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace lapwing::detail::messages {

/// Bulk transfers of other ranks at this one: data that goes straight from or to memory, or through a staging buffer
/// where it is packed or unpacked here. The serve_ functions return false, having done nothing, when there is no room
/// for the transfer now. Each rank may use what is_fair() grants it: no rank keeps this one from serving another.
class ServedTransfers {
public:
    ServedTransfers(Endpoint& endpoint, ExposedWindows& windows, const EngineLimits& limits);

    bool serve_get(Peer& origin, const Request& request, const std::byte* address);
    bool serve_put(Peer& origin, const Request& request, std::byte* address);
    bool serve_scatter(Peer& origin, const Request& request);
    /// A get of what `pack(bytes)` makes; false: it cannot now, and has done nothing. std::cref(pack) needs no memory.
    bool serve_packed(Peer& origin, const Request& request, const std::function<bool(std::span<std::byte>)>& pack);
    /// A remote call: false as long as it is on its way, then it is run.
    bool serve_call(Peer& origin, const Request& request, RemoteCalls& calls);
    /// A put or scatter whose window's memory is gone. Its data is received all the same, or its origin could neither
    /// complete the send nor close the team.
    bool discard_put(Peer& origin, const Request& request);

    /// A piece has moved.
    void complete(const Purpose& purpose, const MPI_Status& status);
    /// Ends the puts to a window whose memory is about to go.
    void abandon(std::uint64_t window, LateRequests late, EngineListener& listener) noexcept;
    /// Whether MPI may still read a window's memory.
    [[nodiscard]] bool sends_from(std::uint64_t window) const noexcept;
    /// Answers the puts that have arrived, as far as there is room for replies.
    void answer_finished(ReplyQueue& replies);
    [[nodiscard]] bool has_finished() const noexcept { return !finished_.empty(); }
    /// See TargetSide.
    void validate() const { staging_.validate(); }

private:
    /// Whether there can be such a transfer: its tag is MPI's, and its size possible; else a problem is noted.
    [[nodiscard]] bool makes_sense(const Peer& origin, const Request& request);

    /// A bulk put that is arriving.
    struct Put {
        std::uint32_t number = 0; ///< in puts_
        Peer* peer = nullptr;
        std::uint64_t token = 0;
        std::uint64_t window = 0;
        std::uint32_t pieces = 0;
        std::uint32_t counter_plus_one = 0;
        std::uint32_t staging = StagingBuffers::none; ///< the buffer that it arrives in, to be unpacked
        std::uint32_t tag = 0;
        std::uint64_t table_bytes = 0;
        std::uint64_t bytes = 0;
        std::uint64_t arrived = 0;      ///< of the bytes
        support::AlignedMemory scrap{}; ///< where it arrives if it comes too late for its window's memory
        bool dropped = false;
        bool is_call = false;
        bool in_use = false;
    };
    /// A bulk get whose data leaves.
    struct Get {
        std::uint32_t number = 0; ///< in gets_
        Peer* peer = nullptr;
        std::uint64_t window = 0;
        std::uint32_t pieces = 0;
        std::uint32_t staging = StagingBuffers::none; ///< the buffer that it leaves from
        bool in_use = false;
    };

    /// Null: that rank uses as many as it may.
    [[nodiscard]] Put* take_put(Peer& origin, const Request& request);
    [[nodiscard]] Get* take_get(Peer& origin, const Request& request);
    /// A put that arrives in a staging buffer; null likewise.
    [[nodiscard]] Put* take_staged_put(Peer& origin, const Request& request);
    [[nodiscard]] std::uint32_t take_staging(Peer& origin, std::uint64_t bytes);
    /// Gives back the buffer of a transfer of `origin`, if it has one.
    void return_staging(Peer& origin, std::uint32_t& number) noexcept;
    void release(Put& put) noexcept;
    void release(Get& get) noexcept;
    /// The receives of a put. If one fails, the put is over.
    template <class Step>
    void start_or_release(Put& put, Step&& step);
    void finish(Put& put);
    /// The last `pieces` of a put whose window's memory is gone. False: there is no memory for them, and a problem is
    /// noted.
    bool receive_into_scrap(Put& put, std::uint64_t pieces);

    Endpoint& endpoint_;
    ExposedWindows& windows_;
    const EngineLimits& limits_;
    const std::uint32_t largest_tag_number_;
    std::deque<Put> puts_; ///< references to them stay
    std::deque<Get> gets_;
    std::uint64_t puts_in_use_ = 0;
    std::uint64_t gets_in_use_ = 0;
    std::vector<std::uint32_t> finished_; ///< puts whose answer could not be sent yet
    StagingBuffers staging_;
};

} // namespace lapwing::detail::messages
