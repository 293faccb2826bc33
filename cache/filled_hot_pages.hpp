#pragma once

#include "cache/page_cache_configuration.hpp"

#include <lapwing/detail/hot_pages.hpp>
#include <lapwing/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::cache {

using window::HotPageBlock;
using window::HotPageTable;
class CachedPages;

/// Which writes may go to pages without the cache's knowledge.
enum class InlineWrites : std::uint8_t {
    none,
    with_copies, ///< those that store in the copies beside the cache, too, or know that there are none
    all,         ///< there are no such copies
};

/// The hot-page table as its cache sees it: decides which of the cache's pages element accesses reach directly.
class FilledHotPages final : public HotPageTable {
public:
    FilledHotPages(const std::atomic<std::uint64_t>& epoch, bool alone) noexcept {
        epoch_ = &epoch;
        alone_ = alone;
    }
    FilledHotPages(const FilledHotPages&) = delete;
    FilledHotPages& operator=(const FilledHotPages&) = delete;

    /// Empties the table and fits it to the layout; `largest_part` is the largest of all ranks.
    void lay_out(const PageCacheLayout& layout, std::uint64_t largest_part);

    /// From now on the page's valid lines are read, or its bytes written, directly.
    void enter_reads(std::uint64_t page, std::uint64_t epoch, const std::byte* data,
                     std::span<const std::uint64_t> valid_lines) noexcept;
    void enter_writes(std::uint64_t page, std::byte* data, std::span<std::uint64_t> dirty_bits) noexcept;
    /// From now on they are not.
    void leave_reads(std::uint64_t page) noexcept;
    void leave_writes(std::uint64_t page) noexcept;
    /// From now on pages are entered for these writes; those entered before are removed.
    void allow_writes(InlineWrites allowed) noexcept;
    /// Whether the page may be read directly in this epoch; the next read enters it again.
    [[nodiscard]] bool take_reads(std::uint64_t page) noexcept;

    /// Whether some of the page may be read, or written, directly.
    [[nodiscard]] bool serves_reads(std::uint64_t page, std::uint64_t epoch) const noexcept {
        const ReadEntry& entry = reads_[slot(page, read_mask_)];
        return entry.page == page && entry.epoch == epoch && entry.valid != 0;
    }
    [[nodiscard]] bool serves_writes(std::uint64_t page) const noexcept {
        return writes_[slot(page, write_mask_)].page == page || latest_.page == page ||
               (stretch_.count != 0 && stretch_.page == page);
    }
    /// Called by the table's thread: everything in it refers to these pages and may be used. Aborts the process
    /// otherwise, in builds with internal assertions.
    void validate(const CachedPages& pages) const;

    [[nodiscard]] std::uint64_t read_hits() const noexcept { return hits_; }
    [[nodiscard]] std::uint64_t write_hits() const noexcept { return write_hits_; }
    void note_slow_write() noexcept {
        slow_writes_.store(slow_writes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    /// How many there were, ever, with those that the table does not serve. For any thread.
    [[nodiscard]] std::uint64_t writes() noexcept {
        return slow_writes_.load(std::memory_order_relaxed) +
               std::atomic_ref{write_hits_}.load(std::memory_order_relaxed);
    }
    /// Adds the hits of both since the last call to the statistics.
    void collect_hits(support::Statistics& statistics) noexcept;

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheLayout& layout) noexcept;

private:
    [[nodiscard]] static std::uint64_t bytes_of(std::size_t reads, std::size_t writes) noexcept;

    std::vector<ReadEntry> read_entries_;
    std::vector<WriteEntry> write_entries_;
    std::vector<RunOrBlock> run_entries_;
    std::vector<std::uint64_t> found_entries_;
    std::vector<RunsOfPage> runs_of_pages_entries_;
    std::uint64_t collected_hits_ = 0;
    std::atomic<std::uint64_t> slow_writes_{0}; ///< written by the owner alone
    std::uint64_t collected_copy_writes_ = 0;
    InlineWrites allowed_ = InlineWrites::all;
};

} // namespace lapwing::detail::cache
