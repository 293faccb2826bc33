#include "cache/filled_page_table.hpp"

#include "cache/bits.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lapwing::detail::cache {

FilledPageTable::FilledPageTable(const PageCacheConfiguration& configuration) noexcept
    : part_stride_{part_stride(configuration)}, all_places_{[&] {
          std::uint64_t places = 0;
          const bool overflows =
              __builtin_mul_overflow(part_stride_, static_cast<std::uint64_t>(configuration.ranks.all()), &places);
          return overflows ? ~std::uint64_t{0} : places; // more than there is address space for
      }()} {
    alone_ = configuration.alone;
}

namespace {

[[nodiscard]] std::size_t most_blocks(const PageCacheLayout& layout) noexcept {
    const std::uint64_t bytes = layout.frames * layout.page_bytes;
    return std::max<std::size_t>(4, bytes / 4 / PageEntries<window::PageReadEntry>::block_bytes);
}

} // namespace

std::uint64_t FilledPageTable::memory_for(const PageCacheLayout& layout) noexcept {
    return PageEntries<ReadEntry>::memory_for(most_blocks(layout)) +
           PageEntries<WriteEntry>::memory_for(most_blocks(layout));
}

void FilledPageTable::lay_out(const PageCacheLayout& layout) {
    const std::uint64_t pages = all_places_ / layout.page_bytes;
    PageEntries<ReadEntry> reads{pages, most_blocks(layout)};
    PageEntries<WriteEntry> writes{pages, most_blocks(layout)};
    page_bytes_ = layout.page_bytes;
    layout_shift_ = static_cast<unsigned>(std::countr_zero(layout.page_bytes));
    // Where there is no address space the table stays one that finds nothing.
    const bool room = reads.data() != nullptr && writes.data() != nullptr;
    page_shift_ = room ? layout_shift_ : two_pages;
    granule_shift_ = std::max(6U, layout_shift_ - std::min(layout_shift_, 6U));
    reads_ = room ? reads.data() : no_reads.data();
    writes_ = room ? writes.data() : no_writes.data();
    forget_reads();
    read_entries_ = room ? std::move(reads) : PageEntries<ReadEntry>{};
    write_entries_ = room ? std::move(writes) : PageEntries<WriteEntry>{};
    latest_ = {};
}

void FilledPageTable::enter_reads(std::uint64_t page, std::uint64_t epoch, const std::byte* data,
                                  std::span<const std::uint64_t> valid_lines) noexcept {
    if (epoch < epoch_) return; // another thread has acquired meanwhile
    begin(epoch);
    std::uint64_t granules = 0;
    if (valid_lines.size() == 1) {
        granules = valid_lines[0];
    } else {
        const std::uint64_t lines = page_bytes_ / line_bytes / 64; // per granule
        for (unsigned g = 0; g < 64; ++g)
            if (bits::all(valid_lines, g * lines, (g + 1) * lines)) granules |= std::uint64_t{1} << g;
    }
    (void)enter_granules(page, data, granules, cached_pages_);
}

bool FilledPageTable::enter_memory(Rank rank, Offset offset, const std::byte* memory, std::uint64_t bytes) noexcept {
    const std::uint64_t start = offset.bytes / page_bytes_ * page_bytes_;
    // Of the last granule only what is within the part is ever asked for.
    const std::uint64_t granule = std::uint64_t{1} << granule_shift_;
    const std::uint64_t granules = (std::min(page_bytes_, bytes - start) + granule - 1) / granule;
    return enter_granules(page_of(rank, offset), memory + start, bits::word_mask(0, static_cast<unsigned>(granules)),
                          memory_pages_);
}

bool FilledPageTable::enter_granules(std::uint64_t page, const std::byte* data, std::uint64_t granules,
                                     std::uint64_t& of_its_kind) noexcept {
    ReadEntry* const entry = read_entries_.enter(page);
    if (entry == nullptr) return false;
    of_its_kind += entry->valid == 0 ? 1U : 0U;
    *entry = {.data = reinterpret_cast<std::uintptr_t>(data) - place_of_page(page),
              .valid = granules << first_bit(page)};
    return true;
}

void FilledPageTable::enter_writes(std::uint64_t page, std::byte* data, std::span<std::uint64_t> dirty_bits) noexcept {
    if (allowed_ == InlineWrites::none) return;
    const auto biased_data = reinterpret_cast<std::uintptr_t>(data) - place_of_page(page);
    const auto biased_dirty = reinterpret_cast<std::uintptr_t>(dirty_bits.data()) - place_of_page(page) / 8;
    if (allowed_ == InlineWrites::with_copies) {
        if (copies_version_ != nullptr && copies_version_->load(std::memory_order_relaxed) != copies_known_at_) {
            write_entries_.clear();
            copies_version_ = nullptr;
        }
        if (write_entries_.data() != nullptr && write_entries_[page].copy != ragged)
            latest_ = {page, biased_data, biased_dirty};
    } else if (WriteEntry* const entry = write_entries_.enter(page)) {
        *entry = {.data = biased_data,
                  .dirty = biased_dirty,
                  .begin = static_cast<std::uint32_t>(place_of_page(page)),
                  .count = static_cast<std::uint32_t>(page_bytes_)};
    }
}

void FilledPageTable::enter_copies(std::uint64_t place, const window::CopiesAround& copies) noexcept {
    constexpr std::uint64_t few = 128; // bytes: where copies are ragged, asking costs more than it saves
    const Latest latest = std::exchange(latest_, {});
    const std::uint64_t page = place >> layout_shift_;
    if (latest.page != page) return;
    if (copies.version != copies_version_ || copies.known_at != copies_known_at_) {
        write_entries_.clear();
        copies_version_ = copies.version;
        copies_known_at_ = copies.known_at;
    }
    WriteEntry* const entry = write_entries_.enter(page);
    if (entry == nullptr) return;
    const std::uint64_t begin = (place - copies.before + 15) / 16 * 16;
    const std::uint64_t end = (place + copies.after) / 16 * 16;
    if (copies.after == 0 || begin + std::min(few, page_bytes_) > end) {
        *entry = {.copy = ragged};
        return;
    }
    *entry = {.data = latest.data,
              .dirty = latest.dirty,
              .copy = copies.copy == nullptr ? WriteEntry::not_copied
                                             : reinterpret_cast<std::uintptr_t>(copies.copy) - place,
              .begin = static_cast<std::uint32_t>(begin),
              .count = static_cast<std::uint32_t>(end - begin)};
}

void FilledPageTable::leave_writes(std::uint64_t page) noexcept {
    if (latest_.page == page) latest_ = {};
    write_entries_.leave(page);
}

void FilledPageTable::allow_writes(InlineWrites allowed) noexcept {
    allowed_ = allowed;
    write_entries_.clear();
    latest_ = {};
}

void FilledPageTable::leave_reads(std::uint64_t page) noexcept {
    if (read_entries_.data() == nullptr || read_entries_[page].valid == 0) return;
    --cached_pages_;
    read_entries_.leave(page);
}

void FilledPageTable::forget_reads() noexcept {
    (void)read_hits();
    read_entries_.clear();
    cached_pages_ = 0;
    memory_pages_ = 0;
}

std::uint64_t FilledPageTable::read_hits() noexcept {
    const std::uint64_t hits = hits_ - shared_out_;
    shared_out_ = hits_;
    cached_hits_ += memory_pages_ == 0 ? hits : hits * cached_pages_ / (cached_pages_ + memory_pages_);
    return cached_hits_;
}

bool FilledPageTable::take_reads(std::uint64_t page) noexcept {
    if (!serves_reads(page, epoch_)) return false;
    leave_reads(page);
    return true;
}

void FilledPageTable::collect_hits(support::Statistics& statistics) noexcept {
    const std::uint64_t hits = hits_ + write_hits_;
    statistics.add(Counter::cache_hits, hits - collected_hits_);
    collected_hits_ = hits;
    statistics.add(Counter::prefetch_writes, copy_writes_ - std::exchange(collected_copy_writes_, copy_writes_));
}

} // namespace lapwing::detail::cache
