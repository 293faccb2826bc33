// Reading through the cache, and ahead of what is read.
#include "cache/page_cache.hpp"

#include "cache/bits.hpp"

#include <algorithm>
#include <cstring>

namespace lapwing::cache {

void PageCache::get(int rank, std::uint64_t offset, std::span<std::byte> destination) {
    if (destination.size() > largest_cached_) return read_around(rank, offset, destination);
    const std::uint64_t within = offset & (page_bytes_ - 1);
    // Ask for all pages before waiting for the first.
    if (within + destination.size() > page_bytes_) prefetch(rank, offset, destination.size());
    while (!destination.empty()) {
        const std::size_t bytes =
            std::min<std::size_t>(page_bytes_ - (offset & (page_bytes_ - 1)), destination.size());
        read(rank, offset, destination.first(bytes));
        offset += bytes;
        destination = destination.subspan(bytes);
    }
}

void PageCache::read(int rank, std::uint64_t offset, std::span<std::byte> destination) {
    const std::uint64_t number = hot_pages_.page_of(rank, offset);
    if (bypass_.pass(number)) [[unlikely]]
        return read_around(rank, offset, destination);
    const std::uint64_t within = offset & (page_bytes_ - 1);
    const Lines lines = lines_of(within, destination.size());
    Frame frame = find(number);
    const bool known = frame != no_frame;
    const std::uint64_t again = known ? pages_to_read_again(frame) : 0;
    const bool stale = known && freshen(frame);
    bool hit = false;
    if (known) {
        hit = readable(frame, lines);
        if (!hit && written(frame, within, destination.size())) {
            // Without the hot-page table: its entries hold lines.
            std::memcpy(destination.data(), data(frame) + within, destination.size());
            statistics_.add(Counter::cache_hits);
            return;
        }
        if (hit && pages_[frame].unread) use_unread(frame, rank, offset);
        if (hit) finish_page(frame);
    }
    if (!hit) {
        const bool first = !known || stale; // since it came, or since the acquire
        ReadAhead::Plan plan =
            first ? ahead_.touched(rank, offset, backend_.part_bytes(rank),
                                   again != 0 ? ReadAhead::Found::stale : ReadAhead::Found::missing)
                  : ahead_.touched_again(rank, offset, backend_.part_bytes(rank));
        if (again > plan.count && (plan.count == 0 || plan.whole_pages))
            plan = ahead_.plan_again(offset - within + page_bytes_, again - 1);
        if (!known) frame = take_frame(rank, offset - within, no_frame);
        const Lines wanted = !first || again != 0 || plan.sequential ? all_lines(frame) : lines;
        if (plan.count == 0) {
            fetch(frame, wanted);
        } else {
            start_fetch(frame, wanted);
            read_ahead(plan, rank, frame);
        }
    }
    statistics_.add(hit ? Counter::cache_hits : Counter::cache_misses);
    ++slow_reads_;
    if (!hit) page_size_.missed();
    if (bypass_.judge(hit, hot_pages_.hits_)) collect_hits();
    finish_page(frame);
    replacement_->used(frame);
    std::memcpy(destination.data(), data(frame) + within, destination.size());
    enter_reads(frame);
}

void PageCache::use_unread(Frame frame, int rank, std::uint64_t offset) {
    Page& page = pages_[frame];
    page.unread = false;
    ahead_.used();
    statistics_.add(Counter::read_ahead_used);
    ReadAhead::Found found = ReadAhead::Found::here;
    if (page.operation != none && backend_.test(operations_[page.operation].token)) {
        operations_[page.operation].token = Backend::complete;
    } else if (page.operation != none) {
        statistics_.add(Counter::read_ahead_waited);
        found = ReadAhead::Found::under_way;
    }
    read_ahead(ahead_.touched(rank, offset, backend_.part_bytes(rank), found), rank, frame);
}

bool PageCache::was_read(Frame frame, std::uint64_t epoch) const noexcept {
    const Page& page = pages_[frame];
    return page.epoch == epoch && !page.unread && page.dirty == none && bits::all(valid(frame), 0, all_lines(frame).last);
}

bool PageCache::was_read(int rank, std::uint64_t offset) const noexcept {
    const Frame frame = find(hot_pages_.page_of(rank, offset));
    return frame != no_frame && was_read(frame, pages_[frame].epoch);
}

std::uint64_t PageCache::pages_to_read_again(Frame frame) const noexcept {
    const std::uint64_t epoch = pages_[frame].epoch;
    if (epoch == now()) return 0;
    const std::uint64_t most = ahead_.most_pages();
    std::uint64_t count = 0;
    for (std::uint64_t number = pages_[frame].number; count <= most && frame != no_frame && was_read(frame, epoch); ++count)
        frame = find(++number);
    return count;
}

bool PageCache::readable(Frame frame, Lines lines) noexcept {
    if (bits::all(valid(frame), lines.first, lines.last)) return true;
    if (pages_[frame].dirty == none) return false;
    const auto dirty = dirty_bits(pages_[frame].dirty);
    bool all = true;
    for (std::uint64_t line = lines.first; line < lines.last; ++line) {
        if (dirty[line] == ~std::uint64_t{0}) bits::set(valid(frame), line, line + 1);
        else all = all && bits::all(valid(frame), line, line + 1);
    }
    return all;
}

bool PageCache::written(Frame frame, std::uint64_t within, std::uint64_t bytes) const noexcept {
    const Index mask = pages_[frame].dirty;
    return mask != none && bits::all(dirty_bits(mask), within, within + bytes);
}

bool PageCache::any_dirty(Frame frame, std::uint64_t begin, std::uint64_t end) const noexcept {
    const Index mask = pages_[frame].dirty;
    return mask != none && bits::any(dirty_bits(mask), begin, end);
}

void PageCache::start_fetch(Frame frame, Lines lines) {
    const Page& page = pages_[frame];
    const std::uint64_t begin = lines.first * line_bytes;
    const std::uint64_t end = std::min(lines.last * line_bytes, page_end(page));
    if (any_dirty(frame, begin, end)) return fetch(frame, lines);
    leave_hot_pages(page.number); // the next use must see the operation
    if (page.dirty != none) leave_hot_writes(page.number);
    page_size_.fetched(end - begin);
    finish_page(frame); // a put under way from these bytes
    begin_operation(backend_.start_get(page.rank, page.start + begin, {data(frame) + begin, end - begin}), frame, 1, false);
    bits::set(valid(frame), lines.first, lines.last);
}

void PageCache::fetch(Frame frame, Lines lines) {
    const Page& page = pages_[frame];
    const std::uint64_t begin = lines.first * line_bytes;
    const std::uint64_t end = std::min(lines.last * line_bytes, page_end(page));
    write_early(page.rank, page.start, page_bytes_);
    finish_page(frame);
    page_size_.fetched(end - begin);
    if (!any_dirty(frame, begin, end)) {
        try {
            backend_.get(page.rank, page.start + begin, {data(frame) + begin, end - begin});
        } catch (...) { // bytes of lines that were valid may have been overwritten in part
            bits::clear(valid(frame), lines.first, lines.last);
            leave_hot_pages(page.number);
            throw;
        }
    } else {
        backend_.get(page.rank, page.start + begin, {scratch_.data() + begin, end - begin});
        const auto dirty = dirty_bits(page.dirty);
        std::byte* const bytes = data(frame);
        for (std::uint64_t at = begin; at < end; ++at)
            if ((dirty[at / 64] >> (at % 64) & 1U) == 0) bytes[at] = scratch_[at];
    }
    bits::set(valid(frame), lines.first, lines.last);
}

void PageCache::read_around(int rank, std::uint64_t offset, std::span<std::byte> destination) {
    statistics_.add(Counter::cache_passed);
    write_early(rank, offset, destination.size());
    backend_.get(rank, offset, destination);
    if (may_be_dirty()) overlay(rank, offset, destination);
}

void PageCache::overlay(int rank, std::uint64_t offset, std::span<std::byte> destination) const {
    for (Index mask = oldest_mask_; mask != none; mask = masks_[mask].after) {
        const Frame frame = masks_[mask].frame;
        const Page& page = pages_[frame];
        if (!meets(page, rank, offset, destination.size())) continue;
        bits::for_each_run(dirty_bits(mask), [&](std::uint64_t begin, std::uint64_t end) {
            const std::uint64_t from = std::max(page.start + begin, offset);
            const std::uint64_t to = std::min(page.start + end, offset + destination.size());
            if (from < to) std::memcpy(destination.data() + (from - offset), data(frame) + (from - page.start), to - from);
        });
    }
}

// ---- reading ahead --------------------------------------------------------------------------------------------------

void PageCache::prefetch(int rank, std::uint64_t offset, std::uint64_t bytes) {
    if (bytes > largest_cached_) return;
    while (bytes != 0) {
        const std::uint64_t here = std::min(page_bytes_ - (offset & (page_bytes_ - 1)), bytes);
        (void)start_reading(rank, offset, here, no_frame);
        offset += here;
        bytes -= here;
    }
}

Frame PageCache::start_reading(int rank, std::uint64_t offset, std::uint64_t bytes, Frame keep) {
    const std::uint64_t within = offset & (page_bytes_ - 1);
    Lines lines = lines_of(within, bytes);
    Frame frame = find(hot_pages_.page_of(rank, offset));
    if (frame == no_frame) {
        frame = take_frame(rank, offset - within, keep);
        if (frame == no_frame) return no_frame;
    } else {
        // As in read(): a page of which something has been read in this epoch, or all in an earlier one, comes as a whole.
        bool whole = was_read(frame, pages_[frame].epoch);
        if (!freshen(frame)) whole = bits::any(valid(frame), 0, all_lines(frame).last);
        if (pages_[frame].operation != none || pages_[frame].dirty != none || readable(frame, lines)) return no_frame;
        if (whole) lines = all_lines(frame);
    }
    start_fetch(frame, lines);
    pages_[frame].unread = true;
    statistics_.add(Counter::read_ahead_issued);
    return frame;
}

void PageCache::read_ahead(const ReadAhead::Plan& plan, int rank, Frame keep) {
    if (plan.count == 0) return;
    if (plan.whole_pages) return read_pages_ahead(plan, rank, keep);
    for (std::uint64_t i = 0; i < plan.count; ++i) {
        const std::uint64_t offset = plan.first + i * plan.step;
        if (plan.again && !was_read(rank, offset)) return;
        const std::uint64_t part = backend_.part_bytes(rank);
        // As much as a value has, which may reach into the next line.
        const std::uint64_t bytes = std::min({std::uint64_t{8}, part - offset, page_bytes_ - (offset & (page_bytes_ - 1))});
        (void)start_reading(rank, offset, bytes, keep);
    }
}

void PageCache::read_pages_ahead(const ReadAhead::Plan& plan, int rank, Frame keep) {
    // All of them in one place, or they could not be read in one message.
    std::uint64_t again = 0;
    for (std::uint64_t i = 0; i < plan.count; ++i)
        if (replacement_->remembers(hot_pages_.page_of(rank, plan.first + i * plan.step))) ++again;
    const Reuse reuse = 2 * again > plan.count ? Reuse::expected : Reuse::none;
    // After an error nobody sends the rest of the block, whose frames may then get other pages.
    struct DropBlock {
        Block& block;
        ~DropBlock() { block = {}; }
    } const drop{block_};
    for (std::uint64_t i = 0; i < plan.count; ++i) {
        const std::uint64_t start = plan.first + i * plan.step;
        Frame frame = find(hot_pages_.page_of(rank, start));
        if (frame == no_frame) {
            frame = take_frame(rank, start, keep, reuse);
            if (frame == no_frame) break;
        } else if (!freshen(frame) || pages_[frame].dirty != none) { // else it keeps its place, and may join the block
            send_block();
            (void)start_reading(rank, start, std::min(page_bytes_, backend_.part_bytes(rank) - start), keep);
            continue;
        }
        const Page& page = pages_[frame];
        if (block_.count != 0 && (frame != block_.first + block_.count || pages_[frame - 1].number + 1 != page.number)) send_block();
        if (block_.count == 0) block_.first = frame;
        ++block_.count;
    }
    send_block();
}

void PageCache::send_block() {
    if (block_.count == 0) return;
    const Block block = block_;
    block_ = {};
    const Page& first = pages_[block.first];
    const std::uint64_t bytes = std::min(block.count * page_bytes_, backend_.part_bytes(first.rank) - first.start);
    page_size_.fetched(bytes);
    page_size_.read_ahead(block.count);
    begin_operation(backend_.start_get(first.rank, first.start, {data(block.first), bytes}), block.first, block.count,
                    false);
    // Only now: a page is not readable because it was going to be asked for.
    for (Frame frame = block.first; frame < block.first + block.count; ++frame) {
        pages_[frame].unread = true;
        bits::set(valid(frame), 0, all_lines(frame).last);
        leave_hot_pages(pages_[frame].number);
        statistics_.add(Counter::read_ahead_issued);
    }
}

} // namespace lapwing::cache
