#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::upc {

/// What begins each thread's part of the heap window. Offset 0 belongs to no object, so that a null pointer points to
/// nothing.
struct PartHeader {
    std::uint64_t nothing[8];
    std::uint64_t blocks_root[8];   ///< of the heap of all threads' blocks: at thread 0
    std::uint64_t own_root[8];      ///< of the heap of upc_alloc()
    std::uint64_t pointers_lock[8]; ///< of atomics on this thread's pointers
    std::uint64_t places[2048];     ///< in queues of locks: see QueueLocks
};
static_assert(sizeof(PartHeader) % 64 == 0);

/// Alignment of what the heap gives, so that no two objects share a line of the processor's cache, and size of what it
/// keeps in front of it. Blocks with what is in front of them are multiples of the first; heaps begin so that the
/// memory behind is aligned.
inline constexpr std::uint64_t granule = 64;
inline constexpr std::uint64_t block_header_bytes = 32;

/// A range of each thread's part.
struct Region {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    [[nodiscard]] bool holds(std::uint64_t address) const noexcept { return address >= begin && address < end; }
};

} // namespace lapwing::upc
