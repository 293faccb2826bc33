#pragma once

#include <cstddef>
#include <cstdint>

/// The copy code under pack, unpack and strided transfers: many equal blocks between two places in this process's
/// memory.
///
/// Superpipelining depends on fast copies of short blocks (Schneider, Gerstenberger, Hoefler, "Compiler Optimizations
/// for Non-Contiguous Remote Data Movement", section 3). A memcpy of a length that is known only at run time costs a
/// call and a chain of branches for each block; here the length is examined once per run, and the loop that follows is
/// made for it.
namespace lapwing::detail::kernels {

/// Where the blocks of one side of a copy are, relative to a base address.
struct Placement {
    std::int64_t stride = 0;               ///< bytes from one block's begin to the next one's; any sign; if no offsets
    const std::int64_t* offsets = nullptr; ///< bytes from the base to each block's begin, in any order
};

/// Equal blocks on one side; the other side is contiguous.
struct Run {
    std::uint64_t count = 0;       ///< blocks
    std::uint64_t block_bytes = 0; ///< of each
    std::int64_t stride = 0;       ///< as in Placement
    const std::int64_t* offsets = nullptr;
};

/// Equal blocks, placed on both sides.
struct PairedRun {
    std::uint64_t count = 0;
    std::uint64_t block_bytes = 0;
    Placement to;
    Placement from;
};

/// What happens next to the bytes written.
enum class Reuse : std::uint8_t {
    soon,  ///< read again while they may still be in a cache: they are sent, or computed with
    never, ///< not before they have left the caches anyway: large copies may go around the caches
};

/// Copies the blocks at `from` to the contiguous bytes at `to`, in the order of the run.
///
/// For all three: bytes outside the blocks are neither written nor read, not even between close blocks; any alignment;
/// the two sides do not overlap; target blocks do not overlap each other (source blocks may). Allocates nothing, is
/// safe to call from several threads, and picks the code by copy_choices().
void gather(std::byte* to, const std::byte* from, const Run& run, Reuse reuse = Reuse::soon) noexcept;

/// Copies the contiguous bytes at `from` to the blocks at `to`, in the order of the run.
void scatter(std::byte* to, const std::byte* from, const Run& run, Reuse reuse = Reuse::soon) noexcept;

/// Whether transpose() is for elements of so many bytes: 2, 4, 8 and 16.
[[nodiscard]] constexpr bool transposes(std::uint64_t element_bytes) noexcept {
    return element_bytes == 2 || element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
}

/// Transposes a matrix: element c of row r at `from` becomes element r of row c at `to`. The elements of a row are
/// contiguous on both sides; its rows begin `from_row`, and those of the target `to_row`, bytes apart, of any sign.
/// transposes(element_bytes). In registers, a line of the target at a time (a large `Reuse::never` one goes around the
/// caches).
void transpose(std::byte* to, std::int64_t to_row, const std::byte* from, std::int64_t from_row, std::uint64_t rows,
               std::uint64_t columns, std::uint64_t element_bytes, Reuse reuse = Reuse::soon) noexcept;

/// Copies the blocks at `from` to the blocks at `to`.
void copy(std::byte* to, const std::byte* from, const PairedRun& run, Reuse reuse = Reuse::soon) noexcept;

} // namespace lapwing::detail::kernels
