#pragma once

#include <algorithm>
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
        : blocks_at_{(pages / in_block + 1) * block_bytes},
          memory_{blocks_at_ + pages / in_block / 8 + 1},
          most_blocks_{memory_.get() != nullptr ? most_blocks : 0} {}
    static constexpr std::uint64_t block_bytes = 4096;

    /// Null if there is no room at all.
    [[nodiscard]] const Entry* data() const noexcept {
        return most_blocks_ != 0 ? reinterpret_cast<const Entry*>(memory_.get()) : nullptr;
    }
    [[nodiscard]] const Entry& operator[](std::uint64_t page) const noexcept { return data()[page]; }
    /// The entry of a page, to be written; null if there is no room for it.
    [[nodiscard]] Entry* enter(std::uint64_t page) noexcept {
        const std::uint64_t block = page / in_block;
        if (most_blocks_ == 0 || (!is_used(block) && !use(block))) return nullptr;
        if (pages_.size() >= 2 * most_pages_) forget_repeated();
        try {
            pages_.push_back(page);
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
        return &at(page);
    }
    void leave(std::uint64_t page) noexcept {
        // A block that nobody has entered is not written to.
        if (most_blocks_ != 0 && is_used(page / in_block)) at(page) = {};
    }
    /// All entries are zero again.
    void clear() noexcept {
        if (used_ == most_blocks_ && memory_.clear()) {
            used_ = 0;
            refused_ = 0;
        } else {
            for (const std::uint64_t page : pages_) at(page) = {};
        }
        pages_.clear();
    }
    /// The pages that have been entered since clear(); some may have been left again, or be named several times.
    [[nodiscard]] const std::vector<std::uint64_t>& pages() const noexcept { return pages_; }

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
        return used_ * block_bytes + pages_.capacity() * sizeof(std::uint64_t);
    }

private:
    static constexpr std::uint64_t in_block = block_bytes / sizeof(Entry);

    [[nodiscard]] Entry& at(std::uint64_t page) noexcept {
        return std::launder(reinterpret_cast<Entry*>(memory_.get()))[page];
    }
    [[nodiscard]] bool is_used(std::uint64_t block) const noexcept {
        return (std::to_integer<unsigned>(memory_.get()[blocks_at_ + block / 8]) >> block % 8 & 1U) != 0;
    }
    /// False if there are as many blocks as there may be. Then all go after some time, since other pages are used now.
    [[nodiscard]] bool use(std::uint64_t block) noexcept {
        constexpr std::uint64_t refusals = 64;
        if (used_ == most_blocks_) {
            if (++refused_ < refusals * most_blocks_) return false;
            clear();
            if (used_ == most_blocks_) return false;
        }
        memory_.get()[blocks_at_ + block / 8] |= std::byte{1} << block % 8;
        ++used_;
        return true;
    }
    void forget_repeated() noexcept {
        std::ranges::sort(pages_);
        pages_.erase(std::unique(pages_.begin(), pages_.end()), pages_.end());
        most_pages_ = std::max(least_pages, pages_.size());
    }

    static constexpr std::size_t least_pages = 1024;
    std::uint64_t blocks_at_ = 0; ///< of a bit for each block in the memory: it has been written to
    ReservedMemory memory_;       ///< the entries, then these
    std::size_t most_blocks_ = 0;
    std::size_t used_ = 0;    ///< blocks
    std::size_t refused_ = 0; ///< pages since the last block was used
    std::vector<std::uint64_t> pages_;
    std::size_t most_pages_ = least_pages;
};

} // namespace lapwing::detail::cache
