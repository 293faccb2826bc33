#pragma once

#include "src/kernels/copy_kernels.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

/// The compiled copy loops of one instruction set, and the classes of blocks that each is made for.
namespace lapwing::detail::kernels {

/// How the blocks of one side lie.
enum class Place : std::uint8_t { contiguous, strided, indexed };
inline constexpr std::size_t places = 3;

/// Block lengths that share a loop. Lengths that are common in scientific codes have a loop of their own.
enum class BlockClass : std::uint8_t {
    b1,
    b2,
    b3,
    b4,
    b5_to_7,
    b8,
    b9_to_15,
    b12,
    b16,
    b17_to_31,
    b24,
    b32,
    b33_to_64,
    b65_to_128,
    b129_to_256,
    b257_to_512,
    b513_to_1024,
    b1025_to_2048,
    b2049_to_4096,
    b4097_up,
};
inline constexpr std::size_t block_classes = 20;

[[nodiscard]] constexpr BlockClass block_class(std::uint64_t bytes) noexcept {
    using enum BlockClass;
    constexpr std::array<BlockClass, 33> up_to_32 = [] {
        std::array<BlockClass, 33> table{};
        for (std::size_t n = 0; n <= 32; ++n) {
            table[n] = n <= 1   ? b1
                       : n == 2 ? b2
                       : n == 3 ? b3
                       : n == 4 ? b4
                       : n < 8  ? b5_to_7
                       : n == 8 ? b8
                       : n < 16 ? b9_to_15
                       : n < 32 ? b17_to_31
                                : b32;
        }
        table[12] = b12;
        table[16] = b16;
        table[24] = b24;
        return table;
    }();
    if (bytes <= 32) return up_to_32[bytes];
    if (bytes > 4096) return b4097_up;
    // 33..64 has 6 bits in bytes - 1.
    return static_cast<BlockClass>(static_cast<int>(b33_to_64) + std::bit_width(bytes - 1) - 6);
}

/// Ways to copy a run. Those that look ahead prefetch the target's cache lines: a store that misses holds up all later
/// stores, and the processor predicts reads far better than writes.
enum class Method : std::uint8_t {
    moves,         ///< block by block through registers, with overlapping moves where the length is not a power of two
    moves_ahead,   ///< the same, looking ahead
    permute,       ///< several close blocks with one masked vector: a permutation gathers or spreads their words
    permute_ahead, ///< the same, looking ahead
    lookup,        ///< the processor's gather instruction
    lookup_ahead,  ///< the same, looking ahead
    library,       ///< memcpy for each block
    streamed,      ///< stores that go around the caches
};
inline constexpr std::size_t methods = 8;

using Kernel = void (*)(std::byte* to, Placement to_place, const std::byte* from, Placement from_place,
                        std::uint64_t count, std::uint64_t block_bytes);

/// Loops compiled for one instruction set. Null where a method has none; `moves` has one for everything.
struct KernelSet {
    using OfBlocks = std::array<std::array<Kernel, block_classes>, methods>;

    std::array<std::array<OfBlocks, places>, places> kernels; ///< [place at the target][place at the source]
    /// As transpose() of copy_kernels.hpp, whose elements say which.
    using Transpose = void (*)(std::byte* to, std::int64_t to_row, const std::byte* from, std::int64_t from_row,
                               std::uint64_t rows, std::uint64_t columns);
    /// [log2 of the bytes of an element, less 1][whether it streams]
    using Transposes = std::array<std::array<Transpose, 2>, 4>;
    Transposes transposes;
    /// Copies contiguous bytes with non-temporal stores, which no memory order of C++ keeps before later ones: the
    /// caller ends with hwy::FlushStream().
    void (*stream)(std::byte* to, const std::byte* from, std::uint64_t bytes);
    /// How many blocks one permutation takes; below 2 it cannot be used.
    std::uint64_t (*permuted_blocks)(std::uint64_t block_bytes, std::int64_t stride);
    std::int64_t target; ///< the instruction set: one of Highway's HWY_ constants

    [[nodiscard]] Kernel find(Place to, Place from, BlockClass block, Method method) const noexcept {
        return kernels[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)][static_cast<std::size_t>(method)]
                      [static_cast<std::size_t>(block)];
    }
};

/// Of the best instruction set that this processor has, or that hwy::SetSupportedTargetsForTest() leaves.
[[nodiscard]] const KernelSet& best_kernel_set() noexcept;

/// The set that the entry points use: best_kernel_set() as it was at first use.
[[nodiscard]] const KernelSet& kernel_set() noexcept;

/// For tests: what the entry points use from now on.
void use_kernel_set(const KernelSet& set) noexcept;

} // namespace lapwing::detail::kernels
