#include "cache/fetcher.hpp"

#include "cache/bits.hpp"
#include "src/support/assert.hpp"

#include <algorithm>
#include <span>

namespace lapwing::detail::cache {

Fetcher::Fetcher(const PageCacheConfiguration& configuration, Backend& backend, CachedPages& pages,
                 OperationsUnderWay& under_way, WriteBehind& write_behind, PageSize& page_size,
                 support::Statistics& statistics)
    : backend_{backend},
      pages_{pages},
      under_way_{under_way},
      write_behind_{write_behind},
      page_size_{page_size},
      statistics_{statistics} {
    scratch_.reserve(largest_page_bytes(configuration));
    group_.reserve(most_members);
    runs_.reserve(most_members);
    frames_.reserve(most_members);
}

void Fetcher::start(Frame frame, Lines lines) {
    const Page& page = pages_[frame];
    const std::uint64_t begin = lines.first * line_bytes;
    const std::uint64_t end = end_of(page, lines);
    if (pages_.dirty().any(page.dirty, begin, end)) return fetch(frame, lines);
    pages_.page_table().leave_reads(page.number); // the next use must see the operation
    if (page.dirty != DirtyPages::none) pages_.page_table().leave_writes(page.number);
    page_size_.fetched(end - begin);
    under_way_.finish(page); // a put in flight from these bytes
    const std::span<std::byte> destination{pages_.data(frame) + begin, end - begin};
    under_way_.begin_get(backend_.start_get(page.rank, page.start + begin, destination), frame, 1);
    pages_.make_valid(frame, lines);
}

void Fetcher::fetch(Frame frame, Lines lines) {
    const Page& page = pages_[frame];
    const std::uint64_t begin = lines.first * line_bytes;
    const std::uint64_t end = end_of(page, lines);
    write_behind_.write_early(page.rank, page.start, pages_.page_bytes());
    under_way_.finish(page);
    page_size_.fetched(end - begin);
    std::byte* const bytes = pages_.data(frame);
    if (!pages_.dirty().any(page.dirty, begin, end)) {
        try {
            backend_.get(page.rank, page.start + begin, {bytes + begin, end - begin});
        } catch (...) { // bytes of valid lines may have been partly overwritten
            pages_.invalidate(frame, lines);
            throw;
        }
    } else {
        backend_.get(page.rank, page.start + begin, {scratch_.data() + begin, end - begin});
        const auto dirty = pages_.dirty().bits(page.dirty);
        for (std::uint64_t at = begin; at < end; ++at)
            if ((dirty[at / 64] >> (at % 64) & 1U) == 0) bytes[at] = scratch_[at];
    }
    pages_.make_valid(frame, lines);
}

void Fetcher::add_to_block(Frame frame) {
    if (!continues_block(frame)) send_block();
    if (block_.count == 0) block_.first = frame;
    ++block_.count;
}

void Fetcher::send_block() {
    if (block_.count == 0) return;
    const Block block = block_;
    block_ = {};
    const Page& first = pages_[block.first];
    const std::uint64_t bytes =
        std::min(block.count * pages_.page_bytes(), backend_.part_bytes(first.rank) - first.start);
    page_size_.fetched(bytes);
    page_size_.read_ahead(block.count);
    const std::span<std::byte> destination{pages_.data(block.first), bytes};
    under_way_.begin_get(backend_.start_get(first.rank, first.start, destination), block.first, block.count);
    // Only now: planning a read does not make a page readable.
    for (Frame frame = block.first; frame < block.first + block.count; ++frame) {
        pages_[frame].unread = true;
        pages_.make_valid(frame, pages_.all_lines(frame));
        pages_.page_table().leave_reads(pages_[frame].number);
        statistics_.add(Counter::read_ahead_issued);
    }
}

void Fetcher::begin_member(Frame frame, std::uint64_t ranges, std::uint64_t bytes) {
    if (group_.size() + ranges > most_members || group_bytes_ + bytes > Backend::most_bytes_of_runs) send_group();
    Page& page = pages_[frame];
    LAPWING_ASSERT(page.dirty == DirtyPages::none && page.operation == no_operation && !page.in_group);
    LAPWING_ASSERT(group_.empty() || pages_[group_.front().frame].rank == page.rank);
    page.in_group = true;
    group_bytes_ += bytes;
}

void Fetcher::add_to_group(Frame frame, Lines lines) {
    begin_member(frame, 1, end_of(pages_[frame], lines) - lines.first * line_bytes);
    group_.push_back({frame, lines});
}

void Fetcher::add_to_group(Frame frame, std::uint64_t lines) {
    std::uint64_t ranges = 0;
    std::uint64_t bytes = 0;
    const std::span<const std::uint64_t> mask{&lines, 1};
    bits::for_each_run(mask, [&](std::uint64_t begin, std::uint64_t end) {
        ++ranges;
        bytes += end_of(pages_[frame], {begin, end}) - begin * line_bytes;
    });
    begin_member(frame, ranges, bytes);
    bits::for_each_run(mask, [&](std::uint64_t begin, std::uint64_t end) { group_.push_back({frame, {begin, end}}); });
}

void Fetcher::send_group() {
    if (group_.empty()) return;
    // Whatever happens, the group is over.
    struct DropGroup {
        Fetcher& fetcher;
        ~DropGroup() { fetcher.drop_group(); }
    } const drop{*this};
    runs_.clear();
    frames_.clear();
    for (const Member& member : group_) {
        const Page& page = pages_[member.frame];
        const std::uint64_t begin = member.lines.first * line_bytes;
        const std::uint64_t bytes = end_of(page, member.lines) - begin;
        const Offset offset = page.start + begin;
        std::byte* const destination = pages_.data(member.frame) + begin;
        const auto continues = [&](const WantedRun& run) {
            return run.offset.bytes + run.bytes == offset.bytes && run.destination + run.bytes == destination;
        };
        if (!runs_.empty() && continues(runs_.back())) runs_.back().bytes += bytes;
        else runs_.push_back({offset, destination, bytes});
        if (frames_.empty() || frames_.back() != member.frame) frames_.push_back(member.frame);
    }
    const Rank rank = pages_[frames_.front()].rank;
    page_size_.fetched(group_bytes_);
    const WantedRun& first = runs_.front();
    under_way_.begin_get(runs_.size() == 1 ? backend_.start_get(rank, first.offset, {first.destination, first.bytes})
                                           : backend_.start_get_runs(rank, runs_),
                         frames_);
    // Only now: planning a read does not make a line readable.
    for (const Member& member : group_) pages_.make_valid(member.frame, member.lines);
    for (const Frame frame : frames_) {
        pages_[frame].unread = true;
        pages_.page_table().leave_reads(pages_[frame].number);
        statistics_.add(Counter::read_ahead_issued);
    }
}

void Fetcher::drop_group() noexcept {
    for (const Member& member : group_) {
        Page& page = pages_[member.frame];
        page.in_group = false;
        page.listed = page.listed && page.unread; // it was not asked for
    }
    group_.clear();
    group_bytes_ = 0;
}

} // namespace lapwing::detail::cache
