#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lapwing::detail::support {

/// The size of a page of memory.
[[nodiscard]] std::uint64_t page_bytes() noexcept;

/// Whether one mapping that the kernel keeps, of memory that processes share, holds all of it.
[[nodiscard]] bool is_one_shared_mapping(const std::byte* memory, std::uint64_t bytes);

/// A stretch of addresses without memory: what is not open may not be touched. It costs nothing but addresses.
class AddressSpace {
public:
    AddressSpace() noexcept = default;
    /// Of at least `bytes` bytes, from a page's start on; empty() if the system refuses (a limit such as `ulimit -v`,
    /// or more than a process can have).
    explicit AddressSpace(std::uint64_t bytes) noexcept;
    /// The same memory is to be written elsewhere (to_write()) while it is closed here: what is open here can only be
    /// read.
    [[nodiscard]] static AddressSpace with_writing_view(std::uint64_t bytes) noexcept;
    AddressSpace(AddressSpace&& other) noexcept { *this = std::move(other); }
    AddressSpace& operator=(AddressSpace&& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(bytes_, other.bytes_);
        std::swap(reserved_, other.reserved_);
        std::swap(reserved_bytes_, other.reserved_bytes_);
        std::swap(writing_, other.writing_);
        return *this;
    }
    ~AddressSpace();

    [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
    [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// Where a byte is written: here, or in the writing view.
    [[nodiscard]] std::byte* to_write(std::byte* place) const noexcept {
        return writing_ == nullptr ? place : writing_ + (place - begin_);
    }

    // Of whole pages, from `first` to before `end`. False if the system refuses; errno then says why.

    /// They can be read, and written if there is no view for that; memory that has not been written yet is zero.
    [[nodiscard]] bool open(std::byte* first, const std::byte* end) const noexcept;
    /// Of pages that are open, and will all be written: the system provides their memory now, all at once, which is
    /// quicker than page by page.
    void provide(std::byte* first, const std::byte* end) const noexcept;
    /// They can be read only.
    [[nodiscard]] bool open_for_reading(std::byte* first, const std::byte* end) const noexcept;
    /// They cannot be touched until they are opened again; their values stay.
    bool close(std::byte* first, const std::byte* end) const noexcept;
    /// Gives back the memory of pages that are closed, where there is a writing view.
    void forget(std::byte* first, const std::byte* end) const noexcept;
    /// They show the memory from `memory` on, a page's start, to read only. That must be shared memory: false for any
    /// other. It stays as long as it is shown, also when its owner frees it. Throws std::system_error if the pages are
    /// lost.
    [[nodiscard]] bool show(std::byte* first, const std::byte* end, std::byte* memory) const;

private:
    /// Pages as they were made: closed.
    void restore(std::byte* first, std::size_t bytes) const;

    std::byte* begin_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::byte* reserved_ = nullptr; ///< where the system's mapping begins
    std::uint64_t reserved_bytes_ = 0;
    std::byte* writing_ = nullptr; ///< the same memory, as large
};

} // namespace lapwing::detail::support
