#pragma once

#include "cache/backend.hpp"
#include "cache/bypass_predictor.hpp"
#include "cache/cached_pages.hpp"
#include "cache/fetcher.hpp"
#include "cache/operations_under_way.hpp"
#include "cache/page_cache_configuration.hpp"
#include "cache/page_size.hpp"
#include "cache/read_ahead.hpp"
#include "cache/repeated_reads.hpp"
#include "cache/replacement.hpp"
#include "cache/write_behind.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lapwing::detail::cache {

/// A write-back cache of remote memory for one thread, after Ferguson and Buettner ("Caching Puts and Gets in a PGAS
/// Language Runtime", 2015): pages of 64-byte lines with valid bits, byte-granular dirty bits for a bounded number of
/// pages, sequential and strided read-ahead, write-behind. All memory is allocated by the constructor.
///
/// An acquire advances the epoch, which several caches may share: lines of an earlier epoch are no longer read.
/// It costs the same however much is cached.
///
/// Of a page's bytes, the program may read those of valid lines of this epoch, and the dirty ones. A get
/// never overwrites dirty bytes, and the source of a put in flight is never written.
///
/// If the backend throws, so does the call. It may be repeated: lines whose get was not started, or failed, are
/// not valid, and bytes whose put was not started stay dirty. A rank that has left the team is different: dirty
/// bytes of its pages are dropped and recorded as lost (Backend::note_lost), and no call throws because of them, so
/// that accesses to other ranks continue and all their dirty bytes are put.
///
/// One thread at a time may call this. The owner of the page table may use the table without being synchronised
/// with other threads' write_back_for_another_thread().
///
/// It passes each read and write through the classes that decide: CachedPages knows what is cached, Replacement which
/// page a new one evicts, ReadAhead, RepeatedReads and BypassPredictor what is worth reading, Fetcher and WriteBehind
/// how bytes are fetched and put, PageSize how large pages are.
class PageCache final {
public:
    /// `dirty_pages`, initially 0, counts the pages with dirty bytes, for others to read.
    PageCache(const PageCacheConfiguration& configuration, Backend& backend, const std::atomic<std::uint64_t>& epoch,
              std::atomic<std::uint32_t>& dirty_pages, support::Statistics& statistics);
    ~PageCache();
    PageCache(const PageCache&) = delete;
    PageCache& operator=(const PageCache&) = delete;

    /// Where a prefetch comes from: of no more than a read may cache, but for whole_pages.
    enum class Hint : std::uint8_t {
        of_program,
        of_get,     ///< whose pages are asked for together
        whole_pages ///< any number of bytes, as whole pages, which travel together
    };

    /// After an acquire its owner must begin() the epoch before using it.
    [[nodiscard]] FilledPageTable& page_table() noexcept { return pages_.page_table(); }
    /// What may be written through the page table; all other writes are put().
    void allow_inline_writes(InlineWrites allowed) noexcept { pages_.page_table().allow_writes(allowed); }

    void get(Rank rank, Offset offset, std::span<std::byte> destination);
    /// Complete locally on return, as all puts here are.
    void put(Rank rank, Offset offset, std::span<const std::byte> source);
    /// Starts to read what is expected to be read soon. A hint: does nothing when there is no room.
    void prefetch(Rank rank, Offset offset, std::uint64_t bytes, Hint hint = Hint::of_program);

    /// Puts all dirty bytes (of `rank`), and waits until no put reads from the cache's memory: the backend can
    /// then complete the puts.
    void release() {
        start_release();
        finish_release();
    }
    void release(Rank rank);
    /// The two halves of release(): several caches start theirs before the first wait, so that their messages overlap.
    void start_release();
    void finish_release();
    /// Before an operation that bypasses the cache: puts the dirty bytes of a range.
    void write_back(Rank rank, Offset offset, std::uint64_t bytes) { write_behind_.write_back(rank, offset, bytes); }
    /// Before a write that bypasses the cache: invalidates a range. Its dirty bytes are put
    /// first, since the write may fail.
    void invalidate(Rank rank, Offset offset, std::uint64_t bytes);
    /// After a large get that bypassed the cache: adds this thread's writes, which the get cannot have seen.
    void overlay(Rank rank, Offset offset, std::span<std::byte> destination) const;

    /// A release by a thread other than the owner of the page table, who may be writing through it.
    void write_back_for_another_thread() { write_behind_.write_back_for_another_thread(); }
    [[nodiscard]] bool may_be_dirty() const noexcept { return pages_.dirty().any(); }

    /// By the owner of the page table, between two calls: aborts the process if an invariant is violated, in
    /// builds with internal assertions. Visits every page.
    void validate() const;

    /// Waits for every get and put in flight.
    void finish_all() { under_way_.finish_all(); }
    /// Forgets all operations: MPI has been finalized.
    void abandon() noexcept { under_way_.abandon(); }

    /// Adds the page table's counts to the statistics.
    void collect_hits() noexcept { pages_.page_table().collect_hits(statistics_); }

    [[nodiscard]] std::uint64_t page_bytes() const noexcept { return pages_.page_bytes(); }
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
    /// A lower bound on the memory of a cache with this configuration.
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheConfiguration& configuration) noexcept;
    /// The most bytes of pages, up to those of the configuration, with which a cache takes no more than `memory`.
    [[nodiscard]] static std::uint64_t bytes_within(PageCacheConfiguration configuration,
                                                    std::uint64_t memory) noexcept;

private:
    void lay_out(std::uint64_t page_bytes);
    void adapt_page_size();
    /// An offset within its page.
    [[nodiscard]] std::uint64_t within_page(Offset offset) const noexcept {
        return offset.bytes & (pages_.page_bytes() - 1);
    }

    /// A frame for a page that has none, never `keep`. no_frame if there is no room.
    [[nodiscard]] Frame take_frame(Rank rank, Offset page_start, Frame keep, Reuse reuse = Reuse::remembered);
    void evict(Frame frame);
    /// Invalidates lines of an earlier epoch. Returns whether there were any.
    bool freshen(Frame frame);

    /// What a read finds of its page.
    struct FoundPage {
        Frame frame = no_frame;
        bool stale = false;                ///< not read since the last acquire; before it:
        std::uint64_t epoch_before = 0;    ///< when it was read
        std::uint64_t lines_before = 0;    ///< that were read, one bit each
        CachedPages::PagesRead again = {}; ///< see there
    };

    void read(Rank rank, Offset offset, std::span<std::byte> destination);
    /// Fetches lines of the page, or starts to, and what is expected to be read next. Gives the page a frame.
    void fetch_missed(FoundPage& page, Rank rank, Offset offset, Lines lines);
    /// On the first read of a page that was read ahead.
    void use_unread(Frame frame, Rank rank, Offset offset);
    void read_around(Rank rank, Offset offset, std::span<std::byte> destination);
    void write(Rank rank, Offset offset, std::span<const std::byte> source);

    void read_ahead(const ReadAhead::Plan& plan, Rank rank, Frame keep);
    void read_pages_ahead(const ReadAhead::Plan& plan, Rank rank, Frame keep);
    /// Starts to read one access, unless there is no room or no need: adds it to the fetcher's group.
    void start_reading(Rank rank, Offset offset, std::uint64_t bytes, Frame keep, bool hinted = false);

    PageCacheConfiguration configuration_;
    Backend& backend_;
    support::Statistics& statistics_;
    ReadAhead ahead_;
    BypassPredictor bypass_;       ///< of reads
    BypassPredictor write_bypass_; ///< of writes to pages that are not cached
    PageSize page_size_;
    CachedPages pages_;
    OperationsUnderWay under_way_;
    WriteBehind write_behind_;
    Fetcher fetcher_;
    RepeatedReads repeated_;
    std::unique_ptr<Replacement> replacement_;
    std::uint64_t largest_cached_ = 0; ///< larger gets and puts bypass the cache
    std::uint64_t slow_reads_ = 0;     ///< those that the page table did not serve
};

} // namespace lapwing::detail::cache
