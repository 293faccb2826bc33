#pragma once

#include "src/mpi/node_memory.hpp"
#include "src/mpi/probe.hpp"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::detail::mpi {
struct Problem;
}
namespace lapwing::detail::team {
class TeamState;
}

namespace lapwing::detail::window {

/// The memory of an allocated window: shared by the ranks of a node, with an MPI window over it where the network path
/// is rma; all zero. The parts of a node's ranks follow one another in the order of Topology::members(), so that the
/// elements of an array that is assigned to them in that order are one dense array.
class WindowMemory {
public:
    /// Collective over the team. Every rank gets `bytes` bytes (`same_size`: the same number on all), aligned to
    /// `alignment` (to 64 where the parts of a node are not dense), of which the first `zeroed_bytes` are zero, and
    /// `counters` notification counters. Throws RangeError on all ranks when one cannot have its part; `who` begins the
    /// message.
    WindowMemory(team::TeamState& team, const std::string& who, std::uint64_t bytes, bool same_size, unsigned alignment,
                 unsigned counters, std::uint64_t zeroed_bytes);
    ~WindowMemory();
    WindowMemory(const WindowMemory&) = delete;
    WindowMemory& operator=(const WindowMemory&) = delete;

    /// Collective. Frees everything.
    void close();

    /// Start of this rank's part.
    [[nodiscard]] std::byte* own() const noexcept { return own_; }
    /// The same for each rank of the node, in the order of Topology::members().
    [[nodiscard]] const std::vector<std::byte*>& bases() const noexcept { return bases_; }
    /// The notification counters of a rank of the node.
    [[nodiscard]] std::atomic<std::uint64_t>* counters(int node_rank) const noexcept {
        return counters_ + static_cast<std::size_t>(node_rank) * counter_stride_;
    }
    /// Window over all ranks in which displacement 0 is own(); MPI_WIN_NULL unless the path is rma.
    [[nodiscard]] MPI_Win remote_window() const noexcept { return remote_; }
    /// The kind of remote_window(). Not the kind that was tried if MPI has allocated this part with less
    /// alignment.
    [[nodiscard]] mpi::WindowKind kind() const noexcept { return kind_; }
    /// MPI's window that shares the node's memory, or MPI_WIN_NULL.
    [[nodiscard]] MPI_Win shared_window() const noexcept { return shared_.window(); }

private:
    /// Collective. Makes remote_ by `call`, whose name in MPI is `name`.
    template <class Call>
    void create(Call&& call, const char* name, const std::string& who, std::uint64_t bytes, bool same_size);
    /// Collective, where every rank is a node. Makes remote_ over memory of MPI's, if that begins where it
    /// should.
    void allocate_part(const std::string& who, std::uint64_t bytes, bool same_size);
    /// Collective. A part of memory of its own for this rank.
    void map_part(const std::string& who, std::uint64_t bytes);
    /// Collective.
    void free_remote();
    /// Collective. Allocates the parts of a node as shared memory, and finds where they are.
    void share_parts(const std::string& who, std::uint64_t bytes);
    /// Collective. Throws on all ranks when one has a problem. What exists by then, except for the rank's
    /// own mappings, stays until the process ends: freeing windows is collective, and not every rank need
    /// have them.
    void agree(const std::string& who, const std::string& problem, std::uint64_t bytes);

    team::TeamState& team_;
    std::byte* own_ = nullptr;
    std::uint64_t total_bytes_ = 0;
    std::vector<std::byte*> bases_;
    mpi::NodeMemory shared_;
    MPI_Win remote_ = MPI_WIN_NULL;
    bool mapped_ = false; ///< own_ is a mapping of its own
    mpi::WindowKind kind_ = mpi::WindowKind::created;
    std::atomic<std::uint64_t>* counters_ = nullptr; ///< of the node's first rank
    std::size_t counter_stride_ = 0;                 ///< whole cache lines, so that ranks do not disturb each other
    std::vector<std::atomic<std::uint64_t>> own_counters_; ///< of a rank that is alone on its node
};

/// The most bytes that the ranks of a node can have together, and what sets that limit, with the remedy.
struct MemoryLimit {
    std::uint64_t bytes = 0;
    const char* what = "";
};

/// Memory that MPI shares among the ranks of a node is taken from /dev/shm.
[[nodiscard]] MemoryLimit memory_limit(const mpi::Topology& topology) noexcept;

/// Why so many bytes cannot be mapped here (a limit of this rank alone); empty if they can. Asked before the MPI call,
/// since MPI's creation of a window may fail on one rank and wait on the others.
[[nodiscard]] std::string cannot_map(std::uint64_t bytes);

/// The RangeError of every rank when `first` is the first that cannot have its part; `bytes` is what this rank asked
/// for, `who` begins the message.
[[noreturn]] void throw_no_memory(const std::string& who, std::uint64_t bytes, const mpi::Problem& first);

} // namespace lapwing::detail::window
