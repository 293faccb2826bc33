// The cache's memory, what is in it, and what is under way to and from it.
#include "cache/page_cache.hpp"

#include "cache/bits.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <new>
#include <utility>

namespace lapwing::cache {
namespace {

constexpr std::size_t most_operations = 128;
constexpr std::size_t page_alignment = 4096;

/// What the page size may be adapted to.
constexpr std::uint64_t least_pages_to_adapt = 64;
[[nodiscard]] std::uint64_t least_page_bytes(const PageCacheConfiguration& configuration) {
    return configuration.adapt ? std::max<std::uint64_t>(configuration.page_bytes / 2, 64) : configuration.page_bytes;
}
[[nodiscard]] std::uint64_t largest_page_bytes(const PageCacheConfiguration& configuration) {
    std::uint64_t bytes = configuration.page_bytes;
    while (configuration.adapt && bytes < 4 * configuration.page_bytes && bytes < 65536 &&
           configuration.bytes / (2 * bytes) >= least_pages_to_adapt)
        bytes *= 2;
    return bytes;
}

[[nodiscard]] std::size_t read_entries(std::uint64_t frames) {
    return std::clamp<std::size_t>(2 * std::bit_ceil<std::size_t>(frames), 64, 8192);
}
[[nodiscard]] std::size_t write_entries(std::uint64_t masks) {
    return std::clamp<std::size_t>(2 * std::bit_ceil<std::size_t>(masks), 16, 4096);
}

} // namespace

PageCache::PageCache(const PageCacheConfiguration& configuration, Backend& backend,
                     const std::atomic<std::uint64_t>& epoch, std::atomic<std::uint32_t>& dirty_pages,
                     support::Statistics& statistics)
    : configuration_{configuration}, backend_{backend}, epoch_{epoch}, statistics_{statistics}, dirty_count_{dirty_pages},
      operations_(most_operations), ahead_{configuration.page_bytes, 0}, bypass_{configuration.adapt},
      page_size_{configuration.page_bytes, least_page_bytes(configuration), largest_page_bytes(configuration)} {
    memory_ = support::allocate_aligned(configuration.bytes, page_alignment);
    runs_.reserve(most_runs);
    hot_pages_.epoch_ = &epoch_;
    hot_pages_.alone_ = configuration.alone;
    // All memory now: small pages need most places, large ones most dirty bits.
    lay_out(least_page_bytes(configuration));
    masks_memory_.reserve(std::min(configuration.dirty_pages, configuration.bytes / largest_page_bytes(configuration)) *
                          (largest_page_bytes(configuration) / 64));
    scratch_.reserve(largest_page_bytes(configuration));
    lay_out(configuration.page_bytes);
}

PageCache::~PageCache() {
    // What is under way uses this memory.
    try {
        finish_all();
    } catch (...) { // the owner has left: nothing arrives any more
    }
}

void PageCache::lay_out(std::uint64_t page_bytes) {
    // The one thing that is allocated anew each time comes first: if it cannot be, nothing has changed.
    const auto frames = static_cast<Frame>(configuration_.bytes / page_bytes);
    std::unique_ptr<Replacement> replacement = configuration_.policy == CachePolicy::two_queues
                                                   ? make_two_queues(frames, *this)
                                                   : make_direct_mapped(frames, configuration_.ranks, configuration_.victim_pages);
    page_bytes_ = page_bytes;
    frames_ = frames;
    replacement_ = std::move(replacement);
    largest_cached_ = std::max(page_bytes, std::min(8 * page_bytes, configuration_.bytes / 8));
    valid_words_ = (page_bytes / line_bytes + 63) / 64;
    mask_words_ = page_bytes / 64;
    pages_.assign(frames_, {});
    valid_.assign(frames_ * valid_words_, 0);
    buckets_.assign(std::bit_ceil<std::size_t>(frames_), no_frame);
    // Fewer than pages pass through at a time, or these would leave before they are written behind.
    const auto masks = static_cast<Index>(std::clamp<std::uint64_t>(frames_ / 4, 1, configuration_.dirty_pages));
    masks_memory_.assign(masks * mask_words_, 0);
    masks_.assign(masks, {});
    free_mask_ = none;
    for (Index mask = masks; mask-- > 0;) {
        masks_[mask].after = free_mask_;
        free_mask_ = mask;
    }
    oldest_mask_ = newest_mask_ = none;
    to_clean_.reserve(masks);
    scratch_.resize(page_bytes);
    // Half of the ring at most is under way, or pages would leave before they are read.
    ahead_ = ReadAhead{page_bytes, std::min<std::uint64_t>(configuration_.read_ahead_bytes / page_bytes, frames_ / 4)};

    reads_.assign(read_entries(frames_), {});
    writes_.assign(write_entries(masks), {});
    hot_pages_.page_bytes_ = page_bytes;
    hot_pages_.page_shift_ = static_cast<unsigned>(std::countr_zero(page_bytes));
    hot_pages_.granule_shift_ = std::max(6U, hot_pages_.page_shift_ - std::min(hot_pages_.page_shift_, 6U));
    hot_pages_.rank_stride_ = (configuration_.largest_part >> hot_pages_.page_shift_) + 2; // no page follows the last of a rank
    hot_pages_.reads_ = reads_.data();
    hot_pages_.read_mask_ = reads_.size() - 1;
    hot_pages_.writes_ = writes_.data();
    hot_pages_.write_mask_ = writes_.size() - 1;
    hot_pages_.stretch_ = {};
}

std::uint64_t PageCache::memory_for(const PageCacheConfiguration& configuration) noexcept {
    const std::uint64_t least = least_page_bytes(configuration);
    const std::uint64_t largest = largest_page_bytes(configuration);
    const std::uint64_t frames = configuration.bytes / least;
    const std::uint64_t masks = std::clamp<std::uint64_t>(frames / 4, 1, configuration.dirty_pages);
    const std::uint64_t mask_words = std::max(masks * (least / 64), std::min(configuration.dirty_pages, configuration.bytes / largest) *
                                                                        (largest / 64));
    constexpr std::uint64_t of_replacement = 24; // at most, for a frame
    return configuration.bytes +
           frames * (sizeof(Page) + (least / line_bytes + 63) / 64 * sizeof(std::uint64_t) + of_replacement) +
           std::bit_ceil(frames) * sizeof(Frame) + read_entries(frames) * sizeof(HotPageTable::ReadEntry) +
           masks * (sizeof(Mask) + sizeof(Frame)) + mask_words * sizeof(std::uint64_t) +
           write_entries(masks) * sizeof(HotPageTable::WriteEntry) + most_operations * sizeof(Operation) +
           most_runs * sizeof(DirtyRun) + largest;
}

std::uint64_t PageCache::bytes_within(PageCacheConfiguration configuration, std::uint64_t memory) noexcept {
    const std::uint64_t page = configuration.page_bytes;
    std::uint64_t low = 0;
    std::uint64_t high = configuration.bytes / page; // pages; the answer is in [low, high]
    while (low < high) {
        const std::uint64_t middle = low + (high - low + 1) / 2;
        configuration.bytes = middle * page;
        if (memory_for(configuration) <= memory) low = middle;
        else high = middle - 1;
    }
    return low * page;
}

std::uint64_t PageCache::memory_bytes() const noexcept {
    const auto size = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
    return configuration_.bytes + size(pages_) + size(valid_) + size(buckets_) + size(masks_memory_) + size(masks_) +
           size(operations_) + size(reads_) + size(writes_) + size(to_clean_) + size(runs_) + size(scratch_);
}

Frame PageCache::find(std::uint64_t number) const noexcept {
    Frame frame = buckets_[bucket(number)];
    while (frame != no_frame && pages_[frame].number != number) frame = pages_[frame].next;
    return frame;
}

Frame PageCache::take_frame(int rank, std::uint64_t page_start, Frame keep, Reuse reuse) {
    const std::uint64_t number = hot_pages_.page_of(rank, page_start);
    const Frame frame = replacement_->frame_for(number, rank, keep, reuse);
    if (frame == no_frame) return no_frame;
    if (pages_[frame].number != no_page) evict(frame);
    Page& page = pages_[frame];
    page.number = number;
    page.epoch = now();
    page.start = page_start;
    page.rank = rank;
    page.unread = false;
    Frame& head = buckets_[bucket(number)];
    page.next = head;
    head = frame;
    return frame;
}

void PageCache::evict(Frame frame) {
    Page& page = pages_[frame];
    if (frame - block_.first < block_.count) send_block();
    drop_unread(page);
    if (page.dirty != none) clean_with_neighbours(frame);
    finish_page(frame);
    leave_hot_pages(page.number);
    Frame* link = &buckets_[bucket(page.number)];
    while (*link != frame) link = &pages_[*link].next;
    *link = page.next;
    replacement_->left(page.number, frame);
    page.number = no_page;
    std::ranges::fill(valid(frame), 0);
    statistics_.add(Counter::cache_evictions);
}

bool PageCache::freshen(Frame frame) {
    Page& page = pages_[frame];
    const std::uint64_t epoch = now();
    if (page.epoch == epoch) return false;
    finish_page(frame);
    drop_unread(page);
    std::ranges::fill(valid(frame), 0);
    page.epoch = epoch;
    return true;
}

void PageCache::drop_unread(Page& page) noexcept {
    if (!page.unread) return;
    ahead_.wasted();
    statistics_.add(Counter::read_ahead_wasted);
    page.unread = false;
}

void PageCache::adapt_page_size() {
    const std::uint64_t bytes = page_size_.choose(slow_reads_ + hot_pages_.hits_);
    if (bytes == page_bytes_) return;
    finish_all();
    try {
        lay_out(bytes);
    } catch (const std::bad_alloc&) { // nothing has changed, and nothing needs to
        return;
    }
    statistics_.add(Counter::cache_page_changes);
}

// ---- the hot pages ------------------------------------------------------------------------------------------------------

void PageCache::enter_reads(Frame frame) noexcept {
    const Page& page = pages_[frame];
    if (page.operation != none) return;
    std::uint64_t granules = 0;
    if (valid_words_ == 1) {
        granules = valid_[frame];
    } else {
        const std::uint64_t lines = page_bytes_ / line_bytes / 64; // of a granule
        for (unsigned g = 0; g < 64; ++g)
            if (bits::all(valid(frame), g * lines, (g + 1) * lines)) granules |= std::uint64_t{1} << g;
    }
    HotPageTable::ReadEntry& entry = reads_[HotPageTable::slot(page.number, hot_pages_.read_mask_)];
    hot_pages_.leave_stretch(entry.page);
    entry = {page.number, page.epoch, data(frame), granules};
}

void PageCache::enter_writes(Frame frame) noexcept {
    const Page& page = pages_[frame];
    HotPageTable::WriteEntry& entry = writes_[HotPageTable::slot(page.number, hot_pages_.write_mask_)];
    hot_pages_.leave_stretch(entry.page);
    entry = {page.number, data(frame), reinterpret_cast<std::uint8_t*>(dirty_bits(page.dirty).data())};
}

void PageCache::leave_hot_pages(std::uint64_t number) noexcept {
    hot_pages_.leave_stretch(number);
    HotPageTable::ReadEntry& entry = reads_[HotPageTable::slot(number, hot_pages_.read_mask_)];
    if (entry.page == number) entry.page = no_page;
}

void PageCache::leave_hot_writes(std::uint64_t number) noexcept {
    hot_pages_.leave_stretch(number);
    HotPageTable::WriteEntry& entry = writes_[HotPageTable::slot(number, hot_pages_.write_mask_)];
    if (entry.page == number) entry.page = no_page;
}

bool PageCache::take(Frame frame) noexcept {
    const Page& page = pages_[frame];
    HotPageTable::ReadEntry& entry = reads_[HotPageTable::slot(page.number, hot_pages_.read_mask_)];
    if (entry.page != page.number || entry.epoch != now()) return false;
    leave_hot_pages(page.number); // the next use enters it again
    return true;
}

void PageCache::collect_hits() noexcept {
    statistics_.add(Counter::cache_hits, hot_pages_.hits_ - collected_hits_);
    collected_hits_ = hot_pages_.hits_;
}

// ---- operations under way -------------------------------------------------------------------------------------------

void PageCache::begin_operation(Backend::Token token, Frame first, Frame count, bool put) {
    if (token == Backend::complete) return;
    // The oldest makes room.
    const Index index = next_operation_;
    next_operation_ = (next_operation_ + 1) % static_cast<Index>(operations_.size());
    Operation& operation = operations_[index];
    try {
        if (operation.count != 0) finish(index);
    } catch (...) {
        backend_.wait(token); // the frames must not be reused before
        throw;
    }
    operation = {token, first, count, put};
    for (Frame frame = first; frame < first + count; ++frame) pages_[frame].operation = index;
}

void PageCache::finish(Index index) {
    Operation& operation = operations_[index];
    const Operation done = operation;
    operation.count = 0;
    for (Frame frame = done.first; frame < done.first + done.count; ++frame) pages_[frame].operation = none;
    if (done.token == Backend::complete) return;
    try {
        backend_.wait(done.token);
    } catch (...) { // the bytes have not arrived
        for (Frame frame = done.first; frame < done.first + done.count; ++frame) {
            std::ranges::fill(valid(frame), 0);
            drop_unread(pages_[frame]);
            leave_hot_pages(pages_[frame].number);
        }
        throw;
    }
}

void PageCache::abandon() noexcept {
    for (Operation& operation : operations_) operation = {};
}

template <class Wanted>
void PageCache::finish_if(Wanted&& wanted) {
    // All of them, whatever becomes of the first: each uses this memory until it has been waited for.
    std::exception_ptr problem;
    for (Index index = 0; index < operations_.size(); ++index) {
        if (operations_[index].count == 0 || !wanted(operations_[index])) continue;
        try {
            finish(index);
        } catch (...) {
            if (problem == nullptr) problem = std::current_exception();
        }
    }
    if (problem != nullptr) std::rethrow_exception(problem);
}

void PageCache::finish_all() {
    finish_if([](const Operation&) { return true; });
}

void PageCache::finish_puts() {
    finish_if([](const Operation& operation) { return operation.put; });
}

} // namespace lapwing::cache
