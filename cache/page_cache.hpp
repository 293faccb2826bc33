#pragma once

#include "cache/backend.hpp"
#include "cache/bypass_predictor.hpp"
#include "cache/page_size.hpp"
#include "cache/read_ahead.hpp"
#include "cache/replacement.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/cache_options.hpp>
#include <lapwing/detail/hot_pages.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lapwing::cache {

using window::HotPageTable;

/// A cache has room for so many pages at least.
inline constexpr std::uint64_t least_pages = 4;

struct PageCacheConfiguration {
    std::uint64_t bytes = std::uint64_t{2} << 20;
    std::uint64_t page_bytes = 1024;
    std::uint64_t dirty_pages = 1024;
    std::uint64_t read_ahead_bytes = 512 << 10;
    CachePolicy policy = CachePolicy::two_queues;
    std::uint64_t victim_pages = 8; ///< of CachePolicy::direct_mapped
    RemoteRanks ranks = 1;
    std::uint64_t largest_part = 0; ///< bytes of the largest part of a rank
    bool adapt = true;
    bool alone = true; ///< no two threads call at a time
};

/// The hot-page table as its cache sees it.
class FilledHotPages final : public HotPageTable {
    friend class PageCache;
};

/// A write-back cache of remote memory for one thread, as that of Ferguson and Buettner ("Caching Puts and Gets in a PGAS
/// Language Runtime", 2015): pages of 64-byte lines with valid bits, byte-granular dirty bits for a bounded number of
/// pages, sequential and strided read-ahead, write-behind. All memory is allocated by the constructor.
///
/// An acquire moves the epoch, which other caches may share: lines of an earlier epoch are not read any more.
/// It costs the same however much is in the cache.
///
/// Of a page's bytes, those of a valid line of this epoch, and the dirty ones, are what the program must read. A get never
/// lands on dirty bytes, and the source of a put under way is not written.
///
/// Where the backend throws, so does the call. It may be made again: lines whose get was not started, or failed, are not valid,
/// and bytes whose put was not started stay dirty.
///
/// Calls are made by one thread at a time. The one that owns the hot-page table may use that without being kept apart from
/// write_back_for_another_thread() by others.
class PageCache final : private RecentUse {
public:
    /// `dirty_pages` counts its pages with dirty bytes, for others to look at; 0.
    PageCache(const PageCacheConfiguration& configuration, Backend& backend, const std::atomic<std::uint64_t>& epoch,
              std::atomic<std::uint32_t>& dirty_pages, support::Statistics& statistics);
    ~PageCache();
    PageCache(const PageCache&) = delete;
    PageCache& operator=(const PageCache&) = delete;

    [[nodiscard]] HotPageTable& hot_pages() noexcept { return hot_pages_; }

    void get(int rank, std::uint64_t offset, std::span<std::byte> destination);
    /// Complete locally on return, like all puts here.
    void put(int rank, std::uint64_t offset, std::span<const std::byte> source);
    /// Starts to read what will be read soon. A hint: does nothing when there is no room for it.
    void prefetch(int rank, std::uint64_t offset, std::uint64_t bytes);

    /// Puts all dirty bytes (of `rank`), and waits until the cache's memory is the source of no put: the backend can then
    /// complete the puts.
    void release();
    void release(int rank);
    /// Before an operation that the cache does not make: puts the dirty bytes of a range.
    void write_back(int rank, std::uint64_t offset, std::uint64_t bytes);
    /// Before a write that the cache does not make: invalidates what it knows of a range. Dirty bytes of it are put first, since the
    /// write may fail.
    void invalidate(int rank, std::uint64_t offset, std::uint64_t bytes);
    /// After a large get that the cache did not make: the own writes that it cannot have seen.
    void overlay(int rank, std::uint64_t offset, std::span<std::byte> destination) const;

    /// A release by another thread than the owner of the hot-page table, who may be writing through it.
    void write_back_for_another_thread();
    [[nodiscard]] bool may_be_dirty() const noexcept { return dirty_count_.load(std::memory_order_acquire) != 0; }

    /// Waits for every get and put under way.
    void finish_all();
    /// Waits for nothing any more: MPI has ended.
    void abandon() noexcept;

    /// Adds what the hot-page table has counted to the statistics.
    void collect_hits() noexcept;

    [[nodiscard]] std::uint64_t page_bytes() const noexcept { return page_bytes_; }
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
    /// At least what one with this configuration takes.
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheConfiguration& configuration) noexcept;
    /// The most bytes of pages, up to those of the configuration, with which one takes no more than `memory`.
    [[nodiscard]] static std::uint64_t bytes_within(PageCacheConfiguration configuration, std::uint64_t memory) noexcept;

private:
    static constexpr std::uint64_t line_bytes = 64;
    static constexpr std::uint64_t no_page = HotPageTable::no_page;
    using Index = std::uint32_t;
    static constexpr Index none = ~Index{0};
    static constexpr std::size_t most_runs = 256; ///< in one message
    static constexpr std::uint64_t most_pages_to_write_early = 16;

    struct Page {
        std::uint64_t number = no_page;
        std::uint64_t epoch = 0; ///< of the valid lines
        std::uint64_t start = 0; ///< offset in the part of `rank`
        int rank = 0;
        Frame next = no_frame; ///< in the bucket of the hash table
        Index operation = none; ///< get or put under way that uses the frame
        Index dirty = none;     ///< mask
        bool unread = false;    ///< read ahead and not used yet
    };
    /// Dirty bits of one page; in a list in the order in which pages became dirty.
    struct Mask {
        Frame frame = no_frame;
        Index before = none;
        Index after = none;
    };
    /// A get or put under way to or from neighbouring frames.
    struct Operation {
        Backend::Token token = Backend::complete;
        Frame first = 0;
        Frame count = 0; ///< 0: not in use
        bool put = false;
    };
    struct Lines {
        std::uint64_t first = 0;
        std::uint64_t last = 0; ///< not included
    };
    /// Pages to be read in one get.
    struct Block {
        Frame first = 0;
        Frame count = 0;
    };
    class Writer;

    // RecentUse
    bool take(Frame frame) noexcept override;

    void lay_out(std::uint64_t page_bytes);
    void adapt_page_size();
    [[nodiscard]] std::uint64_t now() const noexcept { return epoch_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::byte* data(Frame frame) noexcept { return memory_.get() + frame * page_bytes_; }
    [[nodiscard]] const std::byte* data(Frame frame) const noexcept { return memory_.get() + frame * page_bytes_; }
    [[nodiscard]] std::span<std::uint64_t> valid(Frame frame) noexcept {
        return {valid_.data() + frame * valid_words_, valid_words_};
    }
    [[nodiscard]] std::span<const std::uint64_t> valid(Frame frame) const noexcept {
        return {valid_.data() + frame * valid_words_, valid_words_};
    }
    [[nodiscard]] std::span<std::uint64_t> dirty_bits(Index mask) noexcept {
        return {masks_memory_.data() + mask * mask_words_, mask_words_};
    }
    [[nodiscard]] std::span<const std::uint64_t> dirty_bits(Index mask) const noexcept {
        return {masks_memory_.data() + mask * mask_words_, mask_words_};
    }
    [[nodiscard]] Lines lines_of(std::uint64_t within, std::uint64_t bytes) const noexcept {
        return {within / line_bytes, (within + bytes + line_bytes - 1) / line_bytes};
    }
    [[nodiscard]] Lines all_lines(Frame frame) const {
        return {0, (page_end(pages_[frame]) + line_bytes - 1) / line_bytes};
    }
    /// Whether the page has some of these bytes.
    [[nodiscard]] bool meets(const Page& page, int rank, std::uint64_t offset, std::uint64_t bytes) const noexcept {
        return page.rank == rank && page.start < offset + bytes && offset < page.start + page_bytes_;
    }
    /// Bytes of the page that belong to the part.
    [[nodiscard]] std::uint64_t page_end(const Page& page) const {
        return std::min(page_bytes_, backend_.part_bytes(page.rank) - page.start);
    }

    [[nodiscard]] std::size_t bucket(std::uint64_t number) const noexcept {
        return static_cast<std::size_t>((number * 0x9E3779B97F4A7C15U) >> 32) & (buckets_.size() - 1);
    }
    [[nodiscard]] Frame find(std::uint64_t number) const noexcept;
    /// A frame for a page that is in none; `keep` stays. no_frame if there is no room.
    [[nodiscard]] Frame take_frame(int rank, std::uint64_t page_start, Frame keep, Reuse reuse = Reuse::remembered);
    void evict(Frame frame);
    /// Lines of an earlier epoch are not valid any more. Whether that is the case.
    bool freshen(Frame frame);
    /// What was read ahead, and is not read any more, was in vain.
    void drop_unread(Page& page) noexcept;
    void enter_reads(Frame frame) noexcept;
    void enter_writes(Frame frame) noexcept;
    void leave_hot_pages(std::uint64_t number) noexcept;
    void leave_hot_writes(std::uint64_t number) noexcept;

    void read(int rank, std::uint64_t offset, std::span<std::byte> destination);
    /// At the first read of a page that was read ahead.
    void use_unread(Frame frame, int rank, std::uint64_t offset);
    void read_around(int rank, std::uint64_t offset, std::span<std::byte> destination);
    void write(int rank, std::uint64_t offset, std::span<const std::byte> source);
    /// After an acquire: this page and those behind it that the program has read in the same earlier epoch, all of each. What a
    /// program reads in one step it mostly reads in the next.
    [[nodiscard]] std::uint64_t pages_to_read_again(Frame frame) const noexcept;
    /// Whether the page's contents are of `epoch`, and the program has read of it and it is there as a whole.
    [[nodiscard]] bool was_read(Frame frame, std::uint64_t epoch) const noexcept;
    /// Whether the page of an access is here so, of any epoch.
    [[nodiscard]] bool was_read(int rank, std::uint64_t offset) const noexcept;
    /// Whether the lines may be read; makes lines valid that have been written as a whole.
    [[nodiscard]] bool readable(Frame frame, Lines lines) noexcept;
    [[nodiscard]] bool written(Frame frame, std::uint64_t within, std::uint64_t bytes) const noexcept;
    /// Starts to read lines; dirty bytes stay. They are valid when the page's operation is complete.
    void start_fetch(Frame frame, Lines lines);
    /// The same, and waits.
    void fetch(Frame frame, Lines lines);
    /// Whether `frame` has dirty bytes among these.
    [[nodiscard]] bool any_dirty(Frame frame, std::uint64_t begin, std::uint64_t end) const noexcept;
    void read_ahead(const ReadAhead::Plan& plan, int rank, Frame keep);
    void read_pages_ahead(const ReadAhead::Plan& plan, int rank, Frame keep);
    void send_block();
    /// Starts to read one access; its frame, or no_frame if there was no room or no need.
    Frame start_reading(int rank, std::uint64_t offset, std::uint64_t bytes, Frame keep);

    void begin_operation(Backend::Token token, Frame first, Frame count, bool put);
    void finish(Index operation);
    void finish_page(Frame frame) {
        if (pages_[frame].operation != none) finish(pages_[frame].operation);
    }
    /// Waits for the operations that are wanted: `wanted(operation)`. All of them, then it throws what the first one threw.
    template <class Wanted>
    void finish_if(Wanted&& wanted);
    void finish_puts();

    void attach_mask(Frame frame);
    void detach_mask(Frame frame);
    /// Puts the dirty bytes of a page and of those behind it with which they make one run.
    void clean_with_neighbours(Frame frame);
    /// Puts the dirty bytes of the older half of the dirty pages.
    void clean_older_half();
    /// Puts those of the dirty pages that are wanted: `wanted(mask, page)`.
    template <class Wanted>
    void clean_if(Wanted&& wanted);
    void clean(std::span<const Frame> frames);
    /// Before the program waits for a read of these bytes. Where it also waits for a release after every few writes, these are
    /// sent before the read: on the service path its answer then says that they have arrived. Not those that the read meets.
    void write_early(int rank, std::uint64_t offset, std::uint64_t bytes);

    PageCacheConfiguration configuration_;
    Backend& backend_;
    const std::atomic<std::uint64_t>& epoch_;
    support::Statistics& statistics_;
    std::atomic<std::uint32_t>& dirty_count_;
    FilledHotPages hot_pages_;

    std::uint64_t page_bytes_ = 0;
    std::uint64_t largest_cached_ = 0; ///< gets and puts of more bytes pass by
    std::size_t valid_words_ = 0; ///< of one page
    std::size_t mask_words_ = 0;
    Frame frames_ = 0;

    support::AlignedMemory memory_;
    std::vector<Page> pages_; ///< of each frame
    std::vector<std::uint64_t> valid_;
    std::vector<Frame> buckets_;
    std::vector<std::uint64_t> masks_memory_;
    std::vector<Mask> masks_;
    Index free_mask_ = none; ///< list through `after`
    Index oldest_mask_ = none;
    Index newest_mask_ = none;

    std::vector<Operation> operations_;
    Index next_operation_ = 0;
    Block block_;

    std::unique_ptr<Replacement> replacement_;
    ReadAhead ahead_;
    BypassPredictor bypass_;
    PageSize page_size_;
    std::uint64_t written_pages_ = 0; ///< since the last release
    bool releases_often_ = false;
    std::uint64_t slow_reads_ = 0; ///< that the hot-page table did not serve
    std::uint64_t collected_hits_ = 0;
    std::vector<HotPageTable::ReadEntry> reads_;
    std::vector<HotPageTable::WriteEntry> writes_;
    std::vector<Frame> to_clean_; ///< for release
    std::vector<DirtyRun> runs_;  ///< small runs to one rank
    std::vector<std::byte> scratch_;
};

} // namespace lapwing::cache
