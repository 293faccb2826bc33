#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail::model {

/// How the positions of blocks are given.
enum class Places : std::uint8_t {
    regular, ///< by strides
    indexed, ///< by an offset each; the blocks are equal
    listed,  ///< by an offset and a length each
};

/// What packing or unpacking reads or writes: `blocks` blocks of `bytes` in total, spread over `extent_bytes` of
/// memory.
struct BlockShape {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    std::uint64_t extent_bytes = 0;
    Places places = Places::regular;
    std::uint64_t units = 0; ///< copied one by one, where these are more than the blocks

    friend bool operator==(const BlockShape&, const BlockShape&) = default;
};

/// T_copy: times of gathering blocks into a packed buffer, or scattering them from one. A copy takes
///
///     call + blocks * block(length)
///
/// if the blocks are in the cache, and somewhat more if their places are listed. Outside of it, the kernels run beside
/// the fetching of cache lines, so a block takes the cubic mean of both times (which is close to the longer one):
/// `line_near` for each line that the processor fetches, including the packed buffer's if that leaves the cache, or
/// `line_far` if every block is in a page of its own.
///
/// The paper's T_copy(s) distinguishes hot from cold too (section 3); it omits the stride, which decides here between
/// prefetched lines and a page table walk per block.
class CopyModel {
public:
    /// Block lengths that are measured; times between them are interpolated.
    static constexpr std::array<std::uint64_t, 14> lengths{1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 512, 1024, 4096, 65536};
    static constexpr std::uint64_t line_bytes = 64;

    /// Seconds, measured by measure_copies() for the built-in kernels on a server processor of 2023 (2.6 GHz, AVX-512)
    /// and for `lengths` on another (Zen 4).
    double call = 30e-9;
    std::array<double, lengths.size()> block{0.25e-9, 0.25e-9, 0.25e-9, 0.3e-9, 0.45e-9, 0.5e-9, 0.8e-9,
                                             1.1e-9,  2.1e-9,  4.5e-9,  14e-9,  26e-9,   95e-9,  1700e-9};
    double offset = 0.15e-9; ///< per block whose offset is read
    double list = 10e-9;     ///< per block whose length is read too
    double line_near = 2.2e-9;
    double line_far = 6e-9;
    /// A working set of at most this size is assumed to be in the cache.
    std::uint64_t cache_bytes = 7 << 18;

    /// Seconds for one block of `length` bytes that is in the cache.
    [[nodiscard]] double block_time(double length) const noexcept;
    /// Seconds to pack or unpack `part` bytes of such blocks; the whole shape decides what is in the cache.
    [[nodiscard]] double time(const BlockShape& shape, std::uint64_t part) const noexcept;
    [[nodiscard]] double time(const BlockShape& shape) const noexcept { return time(shape, shape.bytes); }
};

/// Measures a CopyModel on this processor, with the copy kernels in use. Takes about `seconds`.
[[nodiscard]] CopyModel measure_copies(double seconds);

} // namespace lapwing::detail::model
