#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::mpi {

/// Where the parts of a node's ranks of a window that MPI has allocated are mapped in this process, in the order of `node`.
/// Both MPIs keep such parts in files that all ranks of the node map, and do not say so: MPI_Win_shared_query is for windows of
/// MPI_Win_allocate_shared. The kernel does, in /proc/self/maps: what two processes map of the same file at the same place in
/// it is the same memory. Nothing of the memory is read or written. Not for memory of the program's: it may unmap its view of
/// another rank's at any time.
///
/// Collective over `node`. `own`: this rank's part, of `bytes` bytes. Empty unless all ranks of the node have found all parts;
/// a part without bytes is null.
[[nodiscard]] std::vector<std::byte*> find_shared_parts(MPI_Comm node, std::byte* own, std::uint64_t bytes);

} // namespace lapwing::mpi
