#include "cache/cached_pages.hpp"

#include <algorithm>
#include <bit>

namespace lapwing::detail::cache {
namespace {

constexpr std::size_t page_alignment = 4096;

/// Words of a page's mask of valid lines.
[[nodiscard]] constexpr std::size_t words_of_lines(std::uint64_t page_bytes) noexcept {
    return (page_bytes / line_bytes + 63) / 64;
}

} // namespace

CachedPages::CachedPages(const PageCacheConfiguration& configuration, const Backend& backend,
                         const std::atomic<std::uint64_t>& epoch, std::atomic<std::uint32_t>& dirty_pages,
                         ReadAhead& ahead, support::Statistics& statistics)
    : backend_{backend},
      epoch_{epoch},
      ahead_{ahead},
      statistics_{statistics},
      table_{configuration},
      dirty_{configuration, dirty_pages},
      bytes_{configuration.bytes},
      memory_{support::allocate_aligned(configuration.bytes, page_alignment)} {}

void CachedPages::lay_out(const PageCacheLayout& layout) {
    page_bytes_ = layout.page_bytes;
    valid_words_ = words_of_lines(layout.page_bytes);
    pages_.assign(layout.frames, {});
    valid_.assign(layout.frames * valid_words_, 0);
    buckets_.assign(std::bit_ceil<std::size_t>(layout.frames), no_frame);
    dirty_.lay_out(layout);
    table_.lay_out(layout);
}

void CachedPages::enter(Frame frame, Rank rank, Offset start) noexcept {
    Page& page = pages_[frame];
    page.number = number_of(rank, start);
    page.epoch = now();
    page.start = start.bytes;
    page.rank = rank;
    page.read = false;
    page.unread = false;
    page.listed = false;
    page.hinted = false;
    Frame& head = buckets_[bucket(page.number)];
    page.next = head;
    head = frame;
}

void CachedPages::leave(Frame frame) noexcept {
    Page& page = pages_[frame];
    table_.leave_reads(page.number);
    Frame* link = &buckets_[bucket(page.number)];
    while (*link != frame) link = &pages_[*link].next;
    *link = page.next;
    page.number = no_page;
    std::ranges::fill(valid_words(frame), 0);
}

bool CachedPages::readable_as_written(Frame frame, Lines lines) noexcept {
    if (pages_[frame].dirty == DirtyPages::none) return false;
    const auto dirty = dirty_.bits(pages_[frame].dirty);
    for (std::uint64_t line = lines.first; line < lines.last; ++line)
        if (dirty[line] == ~std::uint64_t{0}) make_valid(frame, {line, line + 1});
    return bits::all(valid(frame), lines.first, lines.last);
}

bool CachedPages::was_read(Frame frame) const noexcept {
    const Page& page = pages_[frame];
    return !page.unread && page.dirty == DirtyPages::none && bits::all(valid(frame), 0, all_lines(frame).last);
}

bool CachedPages::was_read(Rank rank, Offset offset) const noexcept {
    const Frame frame = find(number_of(rank, offset));
    return frame != no_frame && was_read(frame);
}

CachedPages::PagesRead CachedPages::pages_read_with(Frame frame, std::uint64_t most) const noexcept {
    const std::uint64_t epoch = pages_[frame].epoch;
    const std::uint64_t number = pages_[frame].number;
    const auto read_with_it = [&](Frame other) {
        return other != no_frame && pages_[other].epoch == epoch && was_read(other);
    };
    PagesRead pages;
    while (pages.from <= most && read_with_it(find(number + pages.from))) ++pages.from;
    if (pages.from == 0) return pages;
    while (pages.before < most && read_with_it(find(number - pages.before - 1))) ++pages.before;
    return pages;
}

void CachedPages::enter_reads(Frame frame) noexcept {
    const Page& page = pages_[frame];
    if (page.operation != no_operation) return;
    table_.enter_reads(page.number, page.epoch, data(frame), valid(frame));
}

void CachedPages::renew(Frame frame, std::uint64_t epoch) noexcept {
    drop_unread(pages_[frame]);
    std::ranges::fill(valid_words(frame), 0);
    pages_[frame].epoch = epoch;
    pages_[frame].read = false;
}

void CachedPages::invalidate(Frame frame, Lines lines) noexcept {
    bits::clear(valid_words(frame), lines.first, lines.last);
    table_.leave_reads(pages_[frame].number);
}

void CachedPages::lose(Frame frame) noexcept {
    std::ranges::fill(valid_words(frame), 0);
    drop_unread(pages_[frame]);
    table_.leave_reads(pages_[frame].number);
}

void CachedPages::drop_unread(Page& page) noexcept {
    if (!page.unread) return;
    if (!page.listed && !page.hinted) ahead_.wasted();
    statistics_.add(Counter::read_ahead_wasted);
    page.unread = false;
    page.listed = false;
    page.hinted = false;
}

std::uint64_t CachedPages::memory_bytes() const noexcept {
    return bytes_ + pages_.capacity() * sizeof(Page) + valid_.capacity() * sizeof(std::uint64_t) +
           buckets_.capacity() * sizeof(Frame) + dirty_.memory_bytes() + table_.memory_bytes();
}

std::uint64_t CachedPages::memory_for(const PageCacheConfiguration& configuration) noexcept {
    const PageCacheLayout most{configuration, least_page_bytes(configuration)};
    return configuration.bytes +
           most.frames * (sizeof(Page) + words_of_lines(most.page_bytes) * sizeof(std::uint64_t)) +
           std::bit_ceil(most.frames) * sizeof(Frame) + DirtyPages::memory_for(configuration) +
           FilledPageTable::memory_for(most);
}

} // namespace lapwing::detail::cache
