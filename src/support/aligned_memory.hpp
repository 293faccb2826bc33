#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace lapwing::support {

/// Where buffers begin that MPI sends much from or receives much into. Large blocks of operator new begin 16 bytes behind a page,
/// and from there Linux copies to and from sockets half as fast (4 MiB over TCP within a machine: 3.7 ms instead of 1.6 ms).
inline constexpr std::size_t buffer_alignment = 64;

struct FreeAligned {
    void operator()(std::byte* memory) const noexcept { ::operator delete[](memory, std::align_val_t{buffer_alignment}); }
};
using AlignedMemory = std::unique_ptr<std::byte[], FreeAligned>;

/// Bytes that nothing was written to.
[[nodiscard]] inline AlignedMemory allocate_aligned(std::uint64_t bytes) {
    return AlignedMemory{static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{buffer_alignment}))};
}

/// So many bytes, or the next more, that leave what follows them aligned.
[[nodiscard]] constexpr std::uint64_t rounded_to_alignment(std::uint64_t bytes) noexcept {
    return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

} // namespace lapwing::support
