// Reading through the cache, and reading ahead.
#include "cache/page_cache.hpp"

#include "cache/bits.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace lapwing::detail::cache {
namespace {

/// The range of all lines in it.
[[nodiscard]] Lines range_of(std::uint64_t lines) noexcept {
    return {static_cast<std::uint64_t>(std::countr_zero(lines)), static_cast<std::uint64_t>(std::bit_width(lines))};
}

} // namespace

void PageCache::get(Rank rank, Offset offset, std::span<std::byte> destination) {
    if (destination.size() > largest_cached_) return read_around(rank, offset, destination);
    const std::uint64_t within = within_page(offset);
    // Ask for all pages before waiting for the first.
    if (within + destination.size() > page_bytes()) prefetch(rank, offset, destination.size(), Hint::of_get);
    while (!destination.empty()) {
        const std::size_t bytes = std::min<std::size_t>(page_bytes() - within_page(offset), destination.size());
        read(rank, offset, destination.first(bytes));
        offset.bytes += bytes;
        destination = destination.subspan(bytes);
    }
}

void PageCache::read(Rank rank, Offset offset, std::span<std::byte> destination) {
    const std::uint64_t number = pages_.number_of(rank, offset);
    if (bypass_.pass(number, pages_.now())) [[unlikely]]
        return read_around(rank, offset, destination);
    const std::uint64_t within = within_page(offset);
    const Lines lines = lines_of(within, destination.size());
    FoundPage page{.frame = pages_.find(number)};
    bool hit = false;
    if (page.frame != no_frame) {
        page.again = pages_.pages_to_read_again(page.frame, ahead_.most_pages());
        page.lines_before = repeated_.lines_read_before(page.frame);
        page.epoch_before = pages_[page.frame].epoch;
        page.stale = freshen(page.frame);
        hit = pages_.readable(page.frame, lines);
        if (!hit && pages_.dirty().all(pages_[page.frame].dirty, within, within + destination.size())) {
            // Not through the page table: its entries hold whole lines.
            std::memcpy(destination.data(), pages_.data(page.frame) + within, destination.size());
            statistics_.add(Counter::cache_hits);
            return;
        }
        if (hit && pages_[page.frame].unread) use_unread(page.frame, rank, offset);
        if (hit) under_way_.finish_for_read(pages_[page.frame]);
    }
    if (!hit) fetch_missed(page, rank, offset, lines);
    statistics_.add(hit ? Counter::cache_hits : Counter::cache_misses);
    ++slow_reads_;
    if (!hit) page_size_.missed();
    if (bypass_.judge(hit, pages_.page_table().read_hits())) collect_hits();
    under_way_.finish_for_read(pages_[page.frame]);
    replacement_->used(page.frame);
    pages_[page.frame].read = true;
    std::memcpy(destination.data(), pages_.data(page.frame) + within, destination.size());
    pages_.enter_reads(page.frame);
}

void PageCache::fetch_missed(FoundPage& page, Rank rank, Offset offset, Lines lines) {
    const std::uint64_t part_bytes = backend_.part_bytes(rank);
    const std::uint64_t start = offset.bytes - within_page(offset);
    const bool first = page.frame == no_frame || page.stale; // since it was fetched, or since the acquire
    ReadAhead::Plan plan =
        first ? ahead_.touched(rank, offset, part_bytes,
                               page.again.from != 0 ? ReadAhead::Found::stale : ReadAhead::Found::missing)
              : ahead_.touched_again(rank, offset, part_bytes);
    if (page.again.from > plan.count && (plan.count == 0 || plan.whole_pages))
        plan = ahead_.plan_again(start + page_bytes(), page.again.from - 1);
    if (page.frame == no_frame) page.frame = take_frame(rank, start, no_frame);
    // Other lines of it came ahead, in vain. From now on it counts as read.
    else if (pages_[page.frame].listed) pages_.drop_unread(pages_[page.frame]);
    const bool whole = !first || page.again.from != 0 || plan.sequential;
    Lines wanted = whole ? pages_.all_lines(page.frame) : lines;
    const std::uint64_t all_before = plan.count == 0 || plan.whole_pages ? page.again.before : 0;
    if (plan.count != 0 || all_before != 0) {
        fetcher_.start(page.frame, wanted);
        read_ahead(plan, rank, page.frame);
        const std::uint64_t before = std::min(all_before, ahead_.most_pages()); // the nearest ones
        return read_ahead(ahead_.plan_again(start - before * page_bytes(), before), rank, page.frame);
    }
    if (page.lines_before != 0) {
        const Lines before = range_of(page.lines_before);
        wanted = {std::min(wanted.first, before.first), std::max(wanted.last, before.last)};
        repeated_.missed(page.frame, page.epoch_before);
    }
    fetcher_.fetch(page.frame, wanted);
}

void PageCache::use_unread(Frame frame, Rank rank, Offset offset) {
    Page& page = pages_[frame];
    page.unread = false;
    const bool listed = std::exchange(page.listed, false);
    const bool hinted = std::exchange(page.hinted, false);
    if (!listed && !hinted) ahead_.used();
    statistics_.add(Counter::read_ahead_used);
    ReadAhead::Found found = ReadAhead::Found::here;
    if (under_way_.uses(page)) {
        statistics_.add(Counter::read_ahead_waited);
        found = ReadAhead::Found::under_way;
    }
    if (listed) {
        bypass_.repeated();
        repeated_.used(frame);
    }
    if (!hinted) read_ahead(ahead_.touched(rank, offset, backend_.part_bytes(rank), found), rank, frame);
}

void PageCache::read_around(Rank rank, Offset offset, std::span<std::byte> destination) {
    statistics_.add(Counter::cache_passed);
    write_behind_.write_early(rank, offset, destination.size());
    backend_.get(rank, offset, destination);
    if (may_be_dirty()) overlay(rank, offset, destination);
}

void PageCache::overlay(Rank rank, Offset offset, std::span<std::byte> destination) const {
    pages_.for_each_dirty(rank, offset, destination.size(), [&](Frame frame) {
        const Page& page = pages_[frame];
        bits::for_each_run(pages_.dirty().bits(page.dirty), [&](std::uint64_t begin, std::uint64_t end) {
            const std::uint64_t from = std::max(page.start + begin, offset.bytes);
            const std::uint64_t to = std::min(page.start + end, offset.bytes + destination.size());
            if (from < to)
                std::memcpy(destination.data() + (from - offset.bytes), pages_.data(frame) + (from - page.start),
                            to - from);
        });
    });
}

// ---- reading ahead --------------------------------------------------------------------------------------------------

void PageCache::prefetch(Rank rank, Offset offset, std::uint64_t bytes, Hint hint) {
    if (hint == Hint::whole_pages) {
        const std::uint64_t end = std::min(offset.bytes + bytes, backend_.part_bytes(rank));
        const std::uint64_t first = offset.bytes - within_page(offset);
        if (first >= end) return;
        const std::uint64_t count = (end - first + page_bytes() - 1) / page_bytes();
        const ReadAhead::Plan pages{.first = first, .step = page_bytes(), .count = count, .whole_pages = true};
        return read_pages_ahead(pages, rank, no_frame);
    }
    if (bytes > largest_cached_) return;
    const DropUnsent drop{fetcher_};
    while (bytes != 0) {
        const std::uint64_t here = std::min(page_bytes() - within_page(offset), bytes);
        start_reading(rank, offset, here, no_frame, hint == Hint::of_program);
        offset.bytes += here;
        bytes -= here;
    }
    fetcher_.send_group();
}

void PageCache::start_reading(Rank rank, Offset offset, std::uint64_t bytes, Frame keep, bool hinted) {
    const std::uint64_t within = within_page(offset);
    Lines lines = lines_of(within, bytes);
    Frame frame = pages_.find(pages_.number_of(rank, offset));
    if (frame == no_frame) {
        frame = take_frame(rank, offset.bytes - within, keep);
        if (frame == no_frame) return;
    } else {
        // As in read(): a page that has been read from in this epoch, or completely in an earlier one, is fetched
        // whole.
        bool whole = pages_.was_read(frame);
        if (!freshen(frame)) whole = bits::any(pages_.valid(frame), 0, pages_.all_lines(frame).last);
        const Page& page = pages_[frame];
        if (page.operation != no_operation || page.in_group || page.dirty != DirtyPages::none ||
            pages_.readable(frame, lines))
            return;
        if (whole) lines = pages_.all_lines(frame);
    }
    fetcher_.add_to_group(frame, lines);
    pages_[frame].hinted = hinted;
}

void PageCache::read_ahead(const ReadAhead::Plan& plan, Rank rank, Frame keep) {
    if (plan.count == 0) return;
    if (plan.whole_pages) return read_pages_ahead(plan, rank, keep);
    const DropUnsent drop{fetcher_};
    for (std::uint64_t i = 0; i < plan.count; ++i) {
        const std::uint64_t offset = plan.first + i * plan.step;
        if (plan.again && !pages_.was_read(rank, offset)) break;
        const std::uint64_t part = backend_.part_bytes(rank);
        // The size of one value, which may reach into the next line.
        const std::uint64_t bytes = std::min({std::uint64_t{8}, part - offset, page_bytes() - within_page(offset)});
        start_reading(rank, offset, bytes, keep);
    }
    fetcher_.send_group();
}

void PageCache::read_pages_ahead(const ReadAhead::Plan& plan, Rank rank, Frame keep) {
    // All of them in neighbouring frames, or one message could not fetch them.
    std::uint64_t again = 0;
    for (std::uint64_t i = 0; i < plan.count; ++i)
        if (replacement_->remembers(pages_.number_of(rank, plan.first + i * plan.step))) ++again;
    const Reuse reuse = 2 * again > plan.count ? Reuse::expected : Reuse::none;
    const DropUnsent drop{fetcher_};
    // Pages that lie in frames of their own are fetched together as lines.
    const bool several_in_message = 2 * page_bytes() <= Backend::most_bytes_of_runs;
    for (std::uint64_t i = 0; i < plan.count; ++i) {
        const std::uint64_t start = plan.first + i * plan.step;
        const std::uint64_t number = pages_.number_of(rank, start);
        Frame frame = pages_.find(number);
        if (frame == no_frame) {
            frame = take_frame(rank, start, keep, reuse);
            if (frame == no_frame) break;
        } else if (!freshen(frame) || pages_[frame].dirty != DirtyPages::none) { // others stay, and may join the block
            start_reading(rank, start, std::min(page_bytes(), backend_.part_bytes(rank) - start), keep);
            continue;
        } else if (several_in_message && !fetcher_.continues_block(frame) &&
                   (i + 1 == plan.count || pages_.find(number + 1) != frame + 1)) {
            fetcher_.add_to_group(frame, pages_.all_lines(frame));
            page_size_.read_ahead(1);
            continue;
        }
        fetcher_.add_to_block(frame);
    }
    fetcher_.send_block();
    fetcher_.send_group();
}

} // namespace lapwing::detail::cache
