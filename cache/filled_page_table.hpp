#pragma once

#include "cache/page_cache_configuration.hpp"
#include "cache/page_entries.hpp"
#include "window/coherent_copies.hpp"

#include <lapwing/detail/page_table.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::cache {

using window::PageTable;
class CachedPages;
inline constexpr std::uint64_t no_page = ~std::uint64_t{0};

/// Which writes may go to pages without the cache's knowledge.
enum class InlineWrites : std::uint8_t {
    none,
    with_copies, ///< those that store in the copies beside the cache, too, or know that there are none
    all,         ///< there are no such copies
};

/// The page table as its cache sees it: decides which of the cache's pages element accesses reach directly.
///
/// Memory: what is written of the two tables, each at most a quarter of the cache's pages or 16 KiB.
class FilledPageTable final : public PageTable {
public:
    explicit FilledPageTable(const PageCacheConfiguration& configuration) noexcept;
    FilledPageTable(const FilledPageTable&) = delete;
    FilledPageTable& operator=(const FilledPageTable&) = delete;

    /// The most that it takes.
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheLayout& layout) noexcept;
    /// Empties the table and fits it to the layout.
    void lay_out(const PageCacheLayout& layout);
    [[nodiscard]] std::uint64_t place_of(Rank rank, Offset offset) const noexcept {
        return window::place_in_parts(part_stride_, rank, offset);
    }
    /// A number of its own for each page of each rank, also where there are more places than numbers.
    [[nodiscard]] std::uint64_t page_of(Rank rank, Offset offset) const noexcept {
        return static_cast<std::uint64_t>(rank.value) * (part_stride_ >> layout_shift_) +
               (offset.bytes >> layout_shift_);
    }

    /// Reads are of this epoch from now on: forgets those of earlier ones.
    void begin(std::uint64_t epoch) noexcept {
        if (epoch == epoch_) return;
        forget_reads();
        epoch_ = epoch;
    }
    /// From now on the page's valid lines, which are of that epoch, are read, or its bytes written, directly.
    void enter_reads(std::uint64_t page, std::uint64_t epoch, const std::byte* data,
                     std::span<const std::uint64_t> valid_lines) noexcept;
    void enter_writes(std::uint64_t page, std::byte* data, std::span<std::uint64_t> dirty_bits) noexcept;
    /// Lets a page of memory that the thread can load be read here until the next acquire: the page around an offset of
    /// a part of `bytes` bytes at `memory`. False if there is no room.
    bool enter_memory(Rank rank, Offset offset, const std::byte* memory, std::uint64_t bytes) noexcept;
    /// From now on they are not.
    void leave_reads(std::uint64_t page) noexcept;
    void leave_writes(std::uint64_t page) noexcept;
    /// From now on pages are entered for these writes; those entered before are removed.
    void allow_writes(InlineWrites allowed) noexcept;
    /// Whether the page may be read directly; the next read enters it again.
    [[nodiscard]] bool take_reads(std::uint64_t page) noexcept;

    /// Of a window with copies, after a write that this table has not served: whether it is of use to find out where
    /// the copies are of what is around it.
    [[nodiscard]] bool wants_copies(std::uint64_t page) const noexcept { return latest_.page == page; }
    /// What is known of them, around a place of that page and not beyond it.
    void enter_copies(std::uint64_t place, const window::CopiesAround& copies) noexcept;

    /// Whether some of the page may be read, or written, directly.
    [[nodiscard]] bool serves_reads(std::uint64_t page, std::uint64_t epoch) const noexcept {
        return epoch == epoch_ && read_entries_.data() != nullptr && read_entries_[page].valid != 0;
    }
    [[nodiscard]] bool serves_writes(std::uint64_t page) const noexcept {
        return latest_.page == page || (write_entries_.data() != nullptr && write_entries_[page].count != 0);
    }
    /// Called by the table's thread: everything in it refers to these pages and may be used. Aborts the process
    /// otherwise, in builds with internal assertions.
    void validate(const CachedPages& pages) const;

    /// Those of the cache's pages. Where there are pages of memory, too, their number is an estimate: as many for each
    /// page, since reads are mixed then.
    [[nodiscard]] std::uint64_t read_hits() noexcept;
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

    /// False if there is no address space for it. All accesses then go to the cache.
    [[nodiscard]] bool has_room() const noexcept { return read_entries_.data() != nullptr; }
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
        return read_entries_.memory_bytes() + write_entries_.memory_bytes();
    }

private:
    static constexpr std::uintptr_t ragged = 2; ///< copy of a page that is not written here since its copies are
    /// The page of a window with copies that was written last without this table.
    struct Latest {
        std::uint64_t page = no_page;
        std::uintptr_t data = 0;
        std::uintptr_t dirty = 0;
    };

    [[nodiscard]] std::uint64_t place_of_page(std::uint64_t page) const noexcept { return page << layout_shift_; }
    /// That of the page's first granule, in the mask of its entry.
    [[nodiscard]] unsigned first_bit(std::uint64_t page) const noexcept {
        return static_cast<unsigned>((place_of_page(page) >> granule_shift_) % 64);
    }
    void forget_reads() noexcept;
    /// Of a page at `data`, of which these granules may be read, one bit each from its first one on. False if there is
    /// no room for it.
    [[nodiscard]] bool enter_granules(std::uint64_t page, const std::byte* data, std::uint64_t granules,
                                      std::uint64_t& of_its_kind) noexcept;

    PageEntries<ReadEntry> read_entries_;
    PageEntries<WriteEntry> write_entries_;
    const std::uint64_t part_stride_;
    const std::uint64_t all_places_;
    std::uint64_t page_bytes_ = 0;
    unsigned layout_shift_ = 0; ///< as page_shift_, also where there is no table
    std::uint64_t epoch_ = 0;   ///< of the reads
    Latest latest_;
    std::uint64_t cached_pages_ = 0; ///< in the table of reads
    std::uint64_t memory_pages_ = 0;
    std::uint64_t cached_hits_ = 0; ///< of the first shared_out_ hits
    std::uint64_t shared_out_ = 0;
    std::uint64_t collected_hits_ = 0;
    std::atomic<std::uint64_t> slow_writes_{0}; ///< written by the owner alone
    std::uint64_t collected_copy_writes_ = 0;
    InlineWrites allowed_ = InlineWrites::all;
};

} // namespace lapwing::detail::cache
