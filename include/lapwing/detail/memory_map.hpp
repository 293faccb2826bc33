// Room: transport
#pragma once

#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>

namespace lapwing::detail::transport {

/// Where the memory of the ranks of this node is mapped, and how large every rank's part is. Copied into arrays, so
/// that an element access needs no more than this.
struct MemoryMap {
    std::byte* own = nullptr;
    std::uint64_t own_bytes = 0;
    int own_rank = 0;
    int ranks = 0;
    /// As many where inline accesses check their ranges themselves; 0 where they leave it to what records them.
    int inline_ranks = 0;
    /// Node ranks are the run [node_first, node_first + node_count) of team ranks; `node_index` (one entry per team
    /// rank, shared by the team's windows, -1 off node) serves where they are not a run.
    int node_first = 0;
    int node_count = 0;
    const std::int32_t* node_index = nullptr;
    std::byte* const* bases = nullptr;
    /// Size of every part when they are all equal; else `sizes` holds one entry a rank.
    std::uint64_t uniform_bytes = 0;
    const std::uint64_t* sizes = nullptr;

    /// Start of the part of `rank` as mapped here; null when it is not reachable by load and store.
    [[nodiscard]] std::byte* base(Rank rank) const noexcept {
        if (node_index == nullptr) {
            const auto index = static_cast<unsigned>(rank.value - node_first);
            return index < static_cast<unsigned>(node_count) ? bases[index] : nullptr;
        }
        const std::int32_t index = node_index[rank.value];
        return index >= 0 ? bases[index] : nullptr;
    }
    [[nodiscard]] std::uint64_t bytes(Rank rank) const noexcept {
        return sizes == nullptr ? uniform_bytes : sizes[rank.value];
    }
};

} // namespace lapwing::detail::transport
