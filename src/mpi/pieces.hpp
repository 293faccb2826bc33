#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::mpi {

/// MPI counts are int: larger transfers go in pieces of this many bytes.
inline constexpr std::uint64_t largest_piece_bytes = std::uint64_t{1} << 30;

[[nodiscard]] constexpr std::uint64_t piece_count(std::uint64_t bytes) {
    return (bytes + largest_piece_bytes - 1) / largest_piece_bytes;
}

/// Calls `f(offset, bytes)` for each piece of a transfer, in order; `bytes` is an int as MPI wants it.
template <class F>
void for_each_piece(std::uint64_t bytes, F&& f) {
    for (std::uint64_t at = 0; at < bytes;) {
        const std::uint64_t piece = std::min(bytes - at, largest_piece_bytes);
        f(at, static_cast<int>(piece));
        at += piece;
    }
}

} // namespace lapwing::mpi
