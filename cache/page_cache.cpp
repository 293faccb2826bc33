// How the cache's pages are placed: room for new ones, eviction, resizing.
#include "cache/page_cache.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace lapwing::detail::cache {

namespace {

/// A write cache pays if one write in two returns to its page, since finding a page saves a write less than a read.
/// Only after more pages than can be dirty at a time is it known that writes do not return.
[[nodiscard]] BypassLimits write_limits(const PageCacheConfiguration& configuration) noexcept {
    constexpr std::uint64_t most = 1U << 16;
    const auto probe = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(2 * configuration.dirty_pages, 256, most));
    return {.misses_per_hit = 1,
            .first_probe = probe,
            .later_probe = probe / 2,
            .first_pause = 8 * probe,
            .longest_pause = 64 * probe};
}

} // namespace

PageCache::PageCache(const PageCacheConfiguration& configuration, Backend& backend,
                     const std::atomic<std::uint64_t>& epoch, std::atomic<std::uint32_t>& dirty_pages,
                     support::Statistics& statistics)
    : configuration_{configuration},
      backend_{backend},
      statistics_{statistics},
      ahead_{configuration.page_bytes, 0},
      bypass_{configuration.adapt},
      write_bypass_{configuration.adapt, write_limits(configuration)},
      page_size_{configuration.page_bytes, least_page_bytes(configuration), largest_page_bytes(configuration)},
      pages_{configuration, backend, epoch, dirty_pages, ahead_, statistics},
      under_way_{backend, pages_},
      write_behind_{backend, pages_, under_way_, statistics},
      fetcher_{configuration, backend, pages_, under_way_, write_behind_, page_size_, statistics},
      repeated_{pages_, fetcher_} {
    // All memory now: small pages need most frames, large ones most dirty bits, for which there is room already.
    lay_out(least_page_bytes(configuration));
    lay_out(configuration.page_bytes);
}

PageCache::~PageCache() {
    // Operations in flight use this memory.
    try {
        finish_all();
    } catch (...) { // the owner has left: nothing more arrives
    }
}

void PageCache::lay_out(std::uint64_t page_bytes) {
    const PageCacheLayout layout{configuration_, page_bytes};
    // The only allocation comes first: if it fails, nothing has changed.
    const auto frames = static_cast<Frame>(layout.frames);
    replacement_ = configuration_.policy == CachePolicy::two_queues
                       ? make_two_queues(frames, pages_)
                       : make_direct_mapped(frames, configuration_.ranks, configuration_.victim_pages);
    largest_cached_ = std::max(page_bytes, std::min(8 * page_bytes, configuration_.bytes / 8));
    pages_.lay_out(layout);
    write_behind_.lay_out(layout);
    fetcher_.lay_out(layout);
    // At most half of the ring is in flight, or pages would be evicted before they are read.
    const std::uint64_t ahead = std::min(configuration_.read_ahead_bytes / page_bytes, layout.frames / 4);
    ahead_ = ReadAhead{page_bytes, ahead};
    repeated_.lay_out(ahead);
}

void PageCache::adapt_page_size() {
    if (may_be_dirty()) return; // a release has failed: the next one puts what it could not
    const std::uint64_t bytes = page_size_.choose(slow_reads_ + pages_.page_table().read_hits());
    if (bytes == page_bytes()) return;
    finish_all();
    try {
        lay_out(bytes);
    } catch (const std::bad_alloc&) { // nothing has changed, and nothing needs to
        return;
    }
    statistics_.add(Counter::cache_page_changes);
}

std::uint64_t PageCache::memory_for(const PageCacheConfiguration& configuration) noexcept {
    const PageCacheLayout most{configuration, least_page_bytes(configuration)};
    constexpr std::uint64_t of_replacement = 24; // at most, per frame
    return CachedPages::memory_for(configuration) + most.frames * of_replacement + OperationsUnderWay::memory_bytes() +
           WriteBehind::memory_for(most) + Fetcher::memory_for(configuration);
}

std::uint64_t PageCache::bytes_within(PageCacheConfiguration configuration, std::uint64_t memory) noexcept {
    const std::uint64_t page = configuration.page_bytes;
    std::uint64_t low = 0;
    std::uint64_t high = configuration.bytes / page; // number of pages; the answer is in [low, high]
    while (low < high) {
        const std::uint64_t middle = low + (high - low + 1) / 2;
        configuration.bytes = middle * page;
        if (memory_for(configuration) <= memory) low = middle;
        else high = middle - 1;
    }
    return low * page;
}

std::uint64_t PageCache::memory_bytes() const noexcept {
    return pages_.memory_bytes() + under_way_.memory_bytes() + write_behind_.memory_bytes() + fetcher_.memory_bytes();
}

Frame PageCache::take_frame(Rank rank, Offset page_start, Frame keep, Reuse reuse) {
    const Frame frame = replacement_->frame_for(pages_.number_of(rank, page_start), rank, keep, reuse);
    if (frame == no_frame) return no_frame;
    if (pages_[frame].number != no_page) evict(frame);
    pages_.enter(frame, rank, page_start);
    return frame;
}

void PageCache::evict(Frame frame) {
    Page& page = pages_[frame];
    if (fetcher_.in_block(frame)) fetcher_.send_block();
    if (page.in_group) fetcher_.send_group();
    pages_.drop_unread(page);
    if (page.dirty != DirtyPages::none) write_behind_.clean_with_neighbours(frame);
    under_way_.finish(page);
    replacement_->evicted(page.number, frame);
    pages_.leave(frame);
    statistics_.add(Counter::cache_evictions);
}

bool PageCache::freshen(Frame frame) {
    const std::uint64_t epoch = pages_.now();
    if (pages_[frame].epoch == epoch) return false;
    under_way_.finish(pages_[frame]);
    pages_.renew(frame, epoch);
    return true;
}

} // namespace lapwing::detail::cache
