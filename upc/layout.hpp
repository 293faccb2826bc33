#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::upc {

/// Where the books of a heap begin: HeapBooks says what they are. All zero: nothing is free.
struct HeapRoot {
    static constexpr std::uint64_t levels = 40; ///< sizes up to 2^47
    static constexpr std::uint64_t classes = 8; ///< of each level

    std::int64_t lock;       ///< the tail of a queue lock, or 1 while a thread of the node has the books
    std::uint64_t lock_mark; ///< unused: queue locks have one
    std::uint64_t free_bytes;
    std::uint64_t used_levels;             ///< bit k: level k has free blocks
    std::uint8_t used_classes[levels];     ///< bit k: class k of the level has
    std::uint64_t first[levels * classes]; ///< free block of each class, or 0
    std::uint64_t unused[7];
};
static_assert(sizeof(HeapRoot) % 64 == 0);

/// What begins each thread's part of the heap window. Offset 0 belongs to no object, so that a null pointer points to
/// nothing.
struct PartHeader {
    std::uint64_t nothing[8];
    std::uint64_t pointers_lock[8]; ///< of atomics on this thread's pointers
    std::uint64_t places[2048];     ///< in queues of locks: see QueueLocks
    HeapRoot blocks_root;           ///< of the heap of all threads' blocks: at thread 0
    HeapRoot small_blocks_root;     ///< of a share of the small ones: at the first thread of each group
    HeapRoot own_root;              ///< of the heap of upc_alloc()
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
