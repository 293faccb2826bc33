// Writing into the cache, and what synchronisation does with it.
#include "cache/page_cache.hpp"

#include "cache/bits.hpp"
#include "src/support/assert.hpp"

#include <algorithm>
#include <cstring>

namespace lapwing::detail::cache {

void PageCache::put(Rank rank, Offset offset, std::span<const std::byte> source) {
    pages_.page_table().note_slow_write();
    if (source.size() > largest_cached_) {
        invalidate(rank, offset, source.size());
        backend_.put(rank, offset, source);
        return;
    }
    while (!source.empty()) {
        const std::size_t bytes = std::min<std::size_t>(page_bytes() - within_page(offset), source.size());
        write(rank, offset, source.first(bytes));
        offset.bytes += bytes;
        source = source.subspan(bytes);
    }
}

void PageCache::write(Rank rank, Offset offset, std::span<const std::byte> source) {
    const std::uint64_t within = within_page(offset);
    const std::uint64_t number = pages_.number_of(rank, offset);
    Frame frame = pages_.find(number);
    if (frame == no_frame && write_bypass_.pass(number)) [[unlikely]] {
        // Nothing of the page is cached that could hide the write from a later read.
        statistics_.add(Counter::cache_passed);
        backend_.put(rank, offset, source);
        return;
    }
    const bool again = frame != no_frame && pages_[frame].dirty != DirtyPages::none;
    if (write_bypass_.judge(again, pages_.page_table().write_hits())) collect_hits();
    if (frame == no_frame) {
        // In the frame after the preceding page if that only passes through: both then leave in one message.
        const Frame before = pages_.find(number - 1);
        const bool passes = before != no_frame && replacement_->passing(before);
        frame = take_frame(rank, offset.bytes - within, no_frame, passes ? Reuse::none : Reuse::remembered);
    } else {
        freshen(frame);
        under_way_.finish(pages_[frame]); // a get would overwrite the bytes, a put may still be reading them
        replacement_->used(frame);
    }
    Page& page = pages_[frame];
    if (page.dirty == DirtyPages::none) write_behind_.attach_mask(frame);
    std::byte* const data = pages_.data(frame);
    const std::span<std::uint64_t> dirty = pages_.dirty().bits(page.dirty);
    std::memcpy(data + within, source.data(), source.size());
    bits::set(dirty, within, within + source.size());
    pages_.page_table().enter_writes(page.number, data, dirty);
}

// ---- synchronisation ------------------------------------------------------------------------------------------------

void PageCache::start_release() {
    if constexpr (support::internal_assertions) validate();
    collect_hits();
    write_behind_.start_release();
    LAPWING_ASSERT(!may_be_dirty());
}

void PageCache::finish_release() {
    write_behind_.finish_release();
    if (configuration_.adapt) adapt_page_size();
    if constexpr (support::internal_assertions) validate();
}

void PageCache::release(Rank rank) {
    if constexpr (support::internal_assertions) validate();
    collect_hits();
    write_behind_.release(rank);
}

void PageCache::invalidate(Rank rank, Offset offset, std::uint64_t bytes) {
    if (may_be_dirty()) write_back(rank, offset, bytes);
    const auto invalidate_page = [&](Frame frame) {
        const Page& page = pages_[frame];
        under_way_.finish(page);
        const std::uint64_t begin = std::max(offset.bytes, page.start) - page.start;
        const std::uint64_t end = std::min(offset.bytes + bytes, page.start + page_bytes()) - page.start;
        pages_.invalidate(frame, lines_of(begin, end - begin));
    };
    if (bytes / page_bytes() > pages_.frames()) {
        for (Frame frame = 0; frame < pages_.frames(); ++frame) {
            const Page& page = pages_[frame];
            if (page.number != no_page && pages_.meets(page, rank, offset, bytes)) invalidate_page(frame);
        }
        return;
    }
    for (std::uint64_t start = offset.bytes - within_page(offset); start < offset.bytes + bytes; start += page_bytes())
        if (const Frame frame = pages_.find(pages_.number_of(rank, start)); frame != no_frame) invalidate_page(frame);
}

} // namespace lapwing::detail::cache
