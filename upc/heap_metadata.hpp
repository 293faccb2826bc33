#pragma once

#include "upc/heap_layout.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace lapwing::upc {

/// The result of freeing a block.
enum class Freed : std::uint8_t { done, already_free, no_block };

struct Allocated {
    std::uint64_t address = 0;      ///< 0: no free block of that size was found
    std::uint64_t largest_free = 0; ///< bytes, as far as the search went; set when none was found
    std::uint64_t free = 0;         ///< bytes in all free blocks; likewise
};

struct FoundBlock {
    Region object{};         ///< empty: the address is in no allocated block
    std::uint64_t go_on = 0; ///< not 0: the search is unfinished, and continues from there
};

/// The metadata at `at` are impossible: something has overwritten them.
struct MetadataOverwritten {
    std::uint64_t at = 0;
};

/// Memory that holds metadata, by offset in the part of the thread that keeps them.
template <class M>
concept MetadataMemory = requires(M& memory, std::uint64_t at, std::uint64_t value) {
    { memory.template get<std::uint64_t>(at) } -> std::same_as<std::uint64_t>;
    memory.put(at, value);
};

/// The metadata of a heap: two-level segregated fit (Masmano, Ripoll, Crespo, Real, "TLSF: a new dynamic memory
/// allocator for real-time systems", 2004). Free blocks are in lists by size class, 8 per power of two, and bits say
/// which lists are non-empty: an allocation takes the first block of the first class whose blocks are all large enough,
/// and returns the rest of it. Freed blocks are merged with free neighbours. Only if no such class has a
/// block, some blocks of the class below are examined.
///
/// Each block's memory is preceded by block_header_bytes bytes. Callers guarantee mutual exclusion.
///
/// Cost: a constant number of reads and writes, whatever the number of blocks: at most 5 reads to allocate if there
/// is room, 6 to free.
template <MetadataMemory Memory>
class HeapMetadata {
public:
    /// `root`: the offset of a HeapRoot.
    HeapMetadata(Memory& memory, std::uint64_t root, const Region& region)
        : memory_{memory}, root_{root}, region_{region} {}

    /// Called once, with a root of zeros: all of the region is free.
    void make() { insert(region_.begin, region_.end - region_.begin, 0); }

    // These throw MetadataOverwritten.

    /// `bytes` must be positive.
    [[nodiscard]] Allocated allocate(std::uint64_t bytes);
    [[nodiscard]] Freed free(std::uint64_t address);
    /// The memory of the allocated block whose memory begins at an address; empty if there is none.
    [[nodiscard]] Region object(std::uint64_t begin);
    /// The memory of the allocated block that contains an address, its end included. Visits at most `blocks` blocks
    /// starting at `from`, which is the begin of the region or what an earlier search returned. If that block has
    /// disappeared since, the search starts over.
    [[nodiscard]] FoundBlock find(std::uint64_t address, std::uint64_t from, std::uint64_t blocks);
    /// Throws unless all that is written down agrees: blocks with their neighbours, free ones with their lists. Cost:
    /// reads every block, for tests and builds with internal assertions.
    void validate();

private:
    /// Precedes each block's memory, and is included in its size. Blocks are contiguous.
    struct Block {
        std::uint64_t size_and_state; ///< mark in the upper 16 bits; bit 0: allocated
        std::uint64_t size_before;    ///< of the preceding block; 0 for the first one
        std::uint64_t next;           ///< free blocks: the next in the list; allocated ones: the bytes requested
        std::uint64_t previous;
    };
    static_assert(sizeof(Block) == block_header_bytes);
    static constexpr std::uint64_t mark = std::uint64_t{0xb10c} << 48;
    static constexpr std::uint64_t size_mask = (std::uint64_t{1} << 48) - 1;
    static constexpr std::uint64_t bins = HeapRoot::levels * HeapRoot::classes;
    /// The most blocks examined in a class whose blocks may be too small.
    static constexpr int most_looks = 16;

    [[nodiscard]] static std::uint64_t size_of(const Block& block) noexcept {
        return block.size_and_state & size_mask & ~std::uint64_t{1};
    }
    [[nodiscard]] static bool is_allocated(const Block& block) noexcept { return (block.size_and_state & 1) != 0; }
    [[nodiscard]] static bool is_block(const Block& block) noexcept {
        return (block.size_and_state & ~size_mask) == mark;
    }

    /// The list that a free block of this size is in: level * classes + class. Up to 16 granules each size has its own.
    [[nodiscard]] static std::uint64_t bin_of(std::uint64_t size) noexcept {
        const std::uint64_t granules = size / granule;
        if (granules < HeapRoot::classes) return granules;
        const auto shift = static_cast<std::uint64_t>(std::bit_width(granules / HeapRoot::classes)) - 1;
        return (shift + 1) * HeapRoot::classes + (granules >> shift) % HeapRoot::classes;
    }
    /// The first list whose blocks all have at least this size.
    [[nodiscard]] static std::uint64_t bin_above(std::uint64_t size) noexcept {
        const std::uint64_t granules = size / granule;
        if (granules < HeapRoot::classes) return granules;
        const auto shift = static_cast<std::uint64_t>(std::bit_width(granules / HeapRoot::classes)) - 1;
        return bin_of(size + ((std::uint64_t{1} << shift) - 1) * granule);
    }
    [[nodiscard]] std::uint64_t first_at(std::uint64_t bin) const noexcept {
        return root_ + offsetof(HeapRoot, first) + bin * sizeof(std::uint64_t);
    }
    [[nodiscard]] std::uint64_t classes_at(std::uint64_t bin) const noexcept {
        return root_ + offsetof(HeapRoot, used_classes) + bin / HeapRoot::classes;
    }

    /// The first non-empty list from this one on; `bins` if there is none.
    [[nodiscard]] std::uint64_t used_bin(std::uint64_t bin);
    /// The first block of a list that has this size, or 0, and the largest of those examined; examines only some.
    [[nodiscard]] std::uint64_t look_through(std::uint64_t bin, std::uint64_t size, std::uint64_t& largest);
    void set_first(std::uint64_t bin, std::uint64_t at);
    /// Throws if there is no block here, although there should be.
    [[nodiscard]] Block block_at(std::uint64_t at);
    /// Throws if no block can be here.
    void require_place(std::uint64_t at, std::uint64_t said_at) const {
        if (at < region_.begin || at >= region_.end || (at - region_.begin) % granule != 0)
            throw MetadataOverwritten{said_at};
    }
    [[nodiscard]] Block free_block_at(std::uint64_t at) {
        const Block block = block_at(at);
        if (is_allocated(block)) throw MetadataOverwritten{at};
        return block;
    }
    void remove(std::uint64_t at, const Block& block);
    void insert(std::uint64_t at, std::uint64_t size, std::uint64_t size_before);
    /// Updates the block after one of this size.
    void note_size_before(std::uint64_t behind, std::uint64_t size) {
        if (behind < region_.end) memory_.put(behind + offsetof(Block, size_before), size);
    }
    void count_free(std::uint64_t size, bool more) {
        const std::uint64_t at = root_ + offsetof(HeapRoot, free_bytes);
        const std::uint64_t bytes = size - block_header_bytes;
        const auto before = memory_.template get<std::uint64_t>(at);
        memory_.put(at, more ? before + bytes : before - bytes);
    }

    Memory& memory_;
    std::uint64_t root_;
    Region region_;
};

template <MetadataMemory Memory>
std::uint64_t HeapMetadata<Memory>::used_bin(std::uint64_t bin) {
    if (bin >= bins) return bins;
    std::uint64_t level = bin / HeapRoot::classes;
    unsigned classes = memory_.template get<std::uint8_t>(classes_at(bin)) & (0xffU << bin % HeapRoot::classes);
    if (classes == 0) {
        const auto used = memory_.template get<std::uint64_t>(root_ + offsetof(HeapRoot, used_levels));
        level = static_cast<std::uint64_t>(std::countr_zero(used >> (level + 1))) + level + 1;
        if (level >= HeapRoot::levels) return bins;
        classes = memory_.template get<std::uint8_t>(classes_at(level * HeapRoot::classes));
    }
    return level * HeapRoot::classes + static_cast<std::uint64_t>(std::countr_zero(classes));
}

template <MetadataMemory Memory>
void HeapMetadata<Memory>::set_first(std::uint64_t bin, std::uint64_t at) {
    const std::uint64_t place = first_at(bin);
    const auto before = memory_.template get<std::uint64_t>(place);
    memory_.put(place, at);
    if ((before == 0) == (at == 0)) return;
    const std::uint64_t levels_at = root_ + offsetof(HeapRoot, used_levels);
    const std::uint64_t level = std::uint64_t{1} << bin / HeapRoot::classes;
    const auto classes = memory_.template get<std::uint8_t>(classes_at(bin));
    const auto changed = static_cast<std::uint8_t>(classes ^ 1U << bin % HeapRoot::classes);
    memory_.put(classes_at(bin), changed);
    if ((classes == 0) == (changed == 0)) return;
    memory_.put(levels_at, memory_.template get<std::uint64_t>(levels_at) ^ level);
}

template <MetadataMemory Memory>
typename HeapMetadata<Memory>::Block HeapMetadata<Memory>::block_at(std::uint64_t at) {
    require_place(at, at);
    const auto block = memory_.template get<Block>(at);
    if (!is_block(block) || size_of(block) < granule || size_of(block) % granule != 0 ||
        size_of(block) > region_.end - at)
        throw MetadataOverwritten{at};
    return block;
}

template <MetadataMemory Memory>
void HeapMetadata<Memory>::remove(std::uint64_t at, const Block& block) {
    if (block.next != 0) require_place(block.next, at);
    if (block.previous != 0) {
        require_place(block.previous, at);
        memory_.put(block.previous + offsetof(Block, next), block.next);
    } else {
        const std::uint64_t bin = bin_of(size_of(block));
        if (memory_.template get<std::uint64_t>(first_at(bin)) != at) throw MetadataOverwritten{at};
        set_first(bin, block.next);
    }
    if (block.next != 0) memory_.put(block.next + offsetof(Block, previous), block.previous);
    count_free(size_of(block), false);
}

template <MetadataMemory Memory>
void HeapMetadata<Memory>::insert(std::uint64_t at, std::uint64_t size, std::uint64_t size_before) {
    const std::uint64_t bin = bin_of(size);
    const auto first = memory_.template get<std::uint64_t>(first_at(bin));
    memory_.put(at, Block{.size_and_state = mark | size, .size_before = size_before, .next = first, .previous = 0});
    if (first != 0) memory_.put(first + offsetof(Block, previous), at);
    set_first(bin, at);
    count_free(size, true);
}

template <MetadataMemory Memory>
std::uint64_t HeapMetadata<Memory>::look_through(std::uint64_t bin, std::uint64_t size, std::uint64_t& largest) {
    if (bin >= bins) return 0;
    auto at = memory_.template get<std::uint64_t>(first_at(bin));
    for (int looks = 0; at != 0 && looks < most_looks; ++looks) {
        const Block block = free_block_at(at);
        largest = std::max(largest, size_of(block) - block_header_bytes);
        if (size_of(block) >= size) return at;
        at = block.next;
    }
    return 0;
}

template <MetadataMemory Memory>
Allocated HeapMetadata<Memory>::allocate(std::uint64_t bytes) {
    Allocated result;
    const std::uint64_t asked = std::min(bytes, region_.end - region_.begin); // nothing larger can exist
    const std::uint64_t wanted = (block_header_bytes + asked + granule - 1) / granule * granule;
    std::uint64_t at = 0;
    if (const std::uint64_t bin = used_bin(bin_above(wanted)); bin < bins)
        at = memory_.template get<std::uint64_t>(first_at(bin));
    else at = look_through(bin_of(wanted), wanted, result.largest_free);
    if (at == 0) {
        result.free = memory_.template get<std::uint64_t>(root_ + offsetof(HeapRoot, free_bytes));
        std::uint64_t last = bins;
        for (std::uint64_t bin = used_bin(0); bin < bins; bin = used_bin(bin + 1)) last = bin;
        static_cast<void>(look_through(last, ~std::uint64_t{0}, result.largest_free));
        return result;
    }
    Block block = free_block_at(at);
    const std::uint64_t size = size_of(block);
    if (size < wanted) throw MetadataOverwritten{at};
    remove(at, block);
    std::uint64_t taken = size;
    if (const std::uint64_t rest = size - wanted; rest >= granule) {
        taken = wanted;
        insert(at + taken, rest, taken);
        note_size_before(at + size, rest);
    }
    block.size_and_state = mark | taken | 1;
    block.next = asked;
    memory_.put(at, block);
    result.address = at + block_header_bytes;
    return result;
}

template <MetadataMemory Memory>
Freed HeapMetadata<Memory>::free(std::uint64_t address) {
    if (address % granule != 0 || address < region_.begin + block_header_bytes || address >= region_.end)
        return Freed::no_block;
    std::uint64_t at = address - block_header_bytes;
    const auto block = memory_.template get<Block>(at);
    if (!is_block(block)) return Freed::no_block;
    if (!is_allocated(block)) return Freed::already_free;
    std::uint64_t size = size_of(block);
    std::uint64_t size_before = block.size_before;
    if (size < granule || size % granule != 0 || size > region_.end - at || size_before > at - region_.begin)
        throw MetadataOverwritten{at};
    // This block no longer exists by itself: freeing it again finds no block, or a free one.
    if (const std::uint64_t behind = at + size; behind < region_.end)
        if (const Block next = block_at(behind); !is_allocated(next)) {
            remove(behind, next);
            memory_.put(behind, Block{});
            size += size_of(next);
        }
    if (size_before != 0)
        if (const Block before = block_at(at - size_before); !is_allocated(before)) {
            if (size_of(before) != size_before) throw MetadataOverwritten{at};
            remove(at - size_before, before);
            memory_.put(at, Block{.size_and_state = mark, .size_before = 0, .next = 0, .previous = 0}); // seen as free
            at -= size_before;
            size += size_before;
            size_before = before.size_before;
        }
    insert(at, size, size_before);
    note_size_before(at + size, size);
    return Freed::done;
}

template <MetadataMemory Memory>
Region HeapMetadata<Memory>::object(std::uint64_t begin) {
    if (begin % granule != 0 || begin < region_.begin + block_header_bytes || begin >= region_.end) return {};
    const auto block = memory_.template get<Block>(begin - block_header_bytes);
    if (!is_block(block) || !is_allocated(block)) return {};
    return {begin, begin + block.next};
}

template <MetadataMemory Memory>
FoundBlock HeapMetadata<Memory>::find(std::uint64_t address, std::uint64_t from, std::uint64_t blocks) {
    std::uint64_t at = from;
    if (at != region_.begin) {
        require_place(at, at);
        const auto block = memory_.template get<Block>(at);
        if (!is_block(block) || size_of(block) == 0) at = region_.begin; // was merged with the block before it
    }
    for (; at < region_.end; --blocks) {
        if (blocks == 0) return {.go_on = at};
        const Block block = block_at(at);
        const std::uint64_t behind = at + size_of(block);
        if (address <= behind) {
            const std::uint64_t begin = at + block_header_bytes;
            const bool inside = is_allocated(block) && address >= begin && address <= begin + block.next;
            return {.object = inside ? Region{begin, begin + block.next} : Region{}};
        }
        at = behind;
    }
    return {};
}

template <MetadataMemory Memory>
void HeapMetadata<Memory>::validate() {
    std::uint64_t free_blocks = 0;
    std::uint64_t free_bytes = 0;
    std::uint64_t size_before = 0;
    bool free_before = false;
    for (std::uint64_t at = region_.begin; at < region_.end;) {
        const Block block = block_at(at);
        const bool is_free = !is_allocated(block);
        if (block.size_before != size_before || (is_free && free_before)) throw MetadataOverwritten{at};
        if (is_free) {
            ++free_blocks;
            free_bytes += size_of(block) - block_header_bytes;
        } else if (block.next > size_of(block) - block_header_bytes) {
            throw MetadataOverwritten{at};
        }
        free_before = is_free;
        size_before = size_of(block);
        at += size_before;
    }
    for (std::uint64_t bin = 0; bin < bins; ++bin) {
        std::uint64_t previous = 0;
        auto at = memory_.template get<std::uint64_t>(first_at(bin));
        const unsigned classes = memory_.template get<std::uint8_t>(classes_at(bin));
        const auto levels = memory_.template get<std::uint64_t>(root_ + offsetof(HeapRoot, used_levels));
        if ((at != 0) != ((classes >> bin % HeapRoot::classes & 1) != 0)) throw MetadataOverwritten{first_at(bin)};
        if ((classes != 0) != ((levels >> bin / HeapRoot::classes & 1) != 0))
            throw MetadataOverwritten{classes_at(bin)};
        for (; at != 0; --free_blocks) {
            const Block block = free_block_at(at);
            if (free_blocks == 0 || block.previous != previous || bin_of(size_of(block)) != bin)
                throw MetadataOverwritten{at};
            previous = at;
            at = block.next;
        }
    }
    const std::uint64_t free_at = root_ + offsetof(HeapRoot, free_bytes);
    if (free_blocks != 0 || memory_.template get<std::uint64_t>(free_at) != free_bytes)
        throw MetadataOverwritten{free_at};
}

} // namespace lapwing::upc
