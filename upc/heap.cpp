#include "upc/heap.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace lapwing::upc {

namespace {

constexpr std::uint64_t first_link = 2 * sizeof(std::uint64_t); // in the root, behind the lock

} // namespace

void Heap::make() {
    write(region_.begin,
          {.size_and_state = mark | (region_.end - region_.begin), .size_before = 0, .next = 0, .previous = 0});
    window_.put(Rank{owner_}, Offset{root_ + first_link}, region_.begin);
}

void Heap::link(std::uint64_t previous, std::uint64_t next) {
    const std::uint64_t at = previous == 0 ? root_ + first_link : previous + offsetof(Block, next);
    window_.put(Rank{owner_}, Offset{at}, next);
}

void Heap::take_from_list(const Block& block) {
    link(block.previous, block.next);
    if (block.next != 0) window_.put(Rank{owner_}, Offset{block.next + offsetof(Block, previous)}, block.previous);
}

void Heap::note_size_before(std::uint64_t behind, std::uint64_t size) {
    if (behind < region_.end) window_.put(Rank{owner_}, Offset{behind + offsetof(Block, size_before)}, size);
}

Heap::Allocated Heap::allocate(std::uint64_t bytes) {
    return under_lock(locks_, lock(), [&] { return allocate_locked(bytes); });
}

Heap::Allocated Heap::allocate_locked(std::uint64_t bytes) {
    Allocated result;
    if (bytes > region_.end - region_.begin) bytes = region_.end - region_.begin; // there is none of that size
    const std::uint64_t wanted = (block_header_bytes + bytes + granule - 1) / granule * granule;
    for (std::uint64_t at = window_.get<std::uint64_t>(Rank{owner_}, Offset{root_ + first_link}); at != 0;) {
        Block block = read_block(at);
        const std::uint64_t size = size_of(block);
        result.free += size - block_header_bytes;
        result.largest_free = std::max(result.largest_free, size - block_header_bytes);
        if (size < wanted) {
            at = block.next;
            continue;
        }
        std::uint64_t taken = size;
        if (const std::uint64_t rest = size - wanted; rest >= granule) {
            // The rest takes the block's place in the list.
            taken = wanted;
            const std::uint64_t behind = at + taken;
            write(
                behind,
                {.size_and_state = mark | rest, .size_before = taken, .next = block.next, .previous = block.previous});
            link(block.previous, behind);
            if (block.next != 0) window_.put(Rank{owner_}, Offset{block.next + offsetof(Block, previous)}, behind);
            note_size_before(at + size, rest);
        } else {
            take_from_list(block);
        }
        block.size_and_state = mark | taken | 1;
        block.next = bytes; // of an allocated block: what was asked for
        write(at, block);
        result.address = at + block_header_bytes;
        break;
    }
    return result;
}

Heap::Freed Heap::free(std::uint64_t address) {
    if (address % granule != 0 || address < region_.begin + block_header_bytes || address >= region_.end)
        return Freed::no_block;
    return under_lock(locks_, lock(), [&] { return free_locked(address); });
}

Heap::Freed Heap::free_locked(std::uint64_t address) {
    std::uint64_t at = address - block_header_bytes;
    Block block = read(at);
    if (!is_block(block)) return Freed::no_block;
    if (!is_allocated(block)) return Freed::already_free;
    std::uint64_t size = size_of(block);
    // What was a block of its own is none any more: freeing it again finds no block, or a free one.
    if (const std::uint64_t behind = at + size; behind < region_.end)
        if (const Block next = read_block(behind); !is_allocated(next)) {
            take_from_list(next);
            write(behind, {});
            size += size_of(next);
        }
    if (block.size_before != 0)
        if (const Block before = read_block(at - block.size_before); !is_allocated(before)) {
            take_from_list(before);
            write(at, {.size_and_state = mark, .size_before = 0, .next = 0, .previous = 0}); // known to be free
            at -= block.size_before;
            size += size_of(before);
            block.size_before = before.size_before;
        }
    const auto first = window_.get<std::uint64_t>(Rank{owner_}, Offset{root_ + first_link});
    write(at, {.size_and_state = mark | size, .size_before = block.size_before, .next = first, .previous = 0});
    if (first != 0) window_.put(Rank{owner_}, Offset{first + offsetof(Block, previous)}, at);
    link(0, at);
    note_size_before(at + size, size);
    return Freed::done;
}

Region Heap::object(std::uint64_t begin) {
    const Block block = read(begin - block_header_bytes);
    if (!is_block(block) || !is_allocated(block)) return {};
    return {begin, begin + block.next};
}

Region Heap::find(std::uint64_t address) {
    return under_lock(locks_, lock(), [&]() -> Region {
        for (std::uint64_t at = region_.begin; at < region_.end;) {
            const Block block = read_block(at);
            const std::uint64_t behind = at + size_of(block);
            if (address <= behind) {
                const std::uint64_t begin = at + block_header_bytes;
                return is_allocated(block) && address >= begin && address <= begin + block.next
                           ? Region{begin, begin + block.next}
                           : Region{};
            }
            at = behind;
        }
        return {};
    });
}

Heap::Block Heap::read_block(std::uint64_t at) {
    const Block block = read(at);
    if (!is_block(block) || size_of(block) < granule || size_of(block) > region_.end - at)
        throw UsageError{fmt::format("the books of the shared heap at thread {} are overwritten at {:#x}: a write went "
                                     "past the end of the object before, or before "
                                     "the start of the one behind; assertion level 2 finds it",
                                     owner_, at)};
    return block;
}

} // namespace lapwing::upc
