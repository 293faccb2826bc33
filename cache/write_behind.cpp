#include "cache/write_behind.hpp"

#include "cache/bits.hpp"

#include <lapwing/error.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::cache {
namespace {

constexpr std::size_t most_runs = 512; ///< passed to the backend at a time
constexpr std::uint64_t most_pages_to_write_early = 16;
/// Runs of at least this size are put straight from the cache's memory, in their own operation; smaller ones are
/// copied into shared messages, which costs less than a hundred operations would.
constexpr std::uint64_t least_run_from_memory = 4097;

} // namespace

/// Collects the dirty runs of pages into as few puts as it can.
class WriteBehind::Writer {
public:
    explicit Writer(WriteBehind& behind) noexcept : behind_{behind} {
        behind_.runs_.clear(); // a writer that ended by an exception left them: their pages are still dirty
    }

    /// Pages in ascending order give the longest runs.
    void add(Frame frame) {
        const CachedPages& pages = behind_.pages_;
        const Page& page = pages[frame];
        // Skips words in which nothing is dirty: if one element of a page was written, all but one.
        std::span<const std::uint64_t> bits = pages.dirty().bits(page.dirty);
        std::uint64_t first_byte = 0;
        for (; !bits.empty() && bits.front() == 0; first_byte += 64) bits = bits.subspan(1);
        while (!bits.empty() && bits.back() == 0) bits = bits.first(bits.size() - 1);
        const std::byte* const data = pages.data(frame) + first_byte;
        const std::uint64_t start = page.start + first_byte;
        if (!bits::at_most_one_run(bits)) return add_scattered(page.rank, start, bits, data);
        bits::for_each_run(bits, [&](std::uint64_t begin, std::uint64_t end) {
            const std::byte* const source = data + begin;
            const std::uint64_t offset = start + begin;
            if (open_.bytes != 0 && rank_ == page.rank && open_.offset.bytes + open_.bytes == offset &&
                open_.source + open_.bytes == source) {
                open_.bytes += end - begin;
                ++frames_;
                return;
            }
            send();
            open_ = {offset, source, end - begin};
            rank_ = page.rank;
            first_ = frame;
            frames_ = 1;
        });
    }
    void finish() {
        send();
        send_small();
    }

private:
    /// A page with several runs has them copied, since only one operation at a time may use a frame.
    void add_scattered(Rank rank, std::uint64_t start, std::span<const std::uint64_t> bits, const std::byte* data) {
        send();
        std::uint64_t runs = 0;
        std::uint64_t bytes = 0;
        bits::for_each_run(bits, [&](std::uint64_t begin, std::uint64_t end) {
            add_small(rank, {start + begin, data + begin, end - begin});
            ++runs;
            bytes += end - begin;
        });
        behind_.statistics_.add(Counter::cache_write_backs, runs);
        behind_.statistics_.add(Counter::cache_write_back_bytes, bytes);
    }
    void add_small(Rank rank, const DirtyRun& run) {
        if (behind_.runs_.size() == most_runs || (small_rank_ != rank && !behind_.runs_.empty())) send_small();
        small_rank_ = rank;
        behind_.runs_.push_back(run);
    }
    void send() {
        if (open_.bytes == 0) return;
        behind_.statistics_.add(Counter::cache_write_backs, Counter::cache_write_back_bytes, open_.bytes);
        if (open_.bytes >= least_run_from_memory) {
            const Backend::Token token = behind_.backend_.start_put(rank_, open_.offset, {open_.source, open_.bytes});
            behind_.under_way_.begin_put(token, first_, frames_, open_.bytes);
        } else {
            add_small(rank_, open_);
        }
        open_.bytes = 0;
    }
    void send_small() {
        if (behind_.runs_.empty()) return;
        behind_.backend_.put_runs(small_rank_, behind_.runs_);
        behind_.runs_.clear();
    }

    WriteBehind& behind_;
    DirtyRun open_;
    Rank rank_ = 0;
    Rank small_rank_ = 0;
    Frame first_ = 0;
    Frame frames_ = 0; ///< of the open run
};

WriteBehind::WriteBehind(Backend& backend, CachedPages& pages, OperationsUnderWay& under_way,
                         support::Statistics& statistics)
    : backend_{backend}, pages_{pages}, under_way_{under_way}, statistics_{statistics} {
    runs_.reserve(most_runs);
}

void WriteBehind::attach_mask(Frame frame) {
    DirtyPages& dirty = pages_.dirty();
    if (dirty.full()) clean_older_half();
    pages_[frame].dirty = dirty.attach(frame);
    ++written_pages_;
}

void WriteBehind::detach_mask(Frame frame) {
    Page& page = pages_[frame];
    // Bytes of lines that were overwritten completely stay valid.
    if (page.epoch == pages_.now()) (void)pages_.readable(frame, lines_of(0, pages_.page_bytes()));
    pages_.page_table().leave_writes(page.number);
    pages_.dirty().detach(std::exchange(page.dirty, DirtyPages::none));
}

// ---- which pages ----------------------------------------------------------------------------------------------------

void WriteBehind::clean_with_neighbours(Frame frame) {
    const std::uint64_t page_bytes = pages_.page_bytes();
    to_clean_.clear();
    for (std::uint64_t number = pages_[frame].number;
         frame < pages_.frames() && pages_[frame].number == number && pages_[frame].dirty != DirtyPages::none;
         ++frame, ++number) {
        to_clean_.push_back(frame);
        // A page that is not written to its end ends the run.
        if (!pages_.dirty().all(pages_[frame].dirty, page_bytes - 1, page_bytes)) break;
    }
    clean();
}

void WriteBehind::clean_older_half() {
    const DirtyPages& dirty = pages_.dirty();
    to_clean_.clear();
    const std::size_t half = (dirty.room() + 1) / 2;
    for (DirtyPages::Mask mask = dirty.oldest(); to_clean_.size() < half; mask = dirty.after(mask))
        to_clean_.push_back(dirty.frame(mask));
    clean_sorted();
}

template <class Wanted>
void WriteBehind::clean_if(Wanted&& wanted) {
    const DirtyPages& dirty = pages_.dirty();
    to_clean_.clear();
    for (DirtyPages::Mask mask = dirty.oldest(); mask != DirtyPages::none; mask = dirty.after(mask))
        if (wanted(std::as_const(pages_)[dirty.frame(mask)])) to_clean_.push_back(dirty.frame(mask));
    clean_sorted();
}

void WriteBehind::write_back(Rank rank, Offset offset, std::uint64_t bytes) {
    to_clean_.clear();
    pages_.for_each_dirty(rank, offset, bytes, [&](Frame frame) {
        const Page& page = std::as_const(pages_)[frame];
        const std::uint64_t begin = std::max(offset.bytes, page.start) - page.start;
        const std::uint64_t end = std::min(offset.bytes + bytes, page.start + pages_.page_bytes()) - page.start;
        if (pages_.dirty().any(page.dirty, begin, end)) to_clean_.push_back(frame);
    });
    if (!to_clean_.empty()) clean_sorted();
}

void WriteBehind::write_early(Rank rank, Offset offset, std::uint64_t bytes) {
    if (!releases_often_ || written_pages_ > most_pages_to_write_early || !pages_.dirty().any()) return;
    clean_if([&](const Page& page) { return !pages_.meets(page, rank, offset, bytes); });
}

void WriteBehind::start_release() {
    clean_if([](const Page&) { return true; });
}

void WriteBehind::finish_release() {
    under_way_.finish_puts();
    if (written_pages_ != 0) releases_often_ = std::exchange(written_pages_, 0) <= most_pages_to_write_early;
}

void WriteBehind::release(Rank rank) {
    clean_if([rank](const Page& page) { return page.rank == rank; });
    under_way_.finish_puts();
}

// ---- the puts -------------------------------------------------------------------------------------------------------

void WriteBehind::clean_sorted() {
    std::ranges::sort(to_clean_, {}, [this](Frame frame) { return pages_[frame].number; });
    clean();
}

void WriteBehind::clean() {
    drop_lost();
    for (;;) {
        try {
            put_all();
            break;
        } catch (const PeerLeftError&) {
            // The rank may have left meanwhile. What was put before that is put again: the same bytes.
            if (!drop_lost()) throw;
        }
    }
    for (const Frame frame : to_clean_) detach_mask(frame);
}

void WriteBehind::put_all() {
    for (const Frame frame : to_clean_) under_way_.finish(pages_[frame]);
    try {
        Writer writer{*this};
        for (const Frame frame : to_clean_) writer.add(frame);
        writer.finish();
    } catch (...) {
        // All stay dirty, and are put again. The next write to one whose put is in flight must wait for it.
        for (const Frame frame : to_clean_)
            if (pages_[frame].operation != no_operation) pages_.page_table().leave_writes(pages_[frame].number);
        throw;
    }
}

bool WriteBehind::drop_lost() {
    const auto lost = [&](Frame frame) {
        const Page& page = pages_[frame];
        if (!backend_.has_left(page.rank)) return false;
        std::uint64_t bytes = 0;
        for (const std::uint64_t word : std::as_const(pages_).dirty().bits(page.dirty))
            bytes += static_cast<std::uint64_t>(std::popcount(word));
        backend_.note_lost(page.rank, bytes);
        detach_mask(frame);
        pages_.lose(frame); // or reads would find what no other rank will ever see
        return true;
    };
    return std::erase_if(to_clean_, lost) != 0;
}

void WriteBehind::write_back_for_another_thread() {
    DirtyPages& dirty = pages_.dirty();
    const std::uint64_t page_bytes = pages_.page_bytes();
    std::vector<std::byte> copies(page_bytes);
    std::vector<std::uint64_t> taken(page_bytes / 64);
    std::vector<DirtyRun> runs;
    runs.reserve(page_bytes / 2);
    for (DirtyPages::Mask mask = dirty.oldest(); mask != DirtyPages::none; mask = dirty.after(mask)) {
        const Page& page = pages_[dirty.frame(mask)];
        auto* const bits = reinterpret_cast<std::uint8_t*>(dirty.bits(mask).data());
        auto* const taken_bits = reinterpret_cast<std::uint8_t*>(taken.data());
        std::byte* const bytes = pages_.data(dirty.frame(mask));
        for (std::uint64_t group = 0; group < page_bytes / 8; ++group) {
            std::atomic_ref<std::uint8_t> cell{bits[group]};
            // The owner stores the bytes, then the bits; acquire makes the bytes of these bits visible.
            const bool clean = cell.load(std::memory_order_relaxed) == 0;
            taken_bits[group] = clean ? std::uint8_t{0} : cell.exchange(0, std::memory_order_acquire);
        }
        runs.clear();
        bits::for_each_run(std::span<const std::uint64_t>{taken}, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t at = begin; at < end; ++at)
                copies[at] = std::atomic_ref<std::byte>{bytes[at]}.load(std::memory_order_relaxed);
            runs.push_back({page.start + begin, copies.data() + begin, end - begin});
        });
        if (runs.empty()) continue;
        try {
            backend_.put_runs(page.rank, runs);
            statistics_.add(Counter::cache_write_backs, runs.size());
            for (const DirtyRun& run : runs) statistics_.add(Counter::cache_write_back_bytes, run.bytes);
        } catch (...) {
            if (backend_.has_left(page.rank)) {
                std::uint64_t lost = 0;
                for (const std::uint64_t word : taken) lost += static_cast<std::uint64_t>(std::popcount(word));
                backend_.note_lost(page.rank, lost);
                continue;
            }
            // The next release puts them again, even those already put; the owner may have set bits meanwhile.
            for (std::uint64_t group = 0; group < page_bytes / 8; ++group)
                if (taken_bits[group] != 0)
                    std::atomic_ref<std::uint8_t>{bits[group]}.fetch_or(taken_bits[group], std::memory_order_release);
            throw;
        }
    }
}

std::uint64_t WriteBehind::memory_bytes() const noexcept {
    return to_clean_.capacity() * sizeof(Frame) + runs_.capacity() * sizeof(DirtyRun);
}

std::uint64_t WriteBehind::memory_for(const PageCacheLayout& layout) noexcept {
    return layout.dirty_pages * sizeof(Frame) + most_runs * sizeof(DirtyRun);
}

} // namespace lapwing::detail::cache
