#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace lapwing::detail::support {

/// Alignment of buffers that MPI sends much from or receives much into. Large blocks of operator new begin 16 bytes
/// after a page, and from there Linux copies to and from sockets half as fast (4 MiB over TCP within a machine: 3.7 ms
/// instead of 1.6 ms).
inline constexpr std::size_t buffer_alignment = 64;

struct FreeAligned {
    std::size_t alignment = buffer_alignment;
    std::size_t mapped = 0; ///< bytes, if the memory is pages of its own; 0: it is operator new's
    void operator()(std::byte* memory) const noexcept {
        if (mapped != 0) munmap(memory, mapped);
        else ::operator delete[](memory, std::align_val_t{alignment});
    }
};
using AlignedMemory = std::unique_ptr<std::byte[], FreeAligned>;

/// Bytes that have not been written.
[[nodiscard]] inline AlignedMemory allocate_aligned(std::uint64_t bytes, std::size_t alignment = buffer_alignment) {
    return {static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{alignment})), FreeAligned{alignment}};
}

/// Zeroed bytes whose pages are mapped already: the first use of an untouched page takes longer than a packet.
///
/// For memory that lives as long as a team. Large blocks get pages of their own: on the heap, where malloc puts blocks
/// of this size once some were freed, what MPI keeps of a team for ever would come to lie after them, and programs that
/// make hundreds of teams would grow by 0.3 MB each.
[[nodiscard]] inline AlignedMemory allocate_zeroed(std::uint64_t bytes) {
    constexpr std::uint64_t least_mapped = 128 * 1024;
    if (bytes >= least_mapped) {
        void* const memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc{};
        return {static_cast<std::byte*>(memory), FreeAligned{buffer_alignment, bytes}};
    }
    AlignedMemory memory = allocate_aligned(bytes);
    std::fill_n(memory.get(), bytes, std::byte{0});
    return memory;
}

/// So many bytes, or the next more, that leave what follows them aligned.
[[nodiscard]] constexpr std::uint64_t rounded_to_alignment(std::uint64_t bytes) noexcept {
    return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

} // namespace lapwing::detail::support
