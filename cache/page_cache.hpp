#pragma once

#include "cache/backend.hpp"
#include "cache/bypass_predictor.hpp"
#include "cache/cached_pages.hpp"
#include "cache/fetcher.hpp"
#include "cache/operations_under_way.hpp"
#include "cache/page_cache_configuration.hpp"
#include "cache/page_size.hpp"
#include "cache/read_ahead.hpp"
#include "cache/replacement.hpp"
#include "cache/write_behind.hpp"

#include <lapwing/detail/hot_pages.hpp>
#include <lapwing/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lapwing::detail::cache {

/// A write-back cache of remote memory for one thread, as that of Ferguson and Buettner ("Caching Puts and Gets in a
/// PGAS Language Runtime", 2015): pages of 64-byte lines with valid bits, byte-granular dirty bits for a bounded number
/// of pages, sequential and strided read-ahead, write-behind. All memory is allocated by the constructor.
///
/// An acquire moves the epoch, which other caches may share: lines of an earlier epoch are not read any more.
/// It costs the same however much is in the cache.
///
/// Of a page's bytes, those of a valid line of this epoch, and the dirty ones, are what the program must read. A get
/// never lands on dirty bytes, and the source of a put under way is not written.
///
/// Where the backend throws, so does the call. It may be made again: lines whose get was not started, or failed, are
/// not valid, and bytes whose put was not started stay dirty. A rank that has left the team is another matter: dirty
/// bytes of its pages are dropped and noted as lost (Backend::note_lost), and no call throws because of them, so that
/// accesses to other ranks go on and all that is dirty for those is put.
///
/// Calls are made by one thread at a time. The one that owns the hot-page table may use that without being kept apart
/// from write_back_for_another_thread() by others.
///
/// It follows each read and write through the classes that decide: CachedPages knows what is here, Replacement whose
/// place a new page takes, ReadAhead and BypassPredictor what is worth reading, Fetcher and WriteBehind how bytes come
/// and go, PageSize how large pages are.
class PageCache final {
public:
    /// `dirty_pages` counts its pages with dirty bytes, for others to look at; 0.
    PageCache(const PageCacheConfiguration& configuration, Backend& backend, const std::atomic<std::uint64_t>& epoch,
              std::atomic<std::uint32_t>& dirty_pages, support::Statistics& statistics);
    ~PageCache();
    PageCache(const PageCache&) = delete;
    PageCache& operator=(const PageCache&) = delete;

    [[nodiscard]] HotPageTable& hot_pages() noexcept { return pages_.hot_pages(); }
    /// Whether bytes may be written through that; if not, all writes are put().
    void allow_inline_writes(bool allowed) noexcept { pages_.hot_pages().allow_writes(allowed); }

    void get(int rank, std::uint64_t offset, std::span<std::byte> destination);
    /// Complete locally on return, like all puts here.
    void put(int rank, std::uint64_t offset, std::span<const std::byte> source);
    /// Starts to read what will be read soon. A hint: does nothing when there is no room for it.
    void prefetch(int rank, std::uint64_t offset, std::uint64_t bytes);

    /// Puts all dirty bytes (of `rank`), and waits until the cache's memory is the source of no put: the backend can
    /// then complete the puts.
    void release() {
        start_release();
        finish_release();
    }
    void release(int rank);
    /// The two halves of the first: what several caches start before they wait for one goes at a time.
    void start_release();
    void finish_release();
    /// Before an operation that the cache does not make: puts the dirty bytes of a range.
    void write_back(int rank, std::uint64_t offset, std::uint64_t bytes) {
        write_behind_.write_back(rank, offset, bytes);
    }
    /// Before a write that the cache does not make: invalidates what it knows of a range. Dirty bytes of it are put
    /// first, since the write may fail.
    void invalidate(int rank, std::uint64_t offset, std::uint64_t bytes);
    /// After a large get that the cache did not make: the own writes that it cannot have seen.
    void overlay(int rank, std::uint64_t offset, std::span<std::byte> destination) const;

    /// A release by another thread than the owner of the hot-page table, who may be writing through it.
    void write_back_for_another_thread() { write_behind_.write_back_for_another_thread(); }
    [[nodiscard]] bool may_be_dirty() const noexcept { return pages_.dirty().any(); }

    /// By the owner of the hot-page table, between two calls: ends the process where the invariants do not hold, in
    /// builds with internal assertions. Costs a look at every page.
    void validate() const;

    /// Waits for every get and put under way.
    void finish_all() { under_way_.finish_all(); }
    /// Waits for nothing any more: MPI has ended.
    void abandon() noexcept { under_way_.abandon(); }

    /// Adds what the hot-page table has counted to the statistics.
    void collect_hits() noexcept { pages_.hot_pages().collect_hits(statistics_); }

    [[nodiscard]] std::uint64_t page_bytes() const noexcept { return pages_.page_bytes(); }
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
    /// At least what one with this configuration takes.
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheConfiguration& configuration) noexcept;
    /// The most bytes of pages, up to those of the configuration, with which one takes no more than `memory`.
    [[nodiscard]] static std::uint64_t bytes_within(PageCacheConfiguration configuration,
                                                    std::uint64_t memory) noexcept;

private:
    void lay_out(std::uint64_t page_bytes);
    void adapt_page_size();
    /// Of an offset in its page.
    [[nodiscard]] std::uint64_t within_page(std::uint64_t offset) const noexcept {
        return offset & (pages_.page_bytes() - 1);
    }

    /// A frame for a page that is in none; `keep` stays. no_frame if there is no room.
    [[nodiscard]] Frame take_frame(int rank, std::uint64_t page_start, Frame keep, Reuse reuse = Reuse::remembered);
    void evict(Frame frame);
    /// Lines of an earlier epoch are not valid any more. Whether that is the case.
    bool freshen(Frame frame);
    /// The page's valid lines are read through the hot-page table from now on, unless an operation is under way.
    void enter_reads(Frame frame) noexcept;

    void read(int rank, std::uint64_t offset, std::span<std::byte> destination);
    /// At the first read of a page that was read ahead.
    void use_unread(Frame frame, int rank, std::uint64_t offset);
    void read_around(int rank, std::uint64_t offset, std::span<std::byte> destination);
    void write(int rank, std::uint64_t offset, std::span<const std::byte> source);

    void read_ahead(const ReadAhead::Plan& plan, int rank, Frame keep);
    void read_pages_ahead(const ReadAhead::Plan& plan, int rank, Frame keep);
    /// Starts to read one access, unless there is no room or no need.
    void start_reading(int rank, std::uint64_t offset, std::uint64_t bytes, Frame keep);

    PageCacheConfiguration configuration_;
    Backend& backend_;
    support::Statistics& statistics_;
    ReadAhead ahead_;
    BypassPredictor bypass_;       ///< of reads
    BypassPredictor write_bypass_; ///< of writes to pages that are not here
    PageSize page_size_;
    CachedPages pages_;
    OperationsUnderWay under_way_;
    WriteBehind write_behind_;
    Fetcher fetcher_;
    std::unique_ptr<Replacement> replacement_;
    std::uint64_t largest_cached_ = 0; ///< gets and puts of more bytes pass by
    std::uint64_t slow_reads_ = 0;     ///< that the hot-page table did not serve
};

} // namespace lapwing::detail::cache
