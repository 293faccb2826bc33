// Writing behind, and what release and write-back send.
#include "cache/page_cache.hpp"

#include "cache/bits.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lapwing::cache {
namespace {

/// Runs from this size leave straight from the cache's memory, in an operation of their own; smaller ones are copied into
/// messages with others, which costs less than a hundred operations would.
constexpr std::uint64_t least_run_from_memory = 4097;

} // namespace

/// Collects the dirty runs of pages into as few puts as it can.
class PageCache::Writer {
public:
    explicit Writer(PageCache& cache) noexcept : cache_{cache} {
        cache_.runs_.clear(); // those of a writer before that ended by an exception: their pages are still dirty
    }

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
    DirtyRun open_;
    int rank_ = 0;
    int small_rank_ = 0;
    Frame first_ = 0;
    Frame frames_ = 0; ///< of the open run; 0: it must be copied
};

// ---- writing --------------------------------------------------------------------------------------------------------

void PageCache::put(int rank, std::uint64_t offset, std::span<const std::byte> source) {
    if (source.size() > largest_cached_) {
        invalidate(rank, offset, source.size());
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
    Frame frame = find(hot_pages_.page_of(rank, offset));
    if (frame == no_frame) {
        // Beside the page before it, if that only passes through: they then leave in one message.
        const Frame before = find(hot_pages_.page_of(rank, offset) - 1);
        const bool passes = before != no_frame && replacement_->passing(before);
        frame = take_frame(rank, offset - within, no_frame, passes ? Reuse::none : Reuse::remembered);
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
    ++written_pages_;
}

void PageCache::detach_mask(Frame frame) {
    Page& page = pages_[frame];
    const Index mask = page.dirty;
    // Bytes of lines that were written as a whole stay known.
    if (page.epoch == now()) (void)readable(frame, {0, page_bytes_ / line_bytes});
    std::ranges::fill(dirty_bits(mask), 0);
    leave_hot_writes(page.number);
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

template <class Wanted>
void PageCache::clean_if(Wanted&& wanted) {
    to_clean_.clear();
    for (Index mask = oldest_mask_; mask != none; mask = masks_[mask].after)
        if (wanted(mask, pages_[masks_[mask].frame])) to_clean_.push_back(masks_[mask].frame);
    std::ranges::sort(to_clean_, {}, [this](Frame frame) { return pages_[frame].number; });
    clean(to_clean_);
}

void PageCache::clean(std::span<const Frame> frames) {
    for (const Frame frame : frames) finish_page(frame);
    try {
        Writer writer{*this};
        for (const Frame frame : frames) writer.add(frame);
        writer.finish();
    } catch (...) {
        // All stay dirty, and are put again. The next write to one whose put is under way must wait for that.
        for (const Frame frame : frames)
            if (pages_[frame].operation != none) leave_hot_writes(pages_[frame].number);
        throw;
    }
    for (const Frame frame : frames) detach_mask(frame);
}

// ---- synchronisation ------------------------------------------------------------------------------------------------

void PageCache::write_early(int rank, std::uint64_t offset, std::uint64_t bytes) {
    if (!releases_often_ || written_pages_ > most_pages_to_write_early || !may_be_dirty()) return;
    clean_if([&](Index, const Page& page) { return !meets(page, rank, offset, bytes); });
}

void PageCache::release() {
    collect_hits();
    clean_if([](Index, const Page&) { return true; });
    finish_puts();
    if (written_pages_ != 0) releases_often_ = std::exchange(written_pages_, 0) <= most_pages_to_write_early;
    if (configuration_.adapt) adapt_page_size();
}

void PageCache::release(int rank) {
    collect_hits();
    clean_if([rank](Index, const Page& page) { return page.rank == rank; });
    finish_puts();
}

void PageCache::write_back(int rank, std::uint64_t offset, std::uint64_t bytes) {
    clean_if([&](Index mask, const Page& page) {
        if (!meets(page, rank, offset, bytes)) return false;
        const std::uint64_t begin = std::max(offset, page.start) - page.start;
        const std::uint64_t end = std::min(offset + bytes, page.start + page_bytes_) - page.start;
        return bits::any(dirty_bits(mask), begin, end);
    });
}

void PageCache::invalidate(int rank, std::uint64_t offset, std::uint64_t bytes) {
    if (may_be_dirty()) write_back(rank, offset, bytes);
    const auto invalidate_page = [&](Frame frame) {
        Page& page = pages_[frame];
        finish_page(frame);
        const std::uint64_t begin = std::max(offset, page.start) - page.start;
        const std::uint64_t end = std::min(offset + bytes, page.start + page_bytes_) - page.start;
        const Lines lines = lines_of(begin, end - begin);
        bits::clear(valid(frame), lines.first, lines.last);
        leave_hot_pages(page.number);
    };
    if (bytes / page_bytes_ > frames_) {
        for (Frame frame = 0; frame < frames_; ++frame) {
            const Page& page = pages_[frame];
            if (page.number != no_page && meets(page, rank, offset, bytes)) invalidate_page(frame);
        }
        return;
    }
    for (std::uint64_t start = offset & ~(page_bytes_ - 1); start < offset + bytes; start += page_bytes_)
        if (const Frame frame = find(hot_pages_.page_of(rank, start)); frame != no_frame) invalidate_page(frame);
}

void PageCache::write_back_for_another_thread() {
    std::vector<std::byte> copies(page_bytes_);
    std::vector<std::uint64_t> taken(mask_words_);
    for (Index mask = oldest_mask_; mask != none; mask = masks_[mask].after) {
        const Page& page = pages_[masks_[mask].frame];
        auto* const bits = reinterpret_cast<std::uint8_t*>(dirty_bits(mask).data());
        auto* const taken_bits = reinterpret_cast<std::uint8_t*>(taken.data());
        std::byte* const bytes = data(masks_[mask].frame);
        for (std::uint64_t group = 0; group < page_bytes_ / 8; ++group) {
            std::atomic_ref<std::uint8_t> cell{bits[group]};
            // The owner stores the bytes, then the bits; acquire so that the bytes of these bits are seen.
            taken_bits[group] = cell.load(std::memory_order_relaxed) == 0 ? std::uint8_t{0} : cell.exchange(0, std::memory_order_acquire);
        }
        std::uint64_t sent = 0;
        try {
            bits::for_each_run(std::span<const std::uint64_t>{taken}, [&](std::uint64_t begin, std::uint64_t end) {
                for (std::uint64_t at = begin; at < end; ++at)
                    copies[at] = std::atomic_ref<std::byte>{bytes[at]}.load(std::memory_order_relaxed);
                backend_.put(page.rank, page.start + begin, {copies.data() + begin, end - begin});
                statistics_.add(Counter::cache_write_backs, Counter::cache_write_back_bytes, end - begin);
                sent = end;
            });
        } catch (...) {
            // The next release puts what this one could not; the owner may have set bits again meanwhile.
            bits::clear(taken, 0, sent);
            for (std::uint64_t group = 0; group < page_bytes_ / 8; ++group)
                if (taken_bits[group] != 0) std::atomic_ref<std::uint8_t>{bits[group]}.fetch_or(taken_bits[group], std::memory_order_release);
            throw;
        }
    }
}

} // namespace lapwing::cache
