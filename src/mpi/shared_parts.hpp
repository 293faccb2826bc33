#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::mpi {

/// Where the part of one rank begins in that of another.
struct Overlap {
    int first = -1; ///< of the ranks in the order that was given; -1: no parts overlap
    int second = -1;
    std::uint64_t first_bytes = 0; ///< of the first one's part
    std::uint64_t distance = 0;    ///< bytes from the first one's begin to the second one's
};

/// A range of memory that two processes may see at different addresses: `place` counts bytes in what they share, of
/// which `memory` is the number.
struct PartOfMemory {
    std::uint64_t memory = 0;
    std::uint64_t place = 0;
    std::uint64_t bytes = 0; ///< 0: it overlaps with nothing
};

/// The first two that overlap, in the order of their places.
[[nodiscard]] Overlap find_overlap(std::span<const PartOfMemory> parts);

/// Where the parts of a window that MPI has allocated are mapped in this process, for the node's ranks in the order of
/// `node`. Both MPIs keep such parts in files that all ranks of the node map, but do not say so: MPI_Win_shared_query
/// is for windows of MPI_Win_allocate_shared. The kernel does, in /proc/self/maps: what two processes map from the same
/// place of the same file is the same memory. The memory itself is neither read nor written. Not for memory of the
/// program's own: it may unmap its view of another rank's at any time.
///
/// Collective over `node`. `own`: this rank's part, of `bytes` bytes.
struct SharedParts {
    std::vector<std::byte*>
        addresses;   ///< empty unless all ranks of the node have found all parts; a part without bytes is null
    Overlap overlap; ///< of two parts in one file, the same on all ranks
};
[[nodiscard]] SharedParts find_shared_parts(MPI_Comm node, std::byte* own, std::uint64_t bytes);

} // namespace lapwing::detail::mpi
