#include "cache/filled_hot_pages.hpp"

#include "cache/bits.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lapwing::detail::cache {
namespace {

[[nodiscard]] std::size_t read_entries(std::uint64_t frames) {
    return std::clamp<std::size_t>(2 * std::bit_ceil<std::size_t>(frames), 64, 8192);
}
/// Half a page each, so that a working set of some 100 KiB is found by them. More would push it out of the processor's
/// first-level cache.
[[nodiscard]] std::size_t runs_for(std::size_t read_entries) { return std::min<std::size_t>(read_entries, 512); }
[[nodiscard]] std::size_t write_entries(std::uint64_t dirty_pages) {
    return std::clamp<std::size_t>(2 * std::bit_ceil<std::size_t>(dirty_pages), 16, 4096);
}

} // namespace

void FilledHotPages::lay_out(const PageCacheLayout& layout, std::uint64_t largest_part) {
    read_entries_.assign(read_entries(layout.frames), {});
    write_entries_.assign(write_entries(layout.dirty_pages), {});
    page_bytes_ = layout.page_bytes;
    page_shift_ = static_cast<unsigned>(std::countr_zero(layout.page_bytes));
    granule_shift_ = std::max(6U, page_shift_ - std::min(page_shift_, 6U));
    rank_stride_ = (largest_part >> page_shift_) + 2; // so that no page follows the last one of a rank
    reads_ = read_entries_.data();
    read_mask_ = read_entries_.size() - 1;
    writes_ = write_entries_.data();
    write_mask_ = write_entries_.size() - 1;
    run_entries_.assign(runs_for(read_entries_.size()), {});
    has_blocks_ = false;
    found_entries_.assign(run_entries_.size(), 0);
    runs_of_pages_entries_.assign(read_entries_.size(), {no_run_number, no_run_number, no_run_number, no_run_number});
    runs_ = run_entries_.data();
    run_mask_ = run_entries_.size() - 1;
    run_shift_ = page_shift_ - 1;
    found_lately_ = found_entries_.data();
    runs_of_pages_ = runs_of_pages_entries_.data();
    stretch_ = {};
    latest_ = {};
    last_stretch_.end = 0;
}

void FilledHotPages::enter_reads(std::uint64_t page, std::uint64_t epoch, const std::byte* data,
                                 std::span<const std::uint64_t> valid_lines) noexcept {
    std::uint64_t granules = 0;
    if (valid_lines.size() == 1) {
        granules = valid_lines[0];
    } else {
        const std::uint64_t lines = page_bytes_ / line_bytes / 64; // per granule
        for (unsigned g = 0; g < 64; ++g)
            if (bits::all(valid_lines, g * lines, (g + 1) * lines)) granules |= std::uint64_t{1} << g;
    }
    const std::uint64_t place = slot(page, read_mask_);
    drop_runs(place);
    reads_[place] = {page, epoch, data, granules};
}

void FilledHotPages::enter_writes(std::uint64_t page, std::byte* data, std::span<std::uint64_t> dirty_bits) noexcept {
    if (allowed_ == InlineWrites::none) return;
    const WriteEntry fresh{page, data, reinterpret_cast<std::uint8_t*>(dirty_bits.data())};
    if (allowed_ == InlineWrites::with_copies) {
        latest_ = fresh;
        return;
    }
    WriteEntry& entry = writes_[slot(page, write_mask_)];
    leave_stretch(entry.page);
    entry = fresh;
}

void FilledHotPages::leave_reads(std::uint64_t page) noexcept {
    const std::uint64_t place = slot(page, read_mask_);
    if (reads_[place].page != page) return;
    drop_runs(place);
    reads_[place].page = no_page;
}

void FilledHotPages::leave_writes(std::uint64_t page) noexcept {
    leave_stretch(page);
    if (latest_.page == page) latest_ = {};
    WriteEntry& entry = writes_[slot(page, write_mask_)];
    if (entry.page == page) entry.page = no_page;
}

void FilledHotPages::allow_writes(InlineWrites allowed) noexcept {
    allowed_ = allowed;
    std::ranges::fill(write_entries_, WriteEntry{});
    stretch_ = {};
    latest_ = {};
    last_stretch_.end = 0;
}

bool FilledHotPages::take_reads(std::uint64_t page) noexcept {
    const ReadEntry& entry = reads_[slot(page, read_mask_)];
    if (entry.page != page || entry.epoch != epoch_->load(std::memory_order_relaxed)) return false;
    leave_reads(page);
    return true;
}

void FilledHotPages::collect_hits(support::Statistics& statistics) noexcept {
    const std::uint64_t hits = hits_ + write_hits_;
    statistics.add(Counter::cache_hits, hits - collected_hits_);
    collected_hits_ = hits;
    statistics.add(Counter::prefetch_writes, copy_writes_ - std::exchange(collected_copy_writes_, copy_writes_));
}

std::uint64_t FilledHotPages::bytes_of(std::size_t reads, std::size_t writes) noexcept {
    return reads * (sizeof(ReadEntry) + sizeof(RunsOfPage)) + writes * sizeof(WriteEntry) +
           runs_for(reads) * (sizeof(RunOrBlock) + sizeof(std::uint64_t));
}

std::uint64_t FilledHotPages::memory_bytes() const noexcept {
    return bytes_of(read_entries_.capacity(), write_entries_.capacity());
}

std::uint64_t FilledHotPages::memory_for(const PageCacheLayout& layout) noexcept {
    return bytes_of(read_entries(layout.frames), write_entries(layout.dirty_pages));
}

} // namespace lapwing::detail::cache
