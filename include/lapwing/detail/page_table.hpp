// Room: window
#pragma once

#include <lapwing/detail/shared_word.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// The part of a cache that element accesses see. The parts of a window's ranks are thought to lie one after another,
/// at equal distances: where a byte lies in that order is its *place*, one number for every byte of every rank. A page
/// table has an entry for each page of these places, found by a shift, as a processor's page table has.
namespace lapwing {
class Window;
}

namespace lapwing::detail::window {

/// Addresses and masks of entries are biased, so that they need only the place: byte `place` of a page is at
/// `data + place`.
struct PageReadEntry {
    std::uintptr_t data = 0;
    std::uint64_t valid = 0; ///< bit k mod 64: the k-th granule of all places may be read
};
struct PageWriteEntry {
    std::uintptr_t data = 0;
    std::uintptr_t dirty = 0; ///< of the page's mask: the bits of place p are in the byte at dirty + p / 8
    /// Of their copies beside the cache; or one of the following.
    std::uintptr_t copy = no_copies;
    // The bytes that may be written here: `count` from the place that ends in these bits on. Multiples of 16, so that
    // an aligned value of which one byte is among them is among them completely.
    std::uint32_t begin = 0;
    std::uint32_t count = 0;

    static constexpr std::uintptr_t no_copies = 0;  ///< the window has none
    static constexpr std::uintptr_t not_copied = 1; ///< the window has some, but these bytes have none
};

/// What one thread may read and write without asking its cache. A hit of a read is the test of a bit and a load: no
/// hash, no search, no lock, and no branch that depends on whose the element is.
///
/// One thread reads and writes it. When any thread acquires, the table is hidden (PageTables): the thread then finds
/// nothing until it has asked its cache, which forgets what may be out of date, and shows the table again.
class PageTable {
public:
    using ReadEntry = PageReadEntry;
    using WriteEntry = PageWriteEntry;

    /// What an entry can serve without looking for the end of a page: aligned values that lie in one line.
    template <class T>
    static constexpr bool serves = std::is_trivially_copyable_v<T> && std::has_single_bit(sizeof(T)) && sizeof(T) <= 16;

    /// Where find() would find a value; `here` is false where it would not, and `value` is then any address. Without a
    /// branch, for lists of elements whose places the processor cannot predict. They are counted by note_hits().
    struct Looked {
        const std::byte* value;
        bool here;
    };
    [[nodiscard, gnu::always_inline]] Looked look(std::uint64_t place) const noexcept {
        const ReadEntry& entry = reads_[place >> page_shift_];
        return {reinterpret_cast<const std::byte*>(entry.data + place),
                (entry.valid >> (place >> granule_shift_ & 63U) & 1U) != 0};
    }
    /// The value at a place that is a multiple of its size; null if it is not here.
    template <class T>
        requires serves<T>
    [[nodiscard, gnu::always_inline]] const T* find(std::uint64_t place) noexcept {
        const Looked looked = look(place);
        if (!looked.here) [[unlikely]]
            return nullptr;
        hits_ += 1;
        const auto* const value = reinterpret_cast<const T*>(looked.value);
        if (value == nullptr) __builtin_unreachable(); // spares the caller the test for null
        return value;
    }
    void note_hits(std::uint64_t reads) noexcept { hits_ += reads; }
    /// For each value that was read and is not here, in turn: whether most of them lie far from the one before.
    [[nodiscard]] bool note_miss(std::uint64_t place) noexcept {
        constexpr std::uint64_t near = 8192;
        constexpr unsigned many = 16;
        const std::uint64_t distance = place - last_miss_; // it may be negative
        last_miss_ = place;
        far_misses_ =
            distance + near > 2 * near ? std::min(far_misses_ + 1, 2 * many) : far_misses_ - std::min(far_misses_, 2U);
        return far_misses_ >= many;
    }

    /// Writes a value into a page that has room for dirty bytes, and into its copy beside the cache; false if it must
    /// be written in another way.
    template <class T>
        requires serves<T>
    [[nodiscard, gnu::always_inline]] bool write(std::uint64_t place, const T& value) noexcept {
        const WriteEntry& entry = writes_[place >> page_shift_];
        if (static_cast<std::uint32_t>(place) - entry.begin >= entry.count) [[unlikely]]
            return false;
        store(entry, place, value);
        return entry.copy == WriteEntry::no_copies || write_copy(entry, place, value);
    }

protected: // the cache fills it
    template <std::size_t Bytes>
    using WordOf = std::conditional_t<
        Bytes == 8, std::uint64_t,
        std::conditional_t<Bytes == 4, std::uint32_t, std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t>>>;

    template <class T>
    [[gnu::always_inline]] void store(const WriteEntry& entry, std::uint64_t place, const T& value) noexcept {
        using Word = WordOf<std::min<std::size_t>(sizeof(T), 8)>;
        std::array<Word, sizeof(T) / sizeof(Word)> words;
        std::memcpy(words.data(), &value, sizeof(T));
        for (std::size_t k = 0; k < words.size(); ++k)
            std::atomic_ref{reinterpret_cast<Word*>(entry.data + place)[k]}.store(words[k], std::memory_order_relaxed);
        // Another thread's release may take the bits and copy the bytes meanwhile: either it sees the bit and the
        // bytes, or the bit stays for the next release. Release order: who sees the bit sees the bytes.
        auto* const dirty = reinterpret_cast<std::uint8_t*>(entry.dirty + place / 8);
        if constexpr (sizeof(T) >= 8) {
            for (std::size_t k = 0; k < words.size(); ++k)
                std::atomic_ref{dirty[k]}.store(0xFF, std::memory_order_release);
        } else {
            const std::atomic_ref bits{*dirty};
            const auto mask = static_cast<std::uint8_t>(((1U << sizeof(T)) - 1) << (place % 8));
            if (alone_)
                bits.store(static_cast<std::uint8_t>(bits.load(std::memory_order_relaxed) | mask),
                           std::memory_order_relaxed);
            else bits.fetch_or(mask, std::memory_order_release);
        }
        // Relaxed: the flusher looks at it now and then.
        std::atomic_ref{write_hits_}.store(write_hits_ + 1, std::memory_order_relaxed);
    }
    /// The second half of a write in a window with copies; false: the write must be repeated in another way, which also
    /// waits for a fill that is under way.
    template <class T>
    [[nodiscard, gnu::always_inline]] bool write_copy(const WriteEntry& entry, std::uint64_t place,
                                                      const T& value) noexcept {
        // Another thread that fills the copies moves the version, makes this one pass a fence, and then writes back
        // what is dirty, before it fetches anything. If the fence comes before the load, that sees the new version. If
        // it comes after the load, the thread has seen the dirty bit, and fetches this value, which may then be stored
        // once more at any time. The fence here is for the compiler.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (copies_version_->load(std::memory_order_relaxed) != copies_known_at_) [[unlikely]]
            return false;
        if (entry.copy != WriteEntry::not_copied) {
            std::memcpy(reinterpret_cast<void*>(entry.copy + place), &value, sizeof(T));
            copy_writes_ += 1;
        }
        return true;
    }

    // A table that nothing has been entered in has two pages, of all places there can be, and finds nothing there.
    static constexpr unsigned two_pages = 63;
    static inline std::array<ReadEntry, 2> no_reads{};
    static inline std::array<WriteEntry, 2> no_writes{};

    const ReadEntry* reads_ = no_reads.data();
    const WriteEntry* writes_ = no_writes.data();
    unsigned page_shift_ = two_pages;
    unsigned granule_shift_ = 0;
    // Of types of their own: a store to a counter is none to what a loop keeps of an array.
    unsigned long long hits_ = 0;       ///< reads that found their value here, ever
    unsigned long long write_hits_ = 0; ///< the same of writes: apart, since reads and writes bypass the cache apart
    // Of a window with copies beside the cache: what is known of them holds as long as the version does, if the thread
    // looks at it between its store to the page and the one to the copy.
    const std::atomic<std::uint64_t>* copies_version_ = nullptr;
    std::uint64_t copies_known_at_ = 0;
    std::uint64_t copy_writes_ = 0; ///< values that were stored in copies here, ever
    std::uint64_t last_miss_ = 0;   ///< its place
    unsigned far_misses_ = 0;
    bool alone_ = true; ///< no other thread may take the dirty bits while this one writes
};

/// The place of a byte of the part of `rank`. `part_stride`: places from the beginning of a rank's part to that of the
/// next rank's.
[[nodiscard]] constexpr std::uint64_t place_in_parts(std::uint64_t part_stride, Rank rank, Offset offset) noexcept {
    return static_cast<std::uint64_t>(rank.value) * part_stride + offset.bytes;
}

/// The tables of the threads that use a window.
class PageTables {
public:
    /// Of a window that is not cached.
    constexpr PageTables() noexcept : PageTables{0} {}
    constexpr explicit PageTables(std::uint64_t part_stride) noexcept : part_stride_{part_stride} {
        tables_.fill(&nothing);
    }
    PageTables(const PageTables&) = delete;
    PageTables& operator=(const PageTables&) = delete;

    [[nodiscard]] std::uint64_t part_stride() const noexcept { return part_stride_; }
    [[nodiscard]] std::uint64_t place_of(Rank rank, Offset offset) const noexcept {
        return place_in_parts(part_stride_, rank, offset);
    }
    /// That of the calling thread; one that finds nothing if it has none, or that is hidden.
    [[nodiscard]] PageTable& mine() const noexcept {
        // Relaxed: an acquire that happens before this access has been seen; others need not be.
        return *support::load_shared(tables_[support::thread_number_plus_one]);
    }
    [[nodiscard]] bool mine_is_hidden() const noexcept { return &mine() == &nothing; }
    /// See PageTable; false while the calling thread's is hidden.
    [[nodiscard]] bool note_miss(std::uint64_t place) const noexcept {
        return !mine_is_hidden() && mine().note_miss(place);
    }
    /// The calling thread has a number.
    void show_mine(PageTable& table) noexcept { set(support::thread_number(), table); }
    /// Hides that of the thread with this number.
    void hide(unsigned thread) noexcept { set(thread, nothing); }

private:
    // Sequentially consistent: who shows a table then looks whether another thread has acquired, and who acquires then
    // hides the tables. One of them sees the other.
    void set(unsigned thread, PageTable& table) noexcept {
        std::atomic_ref{tables_[thread + 1]}.store(&table, std::memory_order_seq_cst);
    }

    static inline PageTable nothing{};
    /// By number. The last one is of all threads without a number of their own, and finds nothing. First, so that an
    /// access adds nothing to its address.
    mutable std::array<PageTable*, support::numbered_threads + 2> tables_;
    const std::uint64_t part_stride_;
};

/// Those of an array that is not cached.
inline constinit const PageTables no_page_tables{};

/// Lets the calling thread find the page around `offset` of a part of this node in its page table, until the next
/// acquire. False if that cannot be. For a window that is cached.
[[nodiscard]] bool enter_memory(const Window& window, Rank target, Offset offset) noexcept;

} // namespace lapwing::detail::window
