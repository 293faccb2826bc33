#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::pipeline {

/// What packing or unpacking reads or writes: `blocks` blocks with `bytes` in all, spread over `extent_bytes` of memory.
struct BlockShape {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    std::uint64_t extent_bytes = 0;

    friend bool operator==(const BlockShape&, const BlockShape&) = default;
};

/// T_copy: times of gathering blocks into a packed buffer, or scattering them from one. A copy takes
///
///     call + blocks * block(length)                        where the blocks are in the cache,
///     and for each cache line fetched from memory `line_near`, or `line_far` where every block is in a page of its own.
///
/// The paper's T_copy(s) tells hot from cold too (section 3); it leaves the stride out, which decides here between
/// prefetched lines and a page table walk a block.
class CopyModel {
public:
    /// Block lengths that are measured; times between them are interpolated.
    static constexpr std::array<std::uint64_t, 14> lengths{1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 512, 1024, 4096, 65536};
    static constexpr std::uint64_t line_bytes = 64;

    /// Seconds.
    double call = 40e-9;
    std::array<double, lengths.size()> block{1.0e-9, 1.0e-9, 1.0e-9, 1.0e-9, 1.2e-9, 1.2e-9, 1.6e-9,
                                             1.8e-9, 2.5e-9, 4e-9,   12e-9,  22e-9,  90e-9,  2500e-9};
    double line_near = 3e-9;
    double line_far = 12e-9;
    /// What fits into so many bytes is taken to be in the cache.
    std::uint64_t cache_bytes = 1 << 20;

    /// Seconds of one block of `length` bytes that is in the cache.
    [[nodiscard]] double block_time(double length) const noexcept;
    /// Seconds to pack or unpack `part` bytes of such blocks; what is in the cache is judged by the whole shape.
    [[nodiscard]] double time(const BlockShape& shape, std::uint64_t part) const noexcept;
    [[nodiscard]] double time(const BlockShape& shape) const noexcept { return time(shape, shape.bytes); }
};

/// Measures a CopyModel on this processor. Takes about `seconds`.
[[nodiscard]] CopyModel measure_copies(double seconds);

} // namespace lapwing::pipeline
