#pragma once

#include "upc/layout.hpp"
#include "upc/queue_lock.hpp"

#include <lapwing/window.hpp>

#include <cstdint>

namespace lapwing::upc {

/// A heap whose memory is a region of one thread's part, or of all parts alike, and whose books are kept in the part of
/// one thread. Any thread allocates and frees, by reading and writing the books under a lock, while their owner
/// computes on: first-fit over a list of the free blocks, which are joined to their neighbours when they are freed.
///
/// In front of each block stand 32 bytes. Cost: between nodes two atomics of the lock, a round trip for each free block
/// that is looked at, and two to four more.
class Heap {
public:
    /// `root`: offset of 64 bytes of the owner's part, zero at first; the lock is the first of them.
    Heap(Window& window, QueueLocks& locks, int owner, std::uint64_t root, const Region& region)
        : window_{window}, locks_{locks}, owner_{owner}, root_{root}, region_{region} {}

    /// Once, by the owner, before anyone else comes.
    void make();

    /// What a block is freed as.
    enum class Freed : std::uint8_t { done, already_free, no_block };
    struct Allocated {
        std::uint64_t address = 0;      ///< 0: there is no block of that size, and all free ones have been looked at
        std::uint64_t largest_free = 0; ///< bytes, of those that were looked at
        std::uint64_t free = 0;         ///< bytes in all of them
    };
    /// `bytes` is above 0.
    [[nodiscard]] Allocated allocate(std::uint64_t bytes);
    [[nodiscard]] Freed free(std::uint64_t address);
    /// The memory of the allocated block that an address is in, its end included; empty where there is none. Goes
    /// through all blocks before it.
    [[nodiscard]] Region find(std::uint64_t address);
    /// The memory of the allocated block whose memory begins at an address; empty where there is none.
    [[nodiscard]] Region object(std::uint64_t begin);

    [[nodiscard]] const Region& region() const noexcept { return region_; }

private:
    /// In front of each block, whose size counts it. Blocks lie one behind the other.
    struct Block {
        std::uint64_t size_and_state; ///< mark in the upper 16 bits; bit 0: allocated
        std::uint64_t size_before;    ///< of the block in front; 0 for the first one
        std::uint64_t next;           ///< of free blocks: in the list; of allocated ones: bytes that were asked for
        std::uint64_t previous;
    };
    static_assert(sizeof(Block) == block_header_bytes);
    struct Root {
        std::int64_t lock_tail;
        std::uint64_t lock_mark;
        std::uint64_t first; ///< in the list of free blocks
    };

    [[nodiscard]] static std::uint64_t size_of(const Block& block) noexcept {
        return block.size_and_state & size_mask & ~std::uint64_t{1};
    }
    [[nodiscard]] static bool is_allocated(const Block& block) noexcept { return (block.size_and_state & 1) != 0; }
    [[nodiscard]] static bool is_block(const Block& block) noexcept {
        return (block.size_and_state & ~size_mask) == mark;
    }
    static constexpr std::uint64_t mark = std::uint64_t{0xb10c} << 48;
    static constexpr std::uint64_t size_mask = (std::uint64_t{1} << 48) - 1;

    [[nodiscard]] LockPlace lock() const noexcept { return {owner_, root_}; }
    /// The same while the lock is held.
    [[nodiscard]] Allocated allocate_locked(std::uint64_t bytes);
    [[nodiscard]] Freed free_locked(std::uint64_t address);
    /// Throws UsageError where there is no block, but should be.
    [[nodiscard]] Block read_block(std::uint64_t at);
    [[nodiscard]] Block read(std::uint64_t at) { return window_.get<Block>(Rank{owner_}, Offset{at}); }
    void write(std::uint64_t at, const Block& block) { window_.put(Rank{owner_}, Offset{at}, block); }
    /// The link in front of a free block becomes `next`.
    void link(std::uint64_t previous, std::uint64_t next);
    void take_from_list(const Block& block);
    /// The block behind one of this size hears of it.
    void note_size_before(std::uint64_t behind, std::uint64_t size);

    Window& window_;
    QueueLocks& locks_;
    int owner_;
    std::uint64_t root_;
    Region region_;
};

} // namespace lapwing::upc
