#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace lapwing::detail::datatype {

/// Fewer are not worth the start of a kernel.
inline constexpr std::uint64_t least_equal_units = 8;

/// What equal_units() found at the beginning of a list.
struct EqualUnits {
    std::uint64_t blocks = 0;     ///< of the list that are dealt with, at least one
    std::uint64_t units = 0;      ///< that they were cut into; 0: they are too different, and best taken one by one
    std::uint64_t unit_bytes = 0; ///< of each
};

/// A list of blocks with different lengths as runs of equal units, unless the list was divided into units when it was
/// made: blocks may have a length in common only for a part of the list. A copy that looks at the length of each block
/// takes four times as long as one that need not.
///
/// Block i of `count` > 0 is at offsets[i] and has starts[i + 1] - starts[i] bytes. Writes the offsets of the first
/// units, in the order of their bytes, to `room`.
[[nodiscard]] inline EqualUnits equal_units(const std::int64_t* offsets, const std::uint64_t* starts,
                                            std::uint64_t count, std::span<std::int64_t> room) noexcept {
    constexpr std::uint64_t most_units_a_block = 8;
    const auto length = [&](std::uint64_t i) { return starts[i + 1] - starts[i]; };
    EqualUnits found{.unit_bytes = count > 1 ? std::min(length(0), length(1)) : length(0)};
    for (; found.blocks < count && found.units < room.size(); ++found.blocks) {
        const std::int64_t offset = offsets[found.blocks];
        const std::uint64_t bytes = length(found.blocks);
        if (bytes == found.unit_bytes) {
            room[found.units++] = offset;
            continue;
        }
        const std::uint64_t parts = bytes / found.unit_bytes;
        const std::uint64_t most = std::min<std::uint64_t>(most_units_a_block, room.size() - found.units);
        if (parts * found.unit_bytes != bytes || parts > most) break;
        for (std::uint64_t k = 0; k < parts; ++k)
            room[found.units++] = offset + static_cast<std::int64_t>(k * found.unit_bytes);
    }
    if (found.units < least_equal_units) found = {.blocks = std::max<std::uint64_t>(found.blocks, 1)};
    return found;
}

/// As many as are found at a time.
using UnitOffsets = std::array<std::int64_t, 512>;

} // namespace lapwing::detail::datatype
