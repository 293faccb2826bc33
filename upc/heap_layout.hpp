#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::upc {

/// Where the metadata of a heap begin: see HeapMetadata. All zero: nothing is free.
struct HeapRoot {
    static constexpr std::uint64_t levels = 40; ///< sizes up to 2^47
    static constexpr std::uint64_t classes = 8; ///< of each level

    std::int64_t lock;       ///< the tail of a queue lock, or 1 while a thread of the node uses the metadata
    std::uint64_t lock_mark; ///< unused: part of every queue lock
    std::uint64_t free_bytes;
    std::uint64_t used_levels;             ///< bit k: level k has free blocks
    std::uint8_t used_classes[levels];     ///< bit k: class k of the level has
    std::uint64_t first[levels * classes]; ///< free block of each class, or 0
    std::uint64_t unused[7];
};
static_assert(sizeof(HeapRoot) % 64 == 0);

/// The beginning of each thread's part of the heap window. Offset 0 belongs to no object, so that a null pointer points
/// to nothing.
struct PartHeader {
    std::uint64_t nothing[8];
    std::uint64_t pointers_lock[8]; ///< for atomics on this thread's pointers
    std::uint64_t places[2048];     ///< for waiting in lock queues: see QueueLocks
    HeapRoot blocks_root;           ///< for the heap of all threads' blocks: at thread 0
    HeapRoot small_blocks_root;     ///< for a share of the small ones: at the first thread of each group
    HeapRoot own_root;              ///< for the heap of upc_alloc()
};
static_assert(sizeof(PartHeader) % 64 == 0);

/// The heap's alignment, so that no two objects share a cache line, and the size of the header in front of each
/// block's memory. Blocks with their headers are multiples of the granule; heaps begin so that the memory after a
/// header is aligned.
inline constexpr std::uint64_t granule = 64;
inline constexpr std::uint64_t block_header_bytes = 32;

/// A range of each thread's part.
struct Region {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    [[nodiscard]] bool holds(std::uint64_t address) const noexcept { return address >= begin && address < end; }
};

} // namespace lapwing::upc
