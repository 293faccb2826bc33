#include "src/messages/put_runs.hpp"

namespace lapwing::detail::messages {

bool write_runs(std::span<const std::byte> payload, std::uint64_t entries, std::span<std::byte> memory,
                std::uint64_t offset) noexcept {
    if (entries == 0 || entries > payload.size() / sizeof(RunEntry) || offset > memory.size()) return false;
    const std::byte* data = payload.data();
    const std::uint64_t data_bytes = payload.size() - entries * sizeof(RunEntry);
    const std::byte* const table = data + data_bytes;
    const auto entry = [table](std::uint64_t i) {
        RunEntry read;
        std::memcpy(&read, table + i * sizeof read, sizeof read);
        return read;
    };
    // Runs ascend, so the end of the last is that of all. A payload is far too short for an overflow of these sums.
    std::uint64_t bytes = 0;
    std::uint64_t gaps = 0;
    for (std::uint64_t i = 0; i < entries; ++i) {
        const RunEntry one = entry(i);
        bytes += one.bytes;
        gaps += one.bytes == 0 ? one.gap * RunEntry::long_gap : one.gap;
    }
    if (bytes != data_bytes || bytes == 0 || bytes + gaps > memory.size() - offset) return false;

    std::byte* place = memory.data() + offset;
    for (std::uint64_t i = 0; i < entries; ++i) {
        const RunEntry one = entry(i);
        if (one.bytes == 0) {
            place += one.gap * RunEntry::long_gap;
            continue;
        }
        place += one.gap;
        // Elements, mostly: one load and one store.
        if (one.bytes == 8) std::memcpy(place, data, 8);
        else if (one.bytes == 4) std::memcpy(place, data, 4);
        else std::memcpy(place, data, one.bytes);
        place += one.bytes;
        data += one.bytes;
    }
    return true;
}

} // namespace lapwing::detail::messages
