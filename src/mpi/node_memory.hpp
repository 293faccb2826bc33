#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::detail::mpi {

/// Where the memory that the ranks of a node share comes from.
enum class NodeSource : std::uint8_t {
    mpi, ///< MPI_Win_allocate_shared: files in /dev/shm, whose size containers limit
    own  ///< a file without a name (memfd_create), which needs no room there
};

/// Memory that the ranks of a node share, each rank's part after that of the rank before.
class NodeMemory {
public:
    NodeMemory() = default;
    ~NodeMemory() = default; // freeing is collective, and others may still use it: close() does it
    NodeMemory(const NodeMemory&) = delete;
    NodeMemory& operator=(const NodeMemory&) = delete;

    /// Collective over `node`, once. `bytes` is the size of this rank's part, which may be 0. Returns why the memory
    /// cannot be had, empty if it can: MPI's on this rank, Lapwing's own on all ranks of the node. Where any rank has
    /// such a problem, MPI's window stays until the process ends, since freeing it is collective.
    [[nodiscard]] std::string make(MPI_Comm node, NodeSource source, std::uint64_t bytes);

    /// Where the parts begin here, in the order of the node's ranks.
    [[nodiscard]] const std::vector<std::byte*>& bases() const noexcept { return bases_; }
    /// The window that has the memory; MPI_WIN_NULL where it is Lapwing's own.
    [[nodiscard]] MPI_Win window() const noexcept { return window_; }

    /// Collective over the node, after make() on all ranks. Frees it; returns what MPI says.
    int close() noexcept;

private:
    std::string allocate(MPI_Comm node, std::uint64_t bytes);
    /// Maps MPI's memory a second time, for bases(), where the system can: it then stays until close(), also when
    /// MPI_Finalize takes MPI's mapping away (Open MPI). `end_of_all`: of the last rank's part.
    void map_again(const std::byte* end_of_all);
    std::string map_own(MPI_Comm node, std::uint64_t bytes);
    void unmap() noexcept;

    std::vector<std::byte*> bases_;
    MPI_Win window_ = MPI_WIN_NULL;
    std::byte* mapping_ = nullptr; ///< Lapwing's, of MPI's memory or its own
    std::uint64_t mapped_bytes_ = 0;
};

/// Collective over the ranks of a node. Whether they can share memory of this source: each must see what all others
/// store. Empty if they can, else why not, alike on all.
[[nodiscard]] std::string problem_of_sharing(MPI_Comm node, NodeSource source);

} // namespace lapwing::detail::mpi
