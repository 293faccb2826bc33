#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace lapwing::datatype {

/// Fewer are not worth the start of a kernel.
inline constexpr std::uint64_t least_equal_pieces = 8;

/// What equal_pieces() found at the beginning of a list.
struct EqualPieces {
    std::uint64_t blocks = 0;      ///< of the list that are dealt with, at least one
    std::uint64_t pieces = 0;      ///< that they were cut into; 0: they are too different, and best taken one by one
    std::uint64_t piece_bytes = 0; ///< of each
};

/// A list of blocks with different lengths as runs of equal pieces, where it is not one that was cut when it was made: one whose
/// blocks have a length in common for a while only. A copy that looks at the length of each takes four times as long as one
/// that need not.
///
/// Block i of `count` > 0 is at offsets[i] and has starts[i + 1] - starts[i] bytes. Writes the offsets of the first pieces, in
/// the order of their bytes, to `room`.
[[nodiscard]] inline EqualPieces equal_pieces(const std::int64_t* offsets, const std::uint64_t* starts, std::uint64_t count,
                                              std::span<std::int64_t> room) noexcept {
    constexpr std::uint64_t most_pieces_a_block = 8;
    const auto length = [&](std::uint64_t i) { return starts[i + 1] - starts[i]; };
    EqualPieces found{.piece_bytes = count > 1 ? std::min(length(0), length(1)) : length(0)};
    for (; found.blocks < count && found.pieces < room.size(); ++found.blocks) {
        const std::int64_t offset = offsets[found.blocks];
        const std::uint64_t bytes = length(found.blocks);
        if (bytes == found.piece_bytes) {
            room[found.pieces++] = offset;
            continue;
        }
        const std::uint64_t parts = bytes / found.piece_bytes;
        const std::uint64_t most = std::min<std::uint64_t>(most_pieces_a_block, room.size() - found.pieces);
        if (parts * found.piece_bytes != bytes || parts > most) break;
        for (std::uint64_t k = 0; k < parts; ++k)
            room[found.pieces++] = offset + static_cast<std::int64_t>(k * found.piece_bytes);
    }
    if (found.pieces < least_equal_pieces) found = {.blocks = std::max<std::uint64_t>(found.blocks, 1)};
    return found;
}

/// As many as are found at a time.
using PieceOffsets = std::array<std::int64_t, 512>;

} // namespace lapwing::datatype
