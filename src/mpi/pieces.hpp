#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::detail::mpi {

/// MPI counts are int: larger transfers go in pieces of this many bytes. The calls with large counts of MPI 4 are no
/// way round it: MPICH 4.0.2 crashes in MPI_Put_c of more than 2^31 bytes, and Open MPI 5.0 has none.
inline constexpr std::uint64_t largest_piece_bytes = std::uint64_t{1} << 30;

[[nodiscard]] constexpr std::uint64_t piece_count(std::uint64_t bytes) {
    return (bytes + largest_piece_bytes - 1) / largest_piece_bytes;
}

/// Calls `f(offset, bytes)` for each piece of a transfer, in order; `bytes` is an int as MPI wants it. Offsets are
/// multiples of `unit`, which is at most largest_piece_bytes.
template <class F>
void for_each_piece(std::uint64_t bytes, F&& f, std::uint64_t unit = 1) {
    const std::uint64_t largest = largest_piece_bytes - largest_piece_bytes % unit;
    for (std::uint64_t at = 0; at < bytes;) {
        const std::uint64_t piece = std::min(bytes - at, largest);
        f(at, static_cast<int>(piece));
        at += piece;
    }
}

} // namespace lapwing::detail::mpi
