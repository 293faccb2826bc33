// Room: window
#pragma once

#include <lapwing/extents.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lapwing {
class Window;
}

namespace lapwing::detail::window {

/// A page with bytes that may be read.
struct HotPageReadEntry {
    static constexpr std::uint64_t no_page = ~std::uint64_t{0};
    std::uint64_t page = no_page;
    std::uint64_t epoch = 0;
    const std::byte* data = nullptr;
    std::uint64_t valid = 0; ///< one bit for each 2^granule_shift bytes
};
/// A page with room for dirty bytes.
struct HotPageWriteEntry {
    std::uint64_t page = HotPageReadEntry::no_page;
    std::byte* data = nullptr;
    std::uint8_t* dirty = nullptr; ///< one bit a byte
};

/// Elements of an array's row that lie one after another in a page that may be read. A cache line, so that a hit reads
/// one.
struct alignas(64) HotPageRun {
    std::int64_t first = 0; ///< last index of the first element
    std::uint64_t count = 0;
    const std::byte* data = nullptr; ///< the first element
    std::uint64_t epoch = 0;
    std::array<std::int64_t, 4> row{}; ///< the other indices

    template <std::size_t N>
    [[nodiscard, gnu::always_inline]] std::uint64_t place(const Index<N>& index) const noexcept {
        return static_cast<std::uint64_t>(index[N - 1]) - static_cast<std::uint64_t>(first);
    }
    template <std::size_t N>
    [[nodiscard, gnu::always_inline]] bool holds(const Index<N>& index) const noexcept {
        std::uint64_t differs = 0;
        for (std::size_t d = 0; d + 1 < N; ++d) differs |= static_cast<std::uint64_t>(index[d] ^ row[d]);
        return differs == 0 && place(index) < count;
    }
};

/// The same for one of several arrays in a window, whose elements have numbers: the elements of a block of numbers, in
/// at most two parts, each in one page or in the node's memory.
struct alignas(64) HotPageBlock {
    struct Part {
        std::int64_t first = 0;
        std::uintptr_t begin = 0; ///< where element number 0 would be
        std::uint32_t count = 0;
        std::uint16_t elsewhere = 0; ///< 1 in a page, 0 in the node's memory
        std::uint16_t element_bytes = 0;

        [[nodiscard]] const std::byte* data() const noexcept {
            return reinterpret_cast<const std::byte*>(begin + static_cast<std::uint64_t>(first) * element_bytes);
        }
        [[nodiscard, gnu::always_inline]] bool holds(std::int64_t number) const noexcept {
            return static_cast<std::uint64_t>(number) - static_cast<std::uint64_t>(first) < count;
        }
    };
    std::uint64_t epoch = 0;
    std::int64_t array = 0;
    std::array<Part, 2> parts{};
};

static_assert(sizeof(HotPageBlock) == sizeof(HotPageRun));

/// A table has runs, or blocks.
union HotPageRunOrBlock {
    HotPageRun run{};
    HotPageBlock block;
};

/// An element of an array that lies in another rank's segment.
template <std::size_t N>
struct HotPageElement {
    Index<N> index;
    int rank = 0;
    std::uint64_t offset = 0; ///< in bytes
    std::uint64_t before = 0; ///< elements of its row that lie before it in the segment, one after another
    std::uint64_t after = 0;  ///< the same from it on
};

/// Copies beside the cache of an element that is about to be written, and of its neighbours in memory. A write stores
/// there, too.
struct HotPageCopies {
    std::uint64_t before = 0;  ///< bytes before the element's first one of which the same is known
    std::uint64_t after = 0;   ///< the same from that on; 0: nothing is known of the element
    std::byte* copy = nullptr; ///< of the element's first byte; null: nothing of this has a copy
    /// Holds as long as this is `known_at`, if the thread looks at it between its store to the page and the one to the
    /// copy.
    const std::atomic<std::uint64_t>* version = nullptr;
    std::uint64_t known_at = 0;
};
/// Of a cached window: where copies are of what is around `offset` of another rank's part, of which `before` bytes lie
/// before it. For writes of the calling thread to pages that its table knows.
[[nodiscard]] HotPageCopies copies_of(const Window& window, Rank target, Offset offset, std::uint64_t before,
                                      std::uint64_t after);

/// The part of a cache that element accesses see: a small direct-mapped table of the pages that one thread used lately,
/// so that a hit is two comparisons, a test of a bit and a load, without a walk through a hash table and without a
/// lock.
///
/// In front of the table are runs: elements of an array's row that lie one after another in a page that may be read.
/// They are found by their index alone, without working out whose they are. Where arrays share a window, it has blocks
/// instead, which hold own elements as well. For writes there is one run, that of the page which a loop along a row has
/// entered last: the stretch.
///
/// In a window with copies beside the cache a write must go to them, too. No page is entered for writing there; only
/// the stretch is, as far as it is known where the copies are.
///
/// One thread reads and writes it. An acquire by any thread makes all of it unusable at once, since it moves the epoch
/// that every entry is compared with. A page that is not here may still be in the cache itself: that finds out, and
/// enters the page.
class HotPageTable {
public:
    using ReadEntry = HotPageReadEntry;
    using WriteEntry = HotPageWriteEntry;
    using Run = HotPageRun;
    using RunOrBlock = HotPageRunOrBlock;
    static constexpr std::uint64_t no_page = HotPageReadEntry::no_page;

    /// What an entry can serve without looking for page boundaries: aligned values that lie in one line.
    template <class T>
    static constexpr bool serves =
        std::is_trivially_copyable_v<T> && (sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 8;

    /// The value at `offset` of `rank`, which is a multiple of its size; null if it is not here.
    template <class T>
        requires serves<T>
    [[nodiscard]] const T* find(int rank, std::uint64_t offset) noexcept {
        const std::uint64_t page = page_of(rank, offset);
        const ReadEntry& entry = reads_[slot(page, read_mask_)];
        const std::uint64_t within = offset & (page_bytes_ - 1);
        // Relaxed: an acquire that happens before this access has been seen; others need not be.
        const std::uint64_t now = epoch();
        if (((entry.page ^ page) | (entry.epoch ^ now)) != 0 || (entry.valid >> (within >> granule_shift_) & 1U) == 0)
            [[unlikely]]
            return nullptr;
        hits_ += 1;
        return reinterpret_cast<const T*>(entry.data + within);
    }

    /// Where find() would find a value; `here` is false where it would not, and `value` is then any address. Without a
    /// branch, for lists of elements whose places the processor cannot predict. They are counted by note_hits().
    struct Looked {
        const std::byte* value;
        bool here;
    };
    template <class T>
        requires serves<T>
    [[nodiscard, gnu::always_inline]] Looked look(int rank, std::uint64_t offset) const noexcept {
        const std::uint64_t page = page_of(rank, offset);
        const ReadEntry& entry = reads_[slot(page, read_mask_)];
        const std::uint64_t within = offset & (page_bytes_ - 1);
        const std::uint64_t differs =
            (entry.page ^ page) | (entry.epoch ^ epoch()) | (~entry.valid >> (within >> granule_shift_) & 1U);
        return {entry.data + within, differs == 0};
    }
    void note_hits(std::uint64_t reads) noexcept { hits_ += reads; }

    /// Writes a value into a page that has room for dirty bytes; false if it is not here.
    template <class T>
        requires serves<T>
    [[nodiscard]] bool write(int rank, std::uint64_t offset, const T& value) noexcept {
        const std::uint64_t page = page_of(rank, offset);
        const WriteEntry& entry = writes_[slot(page, write_mask_)];
        if (entry.page != page) [[unlikely]]
            return false;
        const std::uint64_t within = offset & (page_bytes_ - 1);
        store(entry.data, entry.dirty, within, value);
        return true;
    }

    /// Whether an element is in a run or the stretch, so that it is in bounds and elsewhere; find_near() or
    /// write_near() may still refuse it.
    template <class T, std::size_t N>
    [[nodiscard, gnu::always_inline]] bool holds(const Index<N>& index) const noexcept {
        if constexpr (has_runs<T, N>)
            if (runs_[run_slot<T>(index)].run.holds(index)) return true;
        return in_stretch(index);
    }
    /// The value of an element that a run holds; null if none does.
    template <class T, std::size_t N>
        requires serves<T>
    [[nodiscard, gnu::always_inline]] const T* find_near(const Index<N>& index) noexcept {
        if constexpr (has_runs<T, N>) {
            const Run& run = runs_[run_slot<T>(index)].run;
            if (!run.holds(index) || run.epoch != epoch()) return nullptr;
            hits_ += 1;
            return reinterpret_cast<const T*>(run.data) + run.place(index);
        } else {
            return nullptr;
        }
    }
    /// The same of one of several arrays in the window. Own elements are found here, too, where they have been entered:
    /// whose an element is takes no branch.
    template <class T>
        requires serves<T>
    [[nodiscard, gnu::always_inline]] const T* find_element(std::int64_t array, std::int64_t number) noexcept {
        const HotPageBlock& block = runs_[block_slot<T>(array, number)].block;
        const std::uint64_t now = epoch();
        // Which part it is in cannot be predicted.
        const HotPageBlock::Part& part = block.parts[block.parts.front().holds(number) ? 0 : 1];
        const std::uint64_t differs = (block.epoch ^ now) | static_cast<std::uint64_t>(block.array ^ array);
        if (differs != 0 || !part.holds(number)) [[unlikely]]
            return nullptr;
        hits_ += part.elsewhere;
        return reinterpret_cast<const T*>(part.begin + static_cast<std::uint64_t>(number) * sizeof(T));
    }
    /// Writes an element that the stretch holds; false if it cannot be written there.
    template <class T, std::size_t N>
        requires serves<T>
    [[nodiscard]] bool write_near(const Index<N>& index, const T& value) noexcept {
        if (!in_stretch(index)) return false;
        const std::uint64_t place = place_in_stretch(index) * sizeof(T);
        store(stretch_.write, stretch_.dirty, stretch_.within + place, value);
        return stretch_.version == nullptr || write_copy(place, value);
    }
    /// Whether several calls in a row had neighbouring indices: a loop along one row goes on outside of the stretch.
    /// Loops that take turns between rows must not move it all the time.
    [[nodiscard]] bool follows(std::int64_t index) noexcept {
        const bool neighbour = index - last_ == 1 || index - last_ == -1;
        last_ = index;
        neighbours_ = neighbour ? neighbours_ + 1 : 0;
        if (neighbours_ < 8) return false;
        neighbours_ = 0;
        return true;
    }
    /// Makes the row around an element that has just been written the stretch, as far as its page may be written.
    template <class T, std::size_t N>
        requires serves<T>
    void enter_stretch(const HotPageElement<N>& element) noexcept {
        const std::uint64_t page = page_of(element.rank, element.offset);
        const WriteEntry& write = writes_[slot(page, write_mask_)];
        if (write.page != page) return;
        const std::uint64_t within = element.offset & (page_bytes_ - 1);
        const std::uint64_t before = std::min(element.before, within / sizeof(T));
        stretch_ = {.count = before + std::min(element.after, (page_bytes_ - within) / sizeof(T)),
                    .within = within - before * sizeof(T),
                    .write = write.data,
                    .dirty = write.dirty,
                    .page = page};
        std::ranges::copy(element.index, stretch_.first.begin());
        stretch_.first[N - 1] -= static_cast<std::int64_t>(before);
    }
    /// Whether the last write went to a page of a window with copies.
    [[nodiscard]] bool has_copies() const noexcept { return latest_.page != no_page; }
    /// Whether it is worth while to find out where the copies are around an element that has just been written, the
    /// last of whose indices is `index`: it is one of a loop along a row, or near the stretch that a loop has left.
    [[nodiscard]] bool wants_copies(int rank, std::uint64_t offset, std::int64_t index) noexcept {
        if (latest_.page != page_of(rank, offset)) return false; // the write has bypassed the cache
        if (last_stretch_.pause != 0) {
            --last_stretch_.pause;
            return false;
        }
        // Below, the difference wraps around.
        const bool near = place_of(rank, offset) + page_bytes_ - last_stretch_.begin <
                          last_stretch_.end - last_stretch_.begin + 2 * page_bytes_;
        return (near && last_stretch_.end != 0) || follows(index);
    }
    /// As above, with what is known of copies; wants_copies() has been true.
    template <class T, std::size_t N>
        requires serves<T>
    void enter_stretch(const HotPageElement<N>& element, const HotPageCopies& copies) noexcept {
        constexpr std::uint64_t few = 16;
        constexpr unsigned long_pause = 32;
        const std::uint64_t within = element.offset & (page_bytes_ - 1);
        const std::uint64_t before = std::min(element.before, within / sizeof(T));
        const std::uint64_t after = std::min(element.after, (page_bytes_ - within) / sizeof(T));
        const std::uint64_t known_before = std::min(before, copies.before / sizeof(T));
        const std::uint64_t count = known_before + std::min(after, copies.after / sizeof(T));
        // Where copies are ragged, asking costs more than it saves.
        if (count < few && count < before + after) last_stretch_.pause = long_pause;
        if (copies.after < sizeof(T)) return;
        stretch_ = {.count = count,
                    .within = within - known_before * sizeof(T),
                    .write = latest_.data,
                    .dirty = latest_.dirty,
                    .page = latest_.page,
                    .copies = copies.copy == nullptr ? nullptr : copies.copy - known_before * sizeof(T),
                    .version = copies.version,
                    .known_at = copies.known_at};
        std::ranges::copy(element.index, stretch_.first.begin());
        stretch_.first[N - 1] -= static_cast<std::int64_t>(known_before);
        last_stretch_.begin = place_of(element.rank, element.offset) - known_before * sizeof(T);
        last_stretch_.end = last_stretch_.begin + count * sizeof(T);
    }
    /// Whether the last element that was found without a run, among those that share a run's place, was one of the same
    /// indices: a run is of use. (Elements that are read once each would else be entered in vain.)
    template <class T, std::size_t N>
        requires serves<T>
    [[nodiscard]] bool meets_again(const Index<N>& index) noexcept {
        if constexpr (has_runs<T, N>) {
            const std::uint64_t block = run_block<T>(index);
            return std::exchange(found_lately_[block & run_mask_], block) == block;
        } else {
            return false;
        }
    }
    /// Makes a run of the row around an element that has just been read, as far as its page may be read.
    template <class T, std::size_t N>
        requires serves<T>
    void enter_run(const HotPageElement<N>& element) noexcept {
        if constexpr (has_runs<T, N>) {
            const std::uint64_t page = page_of(element.rank, element.offset);
            const std::uint64_t within = element.offset & (page_bytes_ - 1);
            const std::uint64_t place = slot(page, read_mask_);
            const ReadEntry& read = reads_[place];
            const Readable readable = readable_around(read, page, within);
            if (readable.begin == readable.end) return;
            const std::uint64_t before = std::min(element.before, (within - readable.begin) / sizeof(T));
            const std::uint64_t number = run_slot<T>(element.index);
            note_run(place, number);
            Run& run = runs_[number].run;
            run = {.first = element.index[N - 1] - static_cast<std::int64_t>(before),
                   .count = before + std::min(element.after, (readable.end - within) / sizeof(T)),
                   .data = read.data + within - before * sizeof(T),
                   .epoch = read.epoch};
            std::copy_n(element.index.begin(), N - 1, run.row.begin());
        }
    }
    /// Lets find_element() find elements that follow each other, as far as they are in one block of numbers with
    /// `element`, which has just been read, and its page may be read.
    template <class T>
        requires serves<T>
    void enter_elements(std::int64_t array, const HotPageElement<1>& element) noexcept {
        const std::uint64_t page = page_of(element.rank, element.offset);
        const std::uint64_t within = element.offset & (page_bytes_ - 1);
        const std::uint64_t place = slot(page, read_mask_);
        const Readable readable = readable_around(reads_[place], page, within);
        if (readable.begin == readable.end) return;
        const auto [number] = element.index;
        note_run(place, block_slot<T>(array, number));
        enter_part<T>(array, number, reads_[place].epoch,
                      std::min(element.before, (within - readable.begin) / sizeof(T)),
                      std::min(element.after, (readable.end - within) / sizeof(T)), reads_[place].data + within, 1);
    }
    /// The same of an element at `address`, which the thread can load as well as `before` elements before it and
    /// `after` from it on.
    template <class T>
        requires serves<T>
    void enter_elements(std::int64_t array, std::int64_t number, std::uint64_t before, std::uint64_t after,
                        const T* address) noexcept {
        if (runs_ != &no_run)
            enter_part<T>(array, number, epoch(), before, after, reinterpret_cast<const std::byte*>(address), 0);
    }
    /// Whether the table has room for all of an array, in blocks that hardly ever have more than two parts.
    template <class T>
    [[nodiscard]] bool has_room_for(std::uint64_t elements, std::uint64_t in_sequence) const noexcept {
        return elements >> numbers_shift<T>() <= run_mask_ && in_sequence >= std::uint64_t{1} << numbers_shift<T>();
    }
    /// Of elements that no block held, in turn: whether most of those of one array lie far from the one before, since
    /// the last acquire.
    [[nodiscard]] bool jumps(std::int64_t array, std::int64_t number) noexcept {
        constexpr std::uint64_t near = 256;
        constexpr std::uint64_t many = 32;
        if (jumps_.epoch != epoch() || jumps_.array != array)
            jumps_ = {.epoch = epoch(), .array = array, .last = number};
        const auto distance = static_cast<std::uint64_t>(number - std::exchange(jumps_.last, number));
        if (distance + near > 2 * near) ++jumps_.far; // it may be negative
        else jumps_.far -= jumps_.far == 0 ? 0 : 1;
        return jumps_.far >= many;
    }
    /// Moves at each acquire.
    [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_->load(std::memory_order_relaxed); }

    /// Where a table has a page. The golden ratio spreads pages that are a constant distance apart (Knuth, The Art of
    /// Computer Programming, volume 3, section 6.4): the rows of a matrix would else share a few places.
    [[nodiscard]] static std::uint64_t slot(std::uint64_t page, std::uint64_t mask) noexcept {
        return (page * 0x9E3779B97F4A7C15U) >> 32 & mask;
    }
    /// A number of its own for each page of each rank.
    [[nodiscard]] std::uint64_t page_of(int rank, std::uint64_t offset) const noexcept {
        return static_cast<std::uint64_t>(rank) * rank_stride_ + (offset >> page_shift_);
    }

protected: // the cache fills it
    template <std::size_t Bytes>
    using WordOf = std::conditional_t<
        Bytes == 8, std::uint64_t,
        std::conditional_t<Bytes == 4, std::uint32_t, std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t>>>;

    /// Bytes of a page; none if begin == end.
    struct Readable {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    struct Stretch {
        std::array<std::int64_t, max_dimensions> first{}; ///< index of the first element
        std::uint64_t count = 0;
        std::uint64_t within = 0;   ///< of the first element in its page
        std::byte* write = nullptr; ///< the page
        std::uint8_t* dirty = nullptr;
        std::uint64_t page = no_page;
        // Of a window with copies: see HotPageCopies.
        std::byte* copies = nullptr; ///< of the first element
        const std::atomic<std::uint64_t>* version = nullptr;
        std::uint64_t known_at = 0;
    };
    /// Of a window with copies.
    struct LastStretch {
        std::uint64_t begin = 0; ///< place_of()
        std::uint64_t end = 0;   ///< 0: there was none
        unsigned pause = 0;      ///< writes that do not ask for copies
    };
    /// See jumps().
    struct Jumps {
        std::uint64_t epoch = 0;
        std::int64_t array = 0;
        std::int64_t last = 0;
        std::uint64_t far = 0;
    };
    /// Runs in one page, by number, the one that was entered last first.
    using RunsOfPage = std::array<std::uint16_t, 4>;
    static constexpr std::uint16_t no_run_number = 0xFFFF;

    template <class T, std::size_t N>
    static constexpr bool has_runs = serves<T> && N - 1 <= std::tuple_size_v<decltype(Run::row)>;

    /// Indices that share a run's place: in a row as many as half a page has room for, so that few of them lie on both
    /// sides of a page's end.
    template <class T, std::size_t N>
    [[nodiscard, gnu::always_inline]] std::uint64_t run_block(const Index<N>& index) const noexcept {
        std::uint64_t block = static_cast<std::uint64_t>(index[N - 1]) >> numbers_shift<T>();
        // Odd factors spread the rows of a matrix over all places.
        for (std::size_t d = 0; d + 1 < N; ++d)
            block += static_cast<std::uint64_t>(index[d]) * (0x9E3779B97F4A7C15U + 2 * d * 0x85EBCA6BU);
        return block;
    }
    template <class T, std::size_t N>
    [[nodiscard, gnu::always_inline]] std::uint64_t run_slot(const Index<N>& index) const noexcept {
        return run_block<T>(index) & run_mask_;
    }
    template <class T>
    [[nodiscard, gnu::always_inline]] std::uint64_t block_slot(std::int64_t array, std::int64_t number) const noexcept {
        return static_cast<std::uint64_t>((number >> numbers_shift<T>()) + array) & run_mask_;
    }
    template <class T>
    [[nodiscard, gnu::always_inline]] unsigned numbers_shift() const noexcept {
        return run_shift_ - static_cast<unsigned>(std::countr_zero(sizeof(T)));
    }
    template <class T>
    void enter_part(std::int64_t array, std::int64_t number, std::uint64_t epoch, std::uint64_t before,
                    std::uint64_t after, const std::byte* data, std::uint16_t elsewhere) noexcept {
        const std::uint64_t numbers = std::uint64_t{1} << numbers_shift<T>(); // in a block
        const std::uint64_t in_block = static_cast<std::uint64_t>(number) & (numbers - 1);
        before = std::min(before, in_block);
        after = std::min(after, numbers - in_block);
        if (!has_blocks_) start_blocks();
        HotPageBlock& block = runs_[block_slot<T>(array, number)].block;
        if (block.array != array || block.epoch != epoch) block = {.epoch = epoch, .array = array};
        if (block.parts.front().count != 0) block.parts.back() = block.parts.front();
        block.parts.front() = {.first = number - static_cast<std::int64_t>(before),
                               .begin = reinterpret_cast<std::uintptr_t>(data) -
                                        static_cast<std::uint64_t>(number) * sizeof(T),
                               .count = static_cast<std::uint32_t>(before + after),
                               .elsewhere = elsewhere,
                               .element_bytes = sizeof(T)};
    }
    void start_blocks() noexcept {
        has_blocks_ = true;
        for (std::uint64_t k = 0; k <= run_mask_; ++k) std::construct_at(&runs_[k].block);
    }
    /// The run of that number, or a part of the block, is to be one of the page in a place of reads_. If that has as
    /// many as can be noted, the oldest one is dropped.
    void note_run(std::uint64_t place, std::uint64_t number) noexcept {
        RunsOfPage& runs = runs_of_pages_[place];
        if (std::ranges::find(runs, number) == runs.end()) {
            if (runs.back() != no_run_number) drop_run(place, runs.back());
            std::ranges::move_backward(runs.begin(), runs.end() - 1, runs.end());
            runs.front() = static_cast<std::uint16_t>(number);
        }
    }
    /// Unless another page has it by now.
    void drop_run(std::uint64_t place, std::uint16_t number) noexcept {
        const auto in_page = [&](const std::byte* data) {
            return static_cast<std::uint64_t>(data - reads_[place].data) < page_bytes_;
        };
        if (!has_blocks_) {
            if (in_page(runs_[number].run.data)) runs_[number].run.count = 0;
            return;
        }
        for (HotPageBlock::Part& part : runs_[number].block.parts)
            if (in_page(part.data())) part.count = 0;
    }
    /// Before what is known of the page in a place of reads_ changes.
    void drop_runs(std::uint64_t place) noexcept {
        for (std::uint16_t& number : runs_of_pages_[place])
            if (number != no_run_number) drop_run(place, std::exchange(number, no_run_number));
    }

    template <std::size_t N>
    [[nodiscard, gnu::always_inline]] bool in_stretch(const Index<N>& index) const noexcept {
        bool same_row = true;
        for (std::size_t d = 0; d + 1 < N; ++d) same_row = same_row && index[d] == stretch_.first[d];
        return same_row && place_in_stretch(index) < stretch_.count;
    }
    template <std::size_t N>
    [[nodiscard]] std::uint64_t place_in_stretch(const Index<N>& index) const noexcept {
        return static_cast<std::uint64_t>(index[N - 1]) - static_cast<std::uint64_t>(stretch_.first[N - 1]);
    }
    /// The valid bytes around `within` of a page.
    [[nodiscard]] Readable readable_around(const ReadEntry& entry, std::uint64_t page,
                                           std::uint64_t within) const noexcept {
        const std::uint64_t granule = within >> granule_shift_;
        if (entry.page != page || entry.epoch != epoch() || (entry.valid >> granule & 1U) == 0) return {};
        const auto below = static_cast<std::uint64_t>(std::countl_one(entry.valid << (63 - granule))) - 1;
        const auto from = static_cast<std::uint64_t>(std::countr_one(entry.valid >> granule));
        return {(granule - below) << granule_shift_, std::min((granule + from) << granule_shift_, page_bytes_)};
    }
    template <class T>
    void store(std::byte* data, std::uint8_t* dirty, std::uint64_t within, const T& value) noexcept {
        using Word = WordOf<sizeof(T)>;
        std::atomic_ref<Word>{*reinterpret_cast<Word*>(data + within)}.store(std::bit_cast<Word>(value),
                                                                             std::memory_order_relaxed);
        // Another thread's release may take the bits and copy the bytes meanwhile: either it sees the bit and the
        // bytes, or the bit stays for the next release. Release order: who sees the bit sees the bytes.
        std::atomic_ref<std::uint8_t> bits{dirty[within / 8]};
        if constexpr (sizeof(T) == 8) {
            bits.store(0xFF, std::memory_order_release);
        } else {
            const auto mask = static_cast<std::uint8_t>(((1U << sizeof(T)) - 1) << (within % 8));
            if (alone_)
                bits.store(static_cast<std::uint8_t>(bits.load(std::memory_order_relaxed) | mask),
                           std::memory_order_relaxed);
            else bits.fetch_or(mask, std::memory_order_release);
        }
        // Relaxed: the flusher looks at it now and then.
        std::atomic_ref{write_hits_}.store(write_hits_ + 1, std::memory_order_relaxed);
    }
    /// The second half of a write to the stretch, in a window with copies; false: the write must be repeated in another
    /// way, which also waits for a fill that is under way.
    template <class T>
    [[nodiscard, gnu::always_inline]] bool write_copy(std::uint64_t place, const T& value) noexcept {
        // Another thread that fills the copies moves the version, makes this one pass a fence, and then writes back
        // what is dirty, before it fetches anything. If the fence comes before the load, that sees the new version. If
        // it comes after the load, the thread has seen the dirty bit, and fetches this value, which may then be stored
        // once more at any time. The fence here is for the compiler.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (stretch_.version->load(std::memory_order_relaxed) != stretch_.known_at) [[unlikely]] {
            stretch_.count = 0;
            return false;
        }
        if (stretch_.copies != nullptr) {
            std::memcpy(stretch_.copies + place, &value, sizeof(T));
            copy_writes_ += 1;
        }
        return true;
    }
    /// A number of its own for each byte of each page.
    [[nodiscard]] std::uint64_t place_of(int rank, std::uint64_t offset) const noexcept {
        return page_of(rank, offset) * page_bytes_ + (offset & (page_bytes_ - 1));
    }
    /// Before what the cache knows of a page changes.
    void leave_stretch(std::uint64_t page) noexcept {
        if (stretch_.page == page) stretch_ = {};
    }

    // A table that nothing has been entered in finds nothing.
    static inline const std::atomic<std::uint64_t> no_epoch{0};
    static inline ReadEntry no_read{};
    static inline WriteEntry no_write{};
    static inline RunOrBlock no_run{};

    Stretch stretch_;
    std::int64_t last_ = 0; ///< see follows()
    unsigned neighbours_ = 0;
    const std::atomic<std::uint64_t>* epoch_ = &no_epoch;
    ReadEntry* reads_ = &no_read;
    std::uint64_t read_mask_ = 0;
    std::uint64_t rank_stride_ = 1;
    unsigned page_shift_ = 0;
    unsigned granule_shift_ = 0;
    std::uint64_t page_bytes_ = 1;
    std::uint64_t hits_ = 0;       ///< reads that found their value here, ever
    std::uint64_t write_hits_ = 0; ///< the same of writes: apart, since reads and writes bypass the cache apart
    RunOrBlock* runs_ = &no_run;
    bool has_blocks_ = false;
    std::uint64_t run_mask_ = 0;
    unsigned run_shift_ = 3;
    std::uint64_t* found_lately_ = nullptr; ///< see meets_again()
    RunsOfPage* runs_of_pages_ = nullptr;   ///< by place in reads_
    WriteEntry* writes_ = &no_write;
    std::uint64_t write_mask_ = 0;
    Jumps jumps_;
    // Of a window with copies.
    WriteEntry latest_; ///< the page that was written last without this table
    LastStretch last_stretch_;
    std::uint64_t copy_writes_ = 0; ///< values that were stored in copies here, ever
    bool alone_ = true;             ///< no other thread may take the dirty bits while this one writes
};

/// The tables of the threads that use a window.
class HotPageTables {
public:
    constexpr HotPageTables() noexcept { hot_pages_.fill(&nothing); }
    /// That of the calling thread; one that finds nothing if it has none.
    [[nodiscard]] HotPageTable& mine() const noexcept { return *hot_pages_[support::thread_number_plus_one]; }
    void drop_mine() noexcept { hot_pages_[support::thread_number_plus_one] = &nothing; }
    /// That of a thread that has ended, whose number no thread gets meanwhile.
    void drop(unsigned thread) noexcept { hot_pages_[thread + 1] = &nothing; }
    void set_mine(HotPageTable& table) noexcept { hot_pages_[support::thread_number_plus_one] = &table; }

private:
    static inline HotPageTable nothing{};
    /// By number: only the thread that has it, or has kept it from others, uses an entry. The last one is of all
    /// threads without a number of their own, and finds nothing.
    std::array<HotPageTable*, support::numbered_threads + 2> hot_pages_;
};

/// Those of an array that is not cached.
inline constinit const HotPageTables no_hot_pages{};

} // namespace lapwing::detail::window
