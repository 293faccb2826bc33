// Room: window
#pragma once

#include <lapwing/statistics.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lapwing::cache {

/// A page with bytes that may be read.
struct FrontReadEntry {
    static constexpr std::uint64_t no_page = ~std::uint64_t{0};
    std::uint64_t page = no_page;
    std::uint64_t epoch = 0;
    const std::byte* data = nullptr;
    std::uint64_t valid = 0; ///< one bit for each 2^granule_shift bytes
};
/// A page with room for dirty bytes.
struct FrontWriteEntry {
    std::uint64_t page = FrontReadEntry::no_page;
    std::byte* data = nullptr;
    std::uint8_t* dirty = nullptr; ///< one bit a byte
};

/// The part of a cache that element accesses see: a small direct-mapped table of the pages that one thread used lately,
/// so that a hit is two comparisons, a test of a bit and a load, without a walk through a hash table and without a lock.
///
/// One thread reads and writes it. An acquire by any thread makes all of it unusable at once, since it moves the epoch
/// that every entry is compared with. A page that is not here may still be in the cache behind it: that finds out, and
/// enters the page.
class Front {
public:
    using ReadEntry = FrontReadEntry;
    using WriteEntry = FrontWriteEntry;
    static constexpr std::uint64_t no_page = FrontReadEntry::no_page;

    /// What an entry can serve without looking for page boundaries: aligned values that lie in one line.
    template <class T>
    static constexpr bool serves = std::is_trivially_copyable_v<T> && (sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 8;

    /// The value at `offset` of `rank`, which is a multiple of its size; null if it is not here.
    template <class T>
        requires serves<T>
    [[nodiscard]] const T* find(int rank, std::uint64_t offset) noexcept {
        const std::uint64_t page = page_of(rank, offset);
        const ReadEntry& entry = reads_[page & read_mask_];
        const std::uint64_t within = offset & (page_bytes_ - 1);
        // Relaxed: an acquire that happens before this access has been seen; others need not be.
        const std::uint64_t epoch = epoch_->load(std::memory_order_relaxed);
        if (((entry.page ^ page) | (entry.epoch ^ epoch)) != 0 || (entry.valid >> (within >> granule_shift_) & 1U) == 0)
            [[unlikely]]
            return nullptr;
        hits_ += 1;
        return reinterpret_cast<const T*>(entry.data + within);
    }

    /// Writes a value into a page that has room for dirty bytes; false if it is not here.
    template <class T>
        requires serves<T>
    [[nodiscard]] bool write(int rank, std::uint64_t offset, const T& value) noexcept {
        const std::uint64_t page = page_of(rank, offset);
        const WriteEntry& entry = writes_[page & write_mask_];
        if (entry.page != page) [[unlikely]]
            return false;
        const std::uint64_t within = offset & (page_bytes_ - 1);
        // Another thread's release may take the bits and copy the bytes meanwhile: either it sees the bit and the bytes, or
        // the bit stays for the next release. Release order: who sees the bit sees the bytes.
        using Word = WordOf<sizeof(T)>;
        std::atomic_ref<Word>{*reinterpret_cast<Word*>(entry.data + within)}.store(std::bit_cast<Word>(value),
                                                                                  std::memory_order_relaxed);
        std::atomic_ref<std::uint8_t> bits{entry.dirty[within / 8]};
        if constexpr (sizeof(T) == 8) {
            bits.store(0xFF, std::memory_order_release);
        } else {
            const auto mask = static_cast<std::uint8_t>(((1U << sizeof(T)) - 1) << (within % 8));
            if (alone_) bits.store(static_cast<std::uint8_t>(bits.load(std::memory_order_relaxed) | mask), std::memory_order_relaxed);
            else bits.fetch_or(mask, std::memory_order_release);
        }
        hits_ += 1;
        return true;
    }

    /// A number of its own for each page of each rank.
    [[nodiscard]] std::uint64_t page_of(int rank, std::uint64_t offset) const noexcept {
        return static_cast<std::uint64_t>(rank) * rank_stride_ + (offset >> page_shift_);
    }

private:
    friend class PageCache;
    template <std::size_t Bytes>
    using WordOf = std::conditional_t<
        Bytes == 8, std::uint64_t,
        std::conditional_t<Bytes == 4, std::uint32_t, std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t>>>;

    // A front that nothing has been entered in finds nothing.
    static inline const std::atomic<std::uint64_t> no_epoch{0};
    static inline ReadEntry no_read{};
    static inline WriteEntry no_write{};

    const std::atomic<std::uint64_t>* epoch_ = &no_epoch;
    ReadEntry* reads_ = &no_read;
    std::uint64_t read_mask_ = 0;
    std::uint64_t rank_stride_ = 1;
    unsigned page_shift_ = 0;
    unsigned granule_shift_ = 0;
    std::uint64_t page_bytes_ = 1;
    std::uint64_t hits_ = 0; ///< since they were last collected
    WriteEntry* writes_ = &no_write;
    std::uint64_t write_mask_ = 0;
    bool alone_ = true; ///< no other thread may take the dirty bits while this one writes
};

/// The fronts of the threads that use a window.
class Fronts {
public:
    Fronts() noexcept {
        for (auto& front : fronts_) front.store(&nothing, std::memory_order_relaxed);
    }
    /// That of the calling thread; one that finds nothing if it has none.
    [[nodiscard]] Front& mine() const noexcept {
        // Relaxed: only the thread itself, or the one that had its shard before, has stored here.
        return *fronts_[support::shard_plus_one].load(std::memory_order_relaxed);
    }
    void set_mine(Front& front) noexcept { fronts_[support::shard_plus_one].store(&front, std::memory_order_relaxed); }

private:
    static inline Front nothing{};
    std::array<std::atomic<Front*>, support::statistics_shards + 1> fronts_;
};

} // namespace lapwing::cache
