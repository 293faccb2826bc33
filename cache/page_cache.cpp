#include "cache/page_cache.hpp"

#include "cache/bits.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace lapwing::cache {
namespace {

constexpr std::size_t most_operations = 128;
/// Runs from this size leave straight from the cache's memory; smaller ones are copied into messages.
constexpr std::uint64_t least_run_from_memory = 1024;
constexpr std::size_t most_runs = 256; ///< in one message
constexpr std::size_t page_alignment = 4096;

/// What the page size may be adapted to.
constexpr std::uint64_t least_pages_to_adapt = 64;
[[nodiscard]] std::uint64_t least_page_bytes(const PageCacheConfiguration& configuration) {
    return configuration.adapt ? std::max<std::uint64_t>(configuration.page_bytes / 2, 64) : configuration.page_bytes;
}
[[nodiscard]] std::uint64_t largest_page_bytes(const PageCacheConfiguration& configuration) {
    std::uint64_t bytes = configuration.page_bytes;
    while (configuration.adapt && bytes < 8 * configuration.page_bytes && bytes < 65536 &&
           configuration.bytes / (2 * bytes) >= least_pages_to_adapt)
        bytes *= 2;
    return bytes;
}

} // namespace

void PageCache::FreeAligned::operator()(std::byte* memory) const noexcept {
    ::operator delete[](memory, std::align_val_t{page_alignment});
}

/// Collects the dirty runs of pages into as few puts as it can.
class PageCache::Writer {
public:
    explicit Writer(PageCache& cache) noexcept : cache_{cache} {}

    /// Pages in the order of their numbers give the longest runs.
    void add(Frame frame) {
        const Page& page = cache_.pages_[frame];
        const std::span<const std::uint64_t> bits = std::as_const(cache_).dirty_bits(page.dirty);
        int runs = 0;
        bits::for_each_run(bits, [&](std::uint64_t, std::uint64_t) { ++runs; });
        bits::for_each_run(bits, [&](std::uint64_t begin, std::uint64_t end) {
            const std::byte* const source = cache_.data(frame) + begin;
            const std::uint64_t offset = page.start + begin;
            // Only one operation at a time uses a frame: a page with several runs has them copied.
            if (open_.bytes != 0 && runs == 1 && rank_ == page.rank && open_.offset + open_.bytes == offset &&
                open_.source + open_.bytes == source) {
                open_.bytes += end - begin;
                ++frames_;
                return;
            }
            send();
            open_ = {offset, source, end - begin};
            rank_ = page.rank;
            first_ = frame;
            frames_ = runs == 1 ? 1 : 0;
            if (runs != 1) send();
        });
    }
    void finish() {
        send();
        send_small();
    }

private:
    void send() {
        if (open_.bytes == 0) return;
        cache_.statistics_.add(Counter::cache_write_backs, Counter::cache_write_back_bytes, open_.bytes);
        if (frames_ != 0 && open_.bytes >= least_run_from_memory) {
            cache_.begin_operation(cache_.backend_.start_put(rank_, open_.offset, {open_.source, open_.bytes}), first_, frames_,
                                   true);
        } else {
            if (!cache_.runs_.empty() && (small_rank_ != rank_ || cache_.runs_.size() == most_runs)) send_small();
            small_rank_ = rank_;
            cache_.runs_.push_back(open_);
        }
        open_.bytes = 0;
    }
    void send_small() {
        if (cache_.runs_.empty()) return;
        cache_.backend_.put_runs(small_rank_, cache_.runs_);
        cache_.runs_.clear();
    }

    PageCache& cache_;
    Run open_;
    int rank_ = 0;
    int small_rank_ = 0;
    Frame first_ = 0;
    Frame frames_ = 0; ///< of the open run; 0: it must be copied
};

// ---- memory ---------------------------------------------------------------------------------------------------------

PageCache::PageCache(const PageCacheConfiguration& configuration, Backend& backend,
                     const std::atomic<std::uint64_t>& epoch, support::Statistics& statistics)
    : configuration_{configuration}, backend_{backend}, epoch_{epoch}, statistics_{statistics},
      operations_(most_operations), ahead_{configuration.page_bytes, 0}, benefit_{configuration.adapt},
      page_size_{configuration.page_bytes, least_page_bytes(configuration), largest_page_bytes(configuration)} {
    memory_.reset(static_cast<std::byte*>(::operator new[](configuration.bytes, std::align_val_t{page_alignment})));
    runs_.reserve(most_runs);
    front_.epoch_ = &epoch_;
    front_.alone_ = configuration.alone;
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
    page_bytes_ = page_bytes;
    frames_ = static_cast<Frame>(configuration_.bytes / page_bytes);
    largest_cached_ = std::max(page_bytes, std::min(8 * page_bytes, configuration_.bytes / 8));
    valid_words_ = (page_bytes / line_bytes + 63) / 64;
    mask_words_ = page_bytes / 64;
    pages_.assign(frames_, {});
    valid_.assign(frames_ * valid_words_, 0);
    buckets_.assign(std::bit_ceil<std::size_t>(frames_), no_frame);
    const auto masks = static_cast<Index>(std::min<std::uint64_t>(configuration_.dirty_pages, frames_));
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
    replacement_ = configuration_.policy == CachePolicy::two_queues ? make_two_queues(frames_, *this)
                                                                    : make_direct_mapped(frames_, configuration_.ranks);
    // Half of the ring at most is under way, or pages would leave before they are read.
    ahead_ = ReadAhead{page_bytes, std::min<std::uint64_t>(configuration_.read_ahead_bytes / page_bytes, frames_ / 4)};

    reads_.assign(std::clamp<std::size_t>(std::bit_ceil<std::size_t>(frames_), 64, 4096), {});
    writes_.assign(std::clamp<std::size_t>(std::bit_ceil<std::size_t>(masks), 16, 512), {});
    front_.page_bytes_ = page_bytes;
    front_.page_shift_ = static_cast<unsigned>(std::countr_zero(page_bytes));
    front_.granule_shift_ = std::max(6U, front_.page_shift_ - std::min(front_.page_shift_, 6U));
    front_.rank_stride_ = (configuration_.largest_part >> front_.page_shift_) + 2; // no page follows the last of a rank
    front_.reads_ = reads_.data();
    front_.read_mask_ = reads_.size() - 1;
    front_.writes_ = writes_.data();
    front_.write_mask_ = writes_.size() - 1;
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

Frame PageCache::take_frame(int rank, std::uint64_t page_start, Frame keep) {
    const std::uint64_t number = front_.page_of(rank, page_start);
    const Frame frame = replacement_->frame_for(number, rank, keep);
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
    if (page.unread) {
        ahead_.wasted();
        statistics_.add(Counter::read_ahead_wasted);
        page.unread = false;
    }
    if (page.dirty != none) clean_with_neighbours(frame);
    finish_page(frame);
    leave_front(page.number);
    Frame* link = &buckets_[bucket(page.number)];
    while (*link != frame) link = &pages_[*link].next;
    *link = page.next;
    replacement_->left(page.number, frame);
    page.number = no_page;
    std::ranges::fill(valid(frame), 0);
    statistics_.add(Counter::cache_evictions);
}

void PageCache::freshen(Frame frame) {
    Page& page = pages_[frame];
    const std::uint64_t epoch = now();
    if (page.epoch == epoch) return;
    finish_page(frame);
    if (page.unread) {
        ahead_.wasted();
        statistics_.add(Counter::read_ahead_wasted);
        page.unread = false;
    }
    std::ranges::fill(valid(frame), 0);
    page.epoch = epoch;
}

void PageCache::adapt_page_size() {
    const std::uint64_t bytes = page_size_.choose(slow_reads_ + front_.hits_);
    if (bytes == page_bytes_) return;
    finish_all();
    lay_out(bytes);
    statistics_.add(Counter::cache_page_changes);
}

// ---- the front ------------------------------------------------------------------------------------------------------

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
    reads_[page.number & front_.read_mask_] = {page.number, page.epoch, data(frame), granules};
}

void PageCache::enter_writes(Frame frame) noexcept {
    const Page& page = pages_[frame];
    writes_[page.number & front_.write_mask_] = {page.number, data(frame),
                                                 reinterpret_cast<std::uint8_t*>(dirty_bits(page.dirty).data())};
}

void PageCache::leave_front(std::uint64_t number) noexcept {
    Front::ReadEntry& entry = reads_[number & front_.read_mask_];
    if (entry.page == number) entry.page = no_page;
}

bool PageCache::take(Frame frame) noexcept {
    const Page& page = pages_[frame];
    Front::ReadEntry& entry = reads_[page.number & front_.read_mask_];
    if (entry.page != page.number || entry.epoch != now()) return false;
    entry.page = no_page;
    return true;
}

void PageCache::collect_hits() noexcept {
    statistics_.add(Counter::cache_hits, front_.hits_ - collected_hits_);
    collected_hits_ = front_.hits_;
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
        for (Frame frame = done.first; frame < done.first + done.count; ++frame) std::ranges::fill(valid(frame), 0);
        throw;
    }
}

void PageCache::abandon() noexcept {
    for (Operation& operation : operations_) operation = {};
}

void PageCache::finish_all() {
    for (Index index = 0; index < operations_.size(); ++index)
        if (operations_[index].count != 0) finish(index);
}

void PageCache::finish_puts() {
    for (Index index = 0; index < operations_.size(); ++index)
        if (operations_[index].count != 0 && operations_[index].put) finish(index);
}

// ---- reading --------------------------------------------------------------------------------------------------------

void PageCache::get(int rank, std::uint64_t offset, std::span<std::byte> destination) {
    if (destination.size() > largest_cached_) return read_around(rank, offset, destination);
    const std::uint64_t within = offset & (page_bytes_ - 1);
    if (within + destination.size() > page_bytes_) {
        // Ask for all pages before waiting for the first.
        for (std::uint64_t at = 0; at < destination.size();) {
            const std::uint64_t bytes = std::min(page_bytes_ - ((offset + at) & (page_bytes_ - 1)), destination.size() - at);
            (void)start_reading(rank, offset + at, bytes, no_frame);
            at += bytes;
        }
    }
    while (!destination.empty()) {
        const std::size_t bytes =
            std::min<std::size_t>(page_bytes_ - (offset & (page_bytes_ - 1)), destination.size());
        read(rank, offset, destination.first(bytes));
        offset += bytes;
        destination = destination.subspan(bytes);
    }
}

void PageCache::read(int rank, std::uint64_t offset, std::span<std::byte> destination) {
    const std::uint64_t number = front_.page_of(rank, offset);
    if (benefit_.pass(number)) [[unlikely]] {
        statistics_.add(Counter::cache_passed);
        backend_.get(rank, offset, destination);
        if (may_be_dirty()) overlay(rank, offset, destination);
        return;
    }
    const std::uint64_t within = offset & (page_bytes_ - 1);
    const Lines lines = lines_of(within, destination.size());
    Frame frame = find(number);
    bool hit = false;
    if (frame != no_frame) {
        freshen(frame);
        Page& page = pages_[frame];
        hit = readable(frame, lines);
        if (!hit && written(frame, within, destination.size())) {
            // Without the front: its entries hold lines.
            std::memcpy(destination.data(), data(frame) + within, destination.size());
            statistics_.add(Counter::cache_hits);
            return;
        }
        if (hit && page.unread) {
            page.unread = false;
            ahead_.used();
            statistics_.add(Counter::read_ahead_used);
            read_ahead(ahead_.touched(rank, offset, backend_.part_bytes(rank), false), rank, frame);
            if (page.operation != none && !backend_.test(operations_[page.operation].token)) {
                statistics_.add(Counter::read_ahead_waited);
            } else if (page.operation != none) {
                operations_[page.operation].token = Backend::complete;
            }
        }
        if (hit) finish_page(frame);
        else fetch(frame, all_lines(frame)); // the second miss in a page: all of it
    } else {
        const ReadAhead::Plan plan = ahead_.touched(rank, offset, backend_.part_bytes(rank), true);
        frame = take_frame(rank, offset - within, no_frame);
        if (plan.count == 0) {
            fetch(frame, plan.sequential ? all_lines(frame) : lines);
        } else {
            start_fetch(frame, plan.sequential ? all_lines(frame) : lines);
            read_ahead(plan, rank, frame);
        }
    }
    statistics_.add(hit ? Counter::cache_hits : Counter::cache_misses);
    ++slow_reads_;
    if (!hit) page_size_.missed();
    if (benefit_.judge(hit, front_.hits_)) collect_hits();
    finish_page(frame);
    replacement_->used(frame);
    std::memcpy(destination.data(), data(frame) + within, destination.size());
    enter_reads(frame);
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
    page_size_.fetched(end - begin);
    finish_page(frame); // a put under way from these bytes
    begin_operation(backend_.start_get(page.rank, page.start + begin, {data(frame) + begin, end - begin}), frame, 1, false);
    bits::set(valid(frame), lines.first, lines.last);
}

void PageCache::fetch(Frame frame, Lines lines) {
    finish_page(frame);
    const Page& page = pages_[frame];
    const std::uint64_t begin = lines.first * line_bytes;
    const std::uint64_t end = std::min(lines.last * line_bytes, page_end(page));
    page_size_.fetched(end - begin);
    if (!any_dirty(frame, begin, end)) {
        backend_.get(page.rank, page.start + begin, {data(frame) + begin, end - begin});
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
    backend_.get(rank, offset, destination);
    if (may_be_dirty()) overlay(rank, offset, destination);
}

void PageCache::overlay(int rank, std::uint64_t offset, std::span<std::byte> destination) const {
    for (Index mask = oldest_mask_; mask != none; mask = masks_[mask].after) {
        const Frame frame = masks_[mask].frame;
        const Page& page = pages_[frame];
        if (page.rank != rank || page.start + page_bytes_ <= offset || offset + destination.size() <= page.start) continue;
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
        const std::uint64_t piece = std::min(page_bytes_ - (offset & (page_bytes_ - 1)), bytes);
        (void)start_reading(rank, offset, piece, no_frame);
        offset += piece;
        bytes -= piece;
    }
}

Frame PageCache::start_reading(int rank, std::uint64_t offset, std::uint64_t bytes, Frame keep) {
    const std::uint64_t within = offset & (page_bytes_ - 1);
    const Lines lines = lines_of(within, bytes);
    Frame frame = find(front_.page_of(rank, offset));
    if (frame == no_frame) {
        frame = take_frame(rank, offset - within, keep);
        if (frame == no_frame) return no_frame;
    } else {
        freshen(frame);
        if (pages_[frame].operation != none || pages_[frame].dirty != none || readable(frame, lines)) return no_frame;
    }
    start_fetch(frame, lines);
    leave_front(pages_[frame].number); // the next use must see the operation
    pages_[frame].unread = true;
    statistics_.add(Counter::read_ahead_issued);
    return frame;
}

void PageCache::read_ahead(const ReadAhead::Plan& plan, int rank, Frame keep) {
    if (plan.count == 0) return;
    if (plan.whole_pages) return read_pages_ahead(plan, rank, keep);
    for (std::uint64_t i = 0; i < plan.count; ++i) {
        const std::uint64_t offset = plan.first + i * plan.step;
        const std::uint64_t part = backend_.part_bytes(rank);
        // As much as a value has, which may reach into the next line.
        const std::uint64_t bytes = std::min({std::uint64_t{8}, part - offset, page_bytes_ - (offset & (page_bytes_ - 1))});
        (void)start_reading(rank, offset, bytes, keep);
    }
}

void PageCache::read_pages_ahead(const ReadAhead::Plan& plan, int rank, Frame keep) {
    for (std::uint64_t i = 0; i < plan.count; ++i) {
        const std::uint64_t start = plan.first + i * plan.step;
        if (find(front_.page_of(rank, start)) != no_frame) {
            send_block();
            (void)start_reading(rank, start, std::min(page_bytes_, backend_.part_bytes(rank) - start), keep);
            continue;
        }
        const Frame frame = take_frame(rank, start, keep);
        if (frame == no_frame) break;
        Page& page = pages_[frame];
        page.unread = true;
        bits::set(valid(frame), 0, all_lines(frame).last);
        statistics_.add(Counter::read_ahead_issued);
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
    begin_operation(backend_.start_get(first.rank, first.start, {data(block.first), bytes}), block.first, block.count,
                    false);
}

// ---- writing --------------------------------------------------------------------------------------------------------

void PageCache::put(int rank, std::uint64_t offset, std::span<const std::byte> source) {
    if (source.size() > largest_cached_) {
        forget(rank, offset, source.size());
        backend_.put(rank, offset, source);
        return;
    }
    while (!source.empty()) {
        const std::size_t bytes = std::min<std::size_t>(page_bytes_ - (offset & (page_bytes_ - 1)), source.size());
        write(rank, offset, source.first(bytes));
        offset += bytes;
        source = source.subspan(bytes);
    }
}

void PageCache::write(int rank, std::uint64_t offset, std::span<const std::byte> source) {
    const std::uint64_t within = offset & (page_bytes_ - 1);
    Frame frame = find(front_.page_of(rank, offset));
    if (frame == no_frame) {
        frame = take_frame(rank, offset - within, no_frame);
    } else {
        freshen(frame);
        finish_page(frame); // a get would overwrite the bytes, a put may still be reading them
        replacement_->used(frame);
    }
    if (pages_[frame].dirty == none) attach_mask(frame);
    std::memcpy(data(frame) + within, source.data(), source.size());
    bits::set(dirty_bits(pages_[frame].dirty), within, within + source.size());
    enter_writes(frame);
}

void PageCache::attach_mask(Frame frame) {
    if (free_mask_ == none) clean_older_half();
    const Index mask = free_mask_;
    free_mask_ = masks_[mask].after;
    masks_[mask] = {frame, newest_mask_, none};
    if (newest_mask_ != none) masks_[newest_mask_].after = mask;
    else oldest_mask_ = mask;
    newest_mask_ = mask;
    pages_[frame].dirty = mask;
    dirty_count_.fetch_add(1, std::memory_order_release);
}

void PageCache::detach_mask(Frame frame) {
    Page& page = pages_[frame];
    const Index mask = page.dirty;
    // Bytes of lines that were written as a whole stay known.
    if (page.epoch == now()) (void)readable(frame, {0, page_bytes_ / line_bytes});
    std::ranges::fill(dirty_bits(mask), 0);
    Front::WriteEntry& entry = writes_[page.number & front_.write_mask_];
    if (entry.page == page.number) entry.page = no_page;
    const Mask links = masks_[mask];
    (links.before != none ? masks_[links.before].after : oldest_mask_) = links.after;
    (links.after != none ? masks_[links.after].before : newest_mask_) = links.before;
    masks_[mask] = {no_frame, none, free_mask_};
    free_mask_ = mask;
    page.dirty = none;
    dirty_count_.fetch_sub(1, std::memory_order_release);
}

void PageCache::clean_with_neighbours(Frame frame) {
    to_clean_.clear();
    for (std::uint64_t number = pages_[frame].number;
         frame < frames_ && pages_[frame].number == number && pages_[frame].dirty != none; ++frame, ++number) {
        to_clean_.push_back(frame);
        // A page that is not written to its end ends the run.
        if (bits::all(dirty_bits(pages_[frame].dirty), page_bytes_ - 1, page_bytes_)) continue;
        break;
    }
    clean(to_clean_);
}

void PageCache::clean_older_half() {
    to_clean_.clear();
    const std::size_t half = (masks_.size() + 1) / 2;
    for (Index mask = oldest_mask_; to_clean_.size() < half; mask = masks_[mask].after) to_clean_.push_back(masks_[mask].frame);
    std::ranges::sort(to_clean_, {}, [this](Frame frame) { return pages_[frame].number; });
    clean(to_clean_);
}

void PageCache::clean(std::span<const Frame> frames) {
    for (const Frame frame : frames) finish_page(frame);
    Writer writer{*this};
    for (const Frame frame : frames) writer.add(frame);
    writer.finish();
    for (const Frame frame : frames) detach_mask(frame);
}

// ---- synchronisation ------------------------------------------------------------------------------------------------

void PageCache::release() {
    collect_hits();
    if (oldest_mask_ != none) {
        to_clean_.clear();
        for (Index mask = oldest_mask_; mask != none; mask = masks_[mask].after) to_clean_.push_back(masks_[mask].frame);
        std::ranges::sort(to_clean_, {}, [this](Frame frame) { return pages_[frame].number; });
        clean(to_clean_);
    }
    finish_puts();
    if (configuration_.adapt) adapt_page_size();
}

void PageCache::release(int rank) {
    collect_hits();
    to_clean_.clear();
    for (Index mask = oldest_mask_; mask != none; mask = masks_[mask].after)
        if (pages_[masks_[mask].frame].rank == rank) to_clean_.push_back(masks_[mask].frame);
    std::ranges::sort(to_clean_, {}, [this](Frame frame) { return pages_[frame].number; });
    clean(to_clean_);
    finish_puts();
}

void PageCache::write_back(int rank, std::uint64_t offset, std::uint64_t bytes) {
    to_clean_.clear();
    for (Index mask = oldest_mask_; mask != none; mask = masks_[mask].after) {
        const Page& page = pages_[masks_[mask].frame];
        if (page.rank != rank || page.start + page_bytes_ <= offset || offset + bytes <= page.start) continue;
        const std::uint64_t begin = std::max(offset, page.start) - page.start;
        const std::uint64_t end = std::min(offset + bytes, page.start + page_bytes_) - page.start;
        if (bits::any(dirty_bits(mask), begin, end)) to_clean_.push_back(masks_[mask].frame);
    }
    clean(to_clean_);
}

void PageCache::forget(int rank, std::uint64_t offset, std::uint64_t bytes) {
    const auto forget_page = [&](Frame frame) {
        Page& page = pages_[frame];
        finish_page(frame);
        const std::uint64_t begin = std::max(offset, page.start) - page.start;
        const std::uint64_t end = std::min(offset + bytes, page.start + page_bytes_) - page.start;
        const Lines lines = lines_of(begin, end - begin);
        if (page.dirty != none) {
            if (page.epoch == now()) (void)readable(frame, {0, page_bytes_ / line_bytes});
            bits::clear(dirty_bits(page.dirty), begin, end);
        }
        bits::clear(valid(frame), lines.first, lines.last);
        leave_front(page.number);
    };
    if (bytes / page_bytes_ > frames_) {
        for (Frame frame = 0; frame < frames_; ++frame) {
            const Page& page = pages_[frame];
            if (page.number != no_page && page.rank == rank && page.start < offset + bytes && offset < page.start + page_bytes_)
                forget_page(frame);
        }
        return;
    }
    for (std::uint64_t start = offset & ~(page_bytes_ - 1); start < offset + bytes; start += page_bytes_)
        if (const Frame frame = find(front_.page_of(rank, start)); frame != no_frame) forget_page(frame);
}

void PageCache::write_back_for_another_thread() {
    std::vector<std::byte> copies;
    for (Index mask = oldest_mask_; mask != none; mask = masks_[mask].after) {
        const Page& page = pages_[masks_[mask].frame];
        auto* const bits = reinterpret_cast<std::uint8_t*>(dirty_bits(mask).data());
        std::byte* const bytes = data(masks_[mask].frame);
        copies.resize(page_bytes_);
        std::uint64_t begin = 0;
        std::uint64_t end = 0; // of the run that is being copied
        const auto send = [&] {
            if (begin == end) return;
            backend_.put(page.rank, page.start + begin, {copies.data() + begin, end - begin});
            statistics_.add(Counter::cache_write_backs, Counter::cache_write_back_bytes, end - begin);
        };
        for (std::uint64_t group = 0; group < page_bytes_ / 8; ++group) {
            std::atomic_ref<std::uint8_t> cell{bits[group]};
            if (cell.load(std::memory_order_relaxed) == 0) continue;
            // The owner stores the bytes, then the bits; acquire so that the bytes of these bits are seen.
            const unsigned taken = cell.exchange(0, std::memory_order_acquire);
            for (unsigned bit = 0; bit < 8; ++bit) {
                if ((taken >> bit & 1U) == 0) continue;
                const std::uint64_t at = group * 8 + bit;
                if (at != end) {
                    send();
                    begin = end = at;
                }
                copies[at] = std::atomic_ref<std::byte>{bytes[at]}.load(std::memory_order_relaxed);
                ++end;
            }
        }
        send();
    }
}

} // namespace lapwing::cache
