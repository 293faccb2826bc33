#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace lapwing::detail::cache {

/// Zeroed address space that takes memory only where it is written.
class ReservedMemory {
public:
    ReservedMemory() noexcept = default;
    /// Empty if there is no such address space.
    explicit ReservedMemory(std::uint64_t bytes) noexcept {
        void* const memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return;
        memory_ = static_cast<std::byte*>(memory);
        bytes_ = bytes;
        madvise(memory_, bytes_, MADV_NOHUGEPAGE); // a huge page for each write would take far more than it needs
    }
    ReservedMemory(ReservedMemory&& other) noexcept { swap(other); }
    ReservedMemory& operator=(ReservedMemory&& other) noexcept {
        swap(other);
        return *this;
    }
    ~ReservedMemory() {
        if (memory_ != nullptr) munmap(memory_, bytes_);
    }

    [[nodiscard]] std::byte* get() const noexcept { return memory_; }
    /// Gives the memory back: all is zero again. False if that cannot be, as of memory that is locked; nothing has
    /// changed then.
    [[nodiscard]] bool clear() noexcept { return memory_ != nullptr && madvise(memory_, bytes_, MADV_DONTNEED) == 0; }

private:
    void swap(ReservedMemory& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(bytes_, other.bytes_);
    }

    std::byte* memory_ = nullptr;
    std::uint64_t bytes_ = 0;
};

/// An entry for each page of a window, all zero but for those of a few pages: an array in reserved address space. Its
/// memory is bounded: pages that are far apart may find no room.
template <class Entry>
class PageEntries {
public:
    PageEntries() noexcept = default;
    /// `most_blocks`: bounds the memory, in blocks of block_bytes. There is no room at all where there is no address
    /// space.
    PageEntries(std::uint64_t pages, std::size_t most_blocks)
        : memory_{(pages / in_block + 1) * block_bytes},
          most_blocks_{memory_.get() != nullptr ? most_blocks : 0},
          used_(most_blocks_ != 0 ? std::bit_ceil(2 * most_blocks_) : 0, no_block) {
        entered_.reserve(most_blocks_ * listed_in_block);
    }
    static constexpr std::uint64_t block_bytes = 4096;
    /// The most that so many blocks take, with what is kept of them.
    [[nodiscard]] static constexpr std::uint64_t memory_for(std::size_t blocks) noexcept {
        return blocks * block_bytes + (std::bit_ceil(2 * blocks) + blocks * listed_in_block) * sizeof(std::uint64_t);
    }

    /// Null if there is no room at all.
    [[nodiscard]] const Entry* data() const noexcept {
        return most_blocks_ != 0 ? reinterpret_cast<const Entry*>(memory_.get()) : nullptr;
    }
    [[nodiscard]] const Entry& operator[](std::uint64_t page) const noexcept { return data()[page]; }
    /// The entry of a page, to be written; null if there is no room for it.
    [[nodiscard]] Entry* enter(std::uint64_t page) noexcept {
        if (!use(page / in_block)) return nullptr;
        if (entered_.size() < entered_.capacity()) entered_.push_back(page);
        else all_listed_ = false;
        return &at(page);
    }
    void leave(std::uint64_t page) noexcept {
        // A block that nobody has entered is not written to.
        if (most_blocks_ != 0 && slot_of(page / in_block) == page / in_block) at(page) = {};
    }
    /// All entries are zero again.
    void clear() noexcept {
        // Blocks are given back once other pages are used than those in them.
        if (refused_ != 0 && memory_.clear()) {
            std::ranges::fill(used_, no_block);
            blocks_ = 0;
            refused_ = 0;
        } else if (all_listed_) {
            for (const std::uint64_t page : entered_) at(page) = {};
        } else {
            for_each_page([this](std::uint64_t page) { at(page) = {}; });
        }
        entered_.clear();
        all_listed_ = true;
    }
    /// Calls `visit(page)` for each page that has an entry other than zero, and for others.
    template <class Visit>
    void for_each_page(Visit visit) const {
        for (const std::uint64_t block : used_)
            if (block != no_block)
                for (std::uint64_t page = block * in_block; page < (block + 1) * in_block; ++page) visit(page);
    }

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
        return blocks_ * block_bytes + (used_.size() + entered_.size()) * sizeof(std::uint64_t);
    }

private:
    static constexpr std::uint64_t in_block = block_bytes / sizeof(Entry);
    static constexpr std::size_t listed_in_block = 16; ///< if more pages have been entered, clear() looks at all
    static constexpr std::uint64_t no_block = ~std::uint64_t{0};

    [[nodiscard]] Entry& at(std::uint64_t page) noexcept {
        return std::launder(reinterpret_cast<Entry*>(memory_.get()))[page];
    }
    /// Where a block is in the hashed set of those used, or where it would be. There is always a free slot.
    [[nodiscard]] std::uint64_t& slot_of(std::uint64_t block) noexcept {
        std::size_t slot = block * 0x9e3779b97f4a7c15U >> 32U;
        for (;; ++slot)
            if (std::uint64_t& found = used_[slot & (used_.size() - 1)]; found == block || found == no_block)
                return found;
    }
    /// False if the block is none of those used, and there are as many as there may be.
    [[nodiscard]] bool use(std::uint64_t block) noexcept {
        constexpr std::uint64_t refusals = 64; // for each block, before all go where nobody acquires
        if (most_blocks_ == 0) return false;
        std::uint64_t* slot = &slot_of(block);
        if (*slot == block) return true;
        if (blocks_ == most_blocks_) {
            if (++refused_ < refusals * most_blocks_) return false;
            clear();
            if (blocks_ == most_blocks_) return false;
            slot = &slot_of(block);
        }
        *slot = block;
        ++blocks_;
        return true;
    }

    ReservedMemory memory_;
    std::size_t most_blocks_ = 0;
    std::vector<std::uint64_t> used_;    ///< blocks that have been written to, hashed; at most half of it is in use
    std::size_t blocks_ = 0;             ///< in used_
    std::size_t refused_ = 0;            ///< pages, since blocks were given back
    std::vector<std::uint64_t> entered_; ///< pages since clear(); some may have been left again, or be named twice
    bool all_listed_ = true;
};

} // namespace lapwing::detail::cache
