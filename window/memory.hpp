#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::window {

class TeamState;

/// The memory behind an allocated window: shared by the ranks of a node, with an MPI window over it where the network path
/// is rma. Every rank's part starts with `prefix_bytes` for the library's own use, then the program's bytes; all zero.
class WindowMemory {
public:
    /// Collective over the team.
    WindowMemory(TeamState& team, std::uint64_t bytes, std::uint64_t prefix_bytes);
    ~WindowMemory();
    WindowMemory(const WindowMemory&) = delete;
    WindowMemory& operator=(const WindowMemory&) = delete;

    /// Collective. Frees everything.
    void close();

    /// Start of this rank's part, prefix included.
    [[nodiscard]] std::byte* own() const noexcept { return own_; }
    /// The same for each rank of the node, in the order of Topology::members().
    [[nodiscard]] const std::vector<std::byte*>& bases() const noexcept { return bases_; }
    /// Window over all ranks in which displacement 0 is own(); MPI_WIN_NULL unless the path is rma.
    [[nodiscard]] MPI_Win remote_window() const noexcept { return remote_; }
    /// Window that shares the node's memory, or MPI_WIN_NULL.
    [[nodiscard]] MPI_Win shared_window() const noexcept { return shared_; }

private:
    TeamState& team_;
    std::byte* own_ = nullptr;
    std::uint64_t total_bytes_ = 0;
    std::vector<std::byte*> bases_;
    MPI_Win shared_ = MPI_WIN_NULL;
    MPI_Win remote_ = MPI_WIN_NULL;
    bool mapped_ = false; ///< own_ is a private mapping
};

/// Bytes of memory that this machine has.
[[nodiscard]] std::uint64_t machine_memory_bytes() noexcept;

} // namespace lapwing::window
