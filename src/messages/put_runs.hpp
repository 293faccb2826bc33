#pragma once

#include "src/messages/request.hpp"

#include <lapwing/rank.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// The contents of RequestKind::put_runs: bytes for many places of one rank's part of a window, in ascending order.
/// MuPC writes its cache's lines back as a line and a bit vector of its dirty bytes (Zhang 2007, section 4.4.9); here
/// only the dirty bytes are sent, and where they go. The payload is the bytes, packed, followed by one RunEntry for
/// each run.
namespace lapwing::detail::messages {

/// One run: it begins `gap` bytes after the end of the previous run, or after the offset that the request names. An
/// entry of no bytes is a long gap: `gap` times long_gap.
struct RunEntry {
    static constexpr std::uint64_t most = 0xFFFF; ///< of each field
    static constexpr std::uint64_t long_gap = most + 1;

    std::uint16_t gap = 0;
    std::uint16_t bytes = 0;
};
static_assert(sizeof(RunEntry) == 4);

/// Collects runs for one request. Allocates nothing.
class RunsMessage {
public:
    static constexpr std::size_t most_entries = 1024;

    /// `room`: of the payload, as far as there is room here.
    explicit RunsMessage(std::uint64_t room) noexcept : room_{room < bytes_.size() ? room : bytes_.size()} {}

    /// Runs of up to so many bytes go into an empty message.
    [[nodiscard]] std::uint64_t largest_run() const noexcept {
        const std::uint64_t fits = room_ - 2 * sizeof(RunEntry);
        return fits < RunEntry::most ? fits : RunEntry::most;
    }
    /// Copies a run; false where there is no room for it, or it lies before the one before it.
    [[nodiscard]] bool add(Offset offset, const std::byte* source, std::uint64_t bytes) noexcept {
        if (entries_ == 0) offset_ = end_ = offset.bytes;
        const std::uint64_t gap = offset.bytes - end_;
        const std::uint64_t long_gaps = gap / RunEntry::long_gap;
        const std::size_t more = long_gaps == 0 ? 1 : 2;
        if (offset.bytes < end_ || long_gaps > RunEntry::most || entries_ + more > most_entries ||
            used_ + bytes + (entries_ + more) * sizeof(RunEntry) > room_)
            return false;
        if (long_gaps != 0) entry_[entries_++] = {static_cast<std::uint16_t>(long_gaps), 0};
        entry_[entries_++] = {static_cast<std::uint16_t>(gap % RunEntry::long_gap), static_cast<std::uint16_t>(bytes)};
        std::byte* const place = bytes_.data() + used_;
        if (bytes == 8) std::memcpy(place, source, 8); // most of them: one load and one store
        else std::memcpy(place, source, bytes);
        used_ += bytes;
        end_ = offset.bytes + bytes;
        return true;
    }
    void clear() noexcept { entries_ = used_ = 0; }

    [[nodiscard]] bool empty() const noexcept { return entries_ == 0; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; } ///< of the first run
    [[nodiscard]] std::uint32_t entries() const noexcept { return static_cast<std::uint32_t>(entries_); }
    [[nodiscard]] std::uint64_t data_bytes() const noexcept { return used_; } ///< of all runs
    /// The request for a window, whose payload has so many bytes.
    [[nodiscard]] Request request(std::uint64_t window, std::uint64_t payload_bytes) const noexcept {
        return {.kind = RequestKind::put_runs,
                .tag = static_cast<std::uint32_t>(entries_),
                .window = window,
                .offset = offset_,
                .size = payload_bytes};
    }
    [[nodiscard]] std::span<const std::byte> payload() noexcept {
        std::memcpy(bytes_.data() + used_, entry_.data(), entries_ * sizeof(RunEntry));
        return {bytes_.data(), used_ + entries_ * sizeof(RunEntry)};
    }

private:
    std::array<std::byte, 8192> bytes_;
    std::array<RunEntry, most_entries> entry_;
    std::uint64_t room_;
    std::uint64_t offset_ = 0;
    std::uint64_t end_ = 0; ///< of the last run
    std::uint64_t used_ = 0;
    std::size_t entries_ = 0;
};

/// Writes the runs of a payload with so many entries to `memory`, which begins at `offset`. False, with nothing
/// written, where the payload is not valid: its bytes are not those of the entries, it has no run, or runs outside of
/// the memory.
[[nodiscard]] bool write_runs(std::span<const std::byte> payload, std::uint64_t entries, std::span<std::byte> memory,
                              std::uint64_t offset) noexcept;

} // namespace lapwing::detail::messages
