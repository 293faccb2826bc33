// The invariants of a cache: what its parts must agree on between two calls. Checked only in builds with internal
// assertions.
#include "cache/page_cache.hpp"

#include "cache/bits.hpp"
#include "src/support/assert.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace lapwing::detail::cache {

void DirtyPages::validate() const {
    // The list of the masks in use, both ways.
    std::size_t in_use = 0;
    Mask before = none;
    for (Mask mask = oldest_; mask != none; before = mask, mask = links_[mask].after) {
        LAPWING_ASSERT(mask < links_.size() && in_use < links_.size());
        LAPWING_ASSERT(links_[mask].before == before && links_[mask].frame != no_frame);
        ++in_use;
    }
    LAPWING_ASSERT(newest_ == before);
    LAPWING_ASSERT(count_.load(std::memory_order_relaxed) == in_use);
    // The others are free and empty.
    std::size_t free = 0;
    for (Mask mask = free_; mask != none; mask = links_[mask].after, ++free) {
        LAPWING_ASSERT(mask < links_.size() && free < links_.size() && links_[mask].frame == no_frame);
        LAPWING_ASSERT(std::ranges::all_of(bits(mask), [](std::uint64_t word) { return word == 0; }));
    }
    LAPWING_ASSERT(in_use + free == links_.size());
}

void CachedPages::validate() const {
    std::size_t pages = 0;
    for (Frame frame = 0; frame < frames(); ++frame) {
        const Page& page = pages_[frame];
        if (page.number == no_page) {
            LAPWING_ASSERT(page.dirty == DirtyPages::none && page.operation == no_operation && !page.unread);
            LAPWING_ASSERT(!bits::any(valid(frame), 0, valid_words_ * 64));
            continue;
        }
        ++pages;
        LAPWING_ASSERT(!page.in_group && (page.unread || !page.listed));
        LAPWING_ASSERT(page.number == number_of(page.rank, page.start) && page.start % page_bytes_ == 0);
        LAPWING_ASSERT(page.start < backend_.part_bytes(page.rank));
        LAPWING_ASSERT(find(page.number) == frame); // so it is the only one
        LAPWING_ASSERT(page.epoch <= now());
        LAPWING_ASSERT(!bits::any(valid(frame), all_lines(frame).last, valid_words_ * 64));
        if (page.dirty == DirtyPages::none) continue;
        LAPWING_ASSERT(dirty_.frame(page.dirty) == frame);
        LAPWING_ASSERT(!bits::any(dirty_.bits(page.dirty), page_end(page), page_bytes_));
    }
    std::size_t listed = 0;
    for (std::size_t index = 0; index < buckets_.size(); ++index)
        for (Frame frame = buckets_[index]; frame != no_frame; frame = pages_[frame].next) {
            LAPWING_ASSERT(frame < frames() && bucket(pages_[frame].number) == index);
            LAPWING_ASSERT(++listed <= pages);
        }
    LAPWING_ASSERT(listed == pages);
    for (DirtyPages::Mask mask = dirty_.oldest(); mask != DirtyPages::none; mask = dirty_.after(mask))
        LAPWING_ASSERT(pages_[dirty_.frame(mask)].dirty == mask);
    dirty_.validate();
    table_.validate(*this);
}

void FilledPageTable::validate(const CachedPages& pages) const {
    // What is read directly is valid in the page's epoch; pages that no cache has are memory.
    const auto readable = [&](Frame frame, std::uint64_t begin, std::uint64_t end) {
        return bits::all(pages.valid(frame), begin / line_bytes, std::max(begin / line_bytes + 1, end / line_bytes));
    };
    read_entries_.for_each_page([&](std::uint64_t page) {
        const ReadEntry& entry = read_entries_[page];
        const Frame frame = pages.find(page);
        if (entry.valid == 0 || frame == no_frame) return;
        LAPWING_ASSERT(entry.data + place_of_page(page) == reinterpret_cast<std::uintptr_t>(pages.data(frame)));
        LAPWING_ASSERT(epoch_ == pages[frame].epoch);
        const std::uint64_t granules = entry.valid >> first_bit(page);
        for (std::uint64_t granule = 0; granule < page_bytes_ >> granule_shift_; ++granule)
            LAPWING_ASSERT((granules >> granule & 1U) == 0 ||
                           readable(frame, granule << granule_shift_, (granule + 1) << granule_shift_));
    });
    // What is written directly goes to the page's mask.
    const auto check = [&](std::uint64_t page, std::uintptr_t data, std::uintptr_t dirty) {
        const Frame frame = pages.find(page);
        LAPWING_ASSERT(frame != no_frame && pages[frame].dirty != DirtyPages::none);
        LAPWING_ASSERT(data + place_of_page(page) == reinterpret_cast<std::uintptr_t>(pages.data(frame)));
        LAPWING_ASSERT(dirty + place_of_page(page) / 8 ==
                       reinterpret_cast<std::uintptr_t>(pages.dirty().bits(pages[frame].dirty).data()));
    };
    write_entries_.for_each_page([&](std::uint64_t page) {
        const WriteEntry& entry = write_entries_[page];
        if (entry.count == 0) return;
        LAPWING_ASSERT((entry.copy == WriteEntry::no_copies ? InlineWrites::all : InlineWrites::with_copies) ==
                       allowed_);
        LAPWING_ASSERT(entry.begin - static_cast<std::uint32_t>(place_of_page(page)) + entry.count <= page_bytes_);
        check(page, entry.data, entry.dirty);
    });
    if (latest_.page == no_page) return;
    LAPWING_ASSERT(allowed_ == InlineWrites::with_copies);
    check(latest_.page, latest_.data, latest_.dirty);
}

void OperationsUnderWay::validate() const {
    std::size_t using_frames = 0;
    for (std::uint32_t index = 0; index < operations_.size(); ++index) {
        const Operation& operation = operations_[index];
        if (operation.count == 0) continue;
        LAPWING_ASSERT(operation.first < pages_.frames() && operation.count <= pages_.frames());
        const Page& first = pages_[operation.first];
        for_each_frame(operation, [&](Frame frame) {
            LAPWING_ASSERT(frame < pages_.frames());
            const Page& page = pages_[frame];
            LAPWING_ASSERT(page.operation == index && page.number != no_page && page.rank == first.rank);
            LAPWING_ASSERT(!operation.put() || page.number == first.number + (frame - operation.first));
            if (operation.token == Backend::complete) return;
            // A read of what a get fetches, or a write to what is in flight, must wait for it.
            const FilledPageTable& table = pages_.page_table();
            LAPWING_ASSERT(operation.put() || !table.serves_reads(page.number, page.epoch));
            LAPWING_ASSERT(!table.serves_writes(page.number));
        });
        using_frames += operation.count;
    }
    for (Frame frame = 0; frame < pages_.frames(); ++frame)
        if (pages_[frame].operation != no_operation) {
            LAPWING_ASSERT(pages_[frame].operation < operations_.size());
            LAPWING_ASSERT(using_frames-- != 0);
        }
    LAPWING_ASSERT(using_frames == 0);
}

void PageCache::validate() const {
    pages_.validate();
    under_way_.validate();
    LAPWING_ASSERT(!fetcher_.has_block() && !fetcher_.has_group());
    LAPWING_ASSERT(pages_.frames() * page_bytes() <= configuration_.bytes);
}

} // namespace lapwing::detail::cache
