#pragma once

#include "cache/backend.hpp"
#include "cache/bits.hpp"
#include "cache/dirty_pages.hpp"
#include "cache/filled_page_table.hpp"
#include "cache/page_cache_configuration.hpp"
#include "cache/read_ahead.hpp"
#include "cache/replacement.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::cache {

inline constexpr std::uint32_t no_operation = ~std::uint32_t{0};

/// What a frame holds.
struct Page {
    std::uint64_t number = no_page;
    std::uint64_t epoch = 0; ///< of the valid lines
    std::uint64_t start = 0; ///< offset in the part of `rank`
    Rank rank = 0;
    Frame next = no_frame;                  ///< in the bucket of the hash table
    std::uint32_t operation = no_operation; ///< get or put in flight that uses the frame
    Frame next_of_operation = no_frame;     ///< the next frame that it uses
    DirtyPages::Mask dirty = DirtyPages::none;
    bool read = false;     ///< by the program, in its epoch
    bool unread = false;   ///< read ahead and not yet used
    bool listed = false;   ///< read ahead because it was read in an earlier epoch; see RepeatedReads
    bool hinted = false;   ///< read ahead because the program has said so, which tells nothing of its streams
    bool in_group = false; ///< of a Fetcher
};

/// Lines of one page.
struct Lines {
    std::uint64_t first = 0;
    std::uint64_t last = 0; ///< exclusive
};
/// The lines that contain any of these bytes.
[[nodiscard]] constexpr Lines lines_of(std::uint64_t within, std::uint64_t bytes) noexcept {
    return {within / line_bytes, (within + bytes + line_bytes - 1) / line_bytes};
}

/// The cache's memory: which page is in which frame, which of its lines are valid, and which of its bytes may be
/// read. Does no communication.
class CachedPages final : public RecentUse {
public:
    /// `ahead` is notified of pages that are dropped unread.
    CachedPages(const PageCacheConfiguration& configuration, const Backend& backend,
                const std::atomic<std::uint64_t>& epoch, std::atomic<std::uint32_t>& dirty_pages, ReadAhead& ahead,
                support::Statistics& statistics);

    /// Empties all frames.
    void lay_out(const PageCacheLayout& layout);

    /// Acquire pairs with the release that starts an epoch: what is fetched for an epoch is fetched after the acquire
    /// operation that started it.
    [[nodiscard]] std::uint64_t now() const noexcept { return epoch_.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint64_t page_bytes() const noexcept { return page_bytes_; }
    [[nodiscard]] Frame frames() const noexcept { return static_cast<Frame>(pages_.size()); }
    [[nodiscard]] FilledPageTable& page_table() noexcept { return table_; }
    [[nodiscard]] const FilledPageTable& page_table() const noexcept { return table_; }
    [[nodiscard]] DirtyPages& dirty() noexcept { return dirty_; }
    [[nodiscard]] const DirtyPages& dirty() const noexcept { return dirty_; }
    [[nodiscard]] Page& operator[](Frame frame) noexcept { return pages_[frame]; }
    [[nodiscard]] const Page& operator[](Frame frame) const noexcept { return pages_[frame]; }
    [[nodiscard]] std::byte* data(Frame frame) noexcept { return memory_.get() + frame * page_bytes_; }
    [[nodiscard]] const std::byte* data(Frame frame) const noexcept { return memory_.get() + frame * page_bytes_; }

    [[nodiscard]] std::uint64_t number_of(Rank rank, Offset offset) const noexcept {
        return table_.page_of(rank, offset);
    }
    /// no_frame if the page is not cached.
    [[nodiscard]] Frame find(std::uint64_t number) const noexcept {
        Frame frame = buckets_[bucket(number)];
        while (frame != no_frame && pages_[frame].number != number) frame = pages_[frame].next;
        return frame;
    }
    /// Puts the page at `start` into an empty frame, without valid lines.
    void enter(Frame frame, Rank rank, Offset start) noexcept;
    /// Removes the page from its frame. It is not dirty, and no operation uses the frame.
    void leave(Frame frame) noexcept;

    [[nodiscard]] Lines all_lines(Frame frame) const {
        return {0, (page_end(pages_[frame]) + line_bytes - 1) / line_bytes};
    }
    /// Where the page ends in the part.
    [[nodiscard]] std::uint64_t page_end(const Page& page) const {
        return std::min(page_bytes_, backend_.part_bytes(page.rank) - page.start);
    }
    /// Whether the page contains any of these bytes.
    [[nodiscard]] bool meets(const Page& page, Rank rank, Offset offset, std::uint64_t bytes) const noexcept {
        return page.rank == rank && page.start < offset.bytes + bytes && offset.bytes < page.start + page_bytes_;
    }

    /// Calls use(frame) for the dirty pages that contain any of these bytes. Few bytes take few look-ups, however many
    /// pages are dirty, and many bytes no more than there are dirty pages.
    template <class Use>
    void for_each_dirty(Rank rank, Offset offset, std::uint64_t bytes, Use use) const {
        if (bytes == 0) return;
        const std::uint64_t first = offset.bytes & ~(page_bytes_ - 1);
        const std::uint64_t end = offset.bytes + bytes;
        if (end - first <= dirty_.count() * page_bytes_) {
            for (std::uint64_t start = first; start < end; start += page_bytes_) {
                const Frame frame = find(number_of(rank, start));
                if (frame != no_frame && pages_[frame].dirty != DirtyPages::none) use(frame);
            }
            return;
        }
        for (DirtyPages::Mask mask = dirty_.oldest(); mask != DirtyPages::none; mask = dirty_.after(mask))
            if (meets(pages_[dirty_.frame(mask)], rank, offset, bytes)) use(dirty_.frame(mask));
    }

    [[nodiscard]] std::span<const std::uint64_t> valid(Frame frame) const noexcept {
        return {valid_.data() + frame * valid_words_, valid_words_};
    }
    void make_valid(Frame frame, Lines lines) noexcept { bits::set(valid_words(frame), lines.first, lines.last); }
    /// Whether the lines may be read; marks lines valid that have been overwritten completely.
    [[nodiscard]] bool readable(Frame frame, Lines lines) noexcept {
        return bits::all(valid(frame), lines.first, lines.last) || readable_as_written(frame, lines);
    }
    /// Whether the whole page is here and clean, and the program has read from it in the page's epoch.
    [[nodiscard]] bool was_read(Frame frame) const noexcept;
    /// The same for the page of an access.
    [[nodiscard]] bool was_read(Rank rank, Offset offset) const noexcept;
    /// After an acquire: the numbers of consecutive pages from this one on, and of those before it, that the program
    /// read in the same earlier epoch and that are here completely; about `most`. What a step reads, the next one
    /// mostly reads again.
    struct PagesRead {
        std::uint64_t from = 0; ///< 0 if this page is none of them
        std::uint64_t before = 0;
    };
    [[nodiscard]] PagesRead pages_to_read_again(Frame frame, std::uint64_t most) const noexcept {
        return pages_[frame].epoch == now() ? PagesRead{} : pages_read_with(frame, most);
    }

    /// Lets the page's valid lines be read through the page table, unless an operation is in flight.
    void enter_reads(Frame frame) noexcept;
    /// Moves the page to `epoch`: no line is valid.
    void renew(Frame frame, std::uint64_t epoch) noexcept;
    /// Invalidates these lines.
    void invalidate(Frame frame, Lines lines) noexcept;
    /// Marks the page's bytes as not received.
    void lose(Frame frame) noexcept;
    /// Counts a page that was read ahead and will not be read as wasted.
    void drop_unread(Page& page) noexcept;

    /// As PageCache::validate(), including the dirty masks and the page table.
    void validate() const;

    // RecentUse
    [[nodiscard]] bool take(Frame frame) noexcept override { return table_.take_reads(pages_[frame].number); }

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheConfiguration& configuration) noexcept;

private:
    [[nodiscard]] std::size_t bucket(std::uint64_t number) const noexcept {
        return static_cast<std::size_t>((number * 0x9E3779B97F4A7C15U) >> 32) & (buckets_.size() - 1);
    }
    [[nodiscard]] std::span<std::uint64_t> valid_words(Frame frame) noexcept {
        return {valid_.data() + frame * valid_words_, valid_words_};
    }

    /// The same as readable(), where not all lines are valid yet.
    [[nodiscard]] bool readable_as_written(Frame frame, Lines lines) noexcept;
    /// As pages_to_read_again(), after the quick checks.
    [[nodiscard]] PagesRead pages_read_with(Frame frame, std::uint64_t most) const noexcept;

    const Backend& backend_;
    const std::atomic<std::uint64_t>& epoch_;
    ReadAhead& ahead_;
    support::Statistics& statistics_;
    FilledPageTable table_;
    DirtyPages dirty_;

    std::uint64_t bytes_; ///< of all frames
    std::uint64_t page_bytes_ = 0;
    std::size_t valid_words_ = 0; ///< of one page
    support::AlignedMemory memory_;
    std::vector<Page> pages_; ///< of each frame
    std::vector<std::uint64_t> valid_;
    std::vector<Frame> buckets_;
};

} // namespace lapwing::detail::cache
