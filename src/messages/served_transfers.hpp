#pragma once

#include "src/messages/engine_limits.hpp"
#include "src/messages/exposed_windows.hpp"
#include "src/messages/reply_queue.hpp"
#include "src/support/aligned_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::messages {

/// Bulk transfers of other ranks at this one: data that goes straight from or to memory, or through a staging buffer where it is
/// packed or unpacked here. The serve_ functions return false, having done nothing, when there is no room for the transfer now.
class ServedTransfers {
public:
    ServedTransfers(Endpoint& endpoint, ExposedWindows& windows, const EngineLimits& limits)
        : endpoint_{endpoint}, windows_{windows}, limits_{limits}, puts_(limits.bulk_transfers) {}

    bool serve_get(const Peer& origin, const Request& request, const std::byte* address);
    /// Without an address the data is received into scrap memory.
    bool serve_put(Peer& origin, const Request& request, std::byte* address);
    bool serve_scatter(Peer& origin, const Request& request);
    bool serve_gather(const Peer& origin, const Request& request, std::span<const std::byte> table);

    /// A piece has moved.
    void complete(const Purpose& purpose);
    /// Ends the puts to a window whose memory is about to go.
    void abandon(std::uint64_t window, LateRequests late, EngineListener& listener) noexcept;
    /// Answers the puts that have arrived, as far as there is room for replies.
    void answer_finished(ReplyQueue& replies);
    [[nodiscard]] bool has_finished() const noexcept { return !finished_.empty(); }

private:
    static constexpr std::uint32_t no_staging = 0xffffffff;
    /// A bulk put that is arriving.
    struct Put {
        Peer* peer = nullptr;
        std::uint64_t token = 0;
        std::uint64_t window = 0;
        std::uint32_t pieces = 0;
        std::uint32_t counter_plus_one = 0;
        std::uint32_t staging = no_staging; ///< the buffer that it arrives in, to be unpacked
        std::uint64_t table_bytes = 0;
        std::uint64_t bytes = 0;
        std::uint32_t tag = 0;
        support::AlignedMemory scrap{}; ///< where it arrives if it comes too late for its window's memory
        bool in_use = false;
    };

    /// Null: all are in use.
    [[nodiscard]] Put* free_put();
    [[nodiscard]] std::uint32_t index_of(const Put& put) const noexcept { return static_cast<std::uint32_t>(&put - puts_.data()); }
    void finish(Put& put);
    /// Of a put whose window's memory is gone the last `pieces` that are to come: its origin could not send them else, nor close the
    /// team.
    void receive_into_scrap(Put& put, std::uint64_t pieces);
    /// The last of free_staging_, or null when all buffers are in use; the caller takes it off when all else is in place.
    [[nodiscard]] std::byte* next_staging();

    Endpoint& endpoint_;
    ExposedWindows& windows_;
    const EngineLimits& limits_;
    std::vector<Put> puts_;
    std::vector<std::uint32_t> finished_; ///< puts whose `done` could not be sent yet
    std::size_t sending_ = 0;             ///< messages of gets
    std::vector<support::AlignedMemory> staging_;
    std::vector<std::uint32_t> free_staging_;
};

} // namespace lapwing::messages
