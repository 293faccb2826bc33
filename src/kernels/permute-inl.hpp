// Copies of several close blocks at a time. Compiled once for each instruction set, hence the guard.
#if defined(LAPWING_DATATYPE_KERNELS_PERMUTE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAPWING_DATATYPE_KERNELS_PERMUTE_INL_HPP
#undef LAPWING_DATATYPE_KERNELS_PERMUTE_INL_HPP
#else
#define LAPWING_DATATYPE_KERNELS_PERMUTE_INL_HPP
#endif

#include "src/kernels/kernel_set.hpp"
#include "src/kernels/moves-inl.hpp"

#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace lapwing::detail::kernels {
namespace HWY_NAMESPACE {

#if LAPWING_MASKS_REACH_MEMORY
/// A vector over memory that holds several blocks and the gaps between them. Its loads and stores are masked: a gap may
/// belong to another thread, or not be mapped.
struct Window {
    using Tag = hn::ScalableTag<std::uint32_t>;
    static constexpr std::uint64_t lanes = HWY_MAX_BYTES / sizeof(std::uint32_t);
    static constexpr std::uint64_t bytes = HWY_MAX_BYTES;

    /// For `blocks` blocks of `block_bytes`; all multiples of 4 that fit in a vector.
    HWY_INLINE Window(std::uint64_t blocks, std::uint64_t block_bytes, std::int64_t stride) {
        const std::int64_t words = static_cast<std::int64_t>(block_bytes / 4);
        const std::int64_t step = stride / 4;
        const std::int64_t first = stride < 0 ? -step * static_cast<std::int64_t>(blocks - 1) : 0;
        for (std::int64_t block = 0, packed = 0; block < static_cast<std::int64_t>(blocks); ++block) {
            for (std::int64_t word = 0; word < words; ++word, ++packed) {
                const std::int64_t lane = first + block * step + word;
                in_block[lane] = 1;
                lane_of[packed] = static_cast<std::int32_t>(lane);
                packed_of[lane] = static_cast<std::int32_t>(packed);
            }
        }
        origin = -first * 4;
    }

    HWY_INLINE hn::Mask<Tag> mask() const { return hn::Ne(hn::Load(Tag{}, in_block), hn::Zero(Tag{})); }

    alignas(HWY_MAX_BYTES) std::uint32_t in_block[lanes] = {};
    alignas(HWY_MAX_BYTES) std::int32_t lane_of[lanes] = {};   ///< by position in the contiguous bytes
    alignas(HWY_MAX_BYTES) std::int32_t packed_of[lanes] = {}; ///< the inverse
    std::int64_t origin = 0; ///< from the begin of the first block to lane 0; negative with a negative stride
};

inline std::uint64_t permuted_blocks(std::uint64_t block_bytes, std::int64_t stride) {
    const std::uint64_t distance =
        stride < 0 ? -static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
    if (block_bytes % 4 != 0 || distance % 4 != 0 || block_bytes > Window::bytes || distance < block_bytes ||
        distance > Window::bytes)
        return 0;
    return (Window::bytes - block_bytes) / distance + 1;
}

template <bool Ahead>
void permute_gather(std::byte* to, Placement, const std::byte* from, Placement from_place, std::uint64_t count,
                    std::uint64_t block_bytes) {
    constexpr Window::Tag tag;
    const std::int64_t stride = from_place.stride;
    const std::uint64_t blocks = permuted_blocks(block_bytes, stride);
    {
        const Window window{blocks, block_bytes, stride};
        const auto mask = window.mask();
        const auto indices = hn::SetTableIndices(tag, window.lane_of);
        const std::uint64_t packed_bytes = blocks * block_bytes;
        const std::int64_t step = stride * static_cast<std::int64_t>(blocks);
        const std::byte* source = from + window.origin;
        // Whole vectors are stored as long as the surplus is inside the target and overwritten later.
        std::uint64_t left = count * block_bytes;
        while (left >= Window::bytes) {
            if constexpr (Ahead) look_ahead(to + bytes_ahead);
            const auto words = hn::MaskedLoad(mask, tag, reinterpret_cast<const std::uint32_t*>(source));
            hn::StoreU(hn::TableLookupLanes(words, indices), tag, reinterpret_cast<std::uint32_t*>(to));
            source += step;
            to += packed_bytes;
            left -= packed_bytes;
        }
        from = source - window.origin;
        count = left / block_bytes;
    }
    while (count > 0) {
        const std::uint64_t some = std::min(count, blocks);
        const Window window{some, block_bytes, stride};
        const auto words =
            hn::MaskedLoad(window.mask(), tag, reinterpret_cast<const std::uint32_t*>(from + window.origin));
        hn::BlendedStore(hn::TableLookupLanes(words, hn::SetTableIndices(tag, window.lane_of)),
                         hn::FirstN(tag, some * block_bytes / 4), tag, reinterpret_cast<std::uint32_t*>(to));
        from += stride * static_cast<std::int64_t>(some);
        to += some * block_bytes;
        count -= some;
    }
}

template <bool Ahead>
void permute_scatter(std::byte* to, Placement to_place, const std::byte* from, Placement, std::uint64_t count,
                     std::uint64_t block_bytes) {
    constexpr Window::Tag tag;
    const std::int64_t stride = to_place.stride;
    const std::uint64_t blocks = permuted_blocks(block_bytes, stride);
    {
        const Window window{blocks, block_bytes, stride};
        const auto mask = window.mask();
        const auto indices = hn::SetTableIndices(tag, window.packed_of);
        const std::uint64_t packed_bytes = blocks * block_bytes;
        const std::int64_t step = stride * static_cast<std::int64_t>(blocks);
        const std::int64_t ahead = step < 0 ? -static_cast<std::int64_t>(bytes_ahead) : bytes_ahead;
        std::byte* target = to + window.origin;
        std::uint64_t left = count * block_bytes;
        while (left >= Window::bytes) {
            if constexpr (Ahead) look_ahead(target + ahead);
            const auto words = hn::LoadU(tag, reinterpret_cast<const std::uint32_t*>(from));
            hn::BlendedStore(hn::TableLookupLanes(words, indices), mask, tag, reinterpret_cast<std::uint32_t*>(target));
            target += step;
            from += packed_bytes;
            left -= packed_bytes;
        }
        to = target - window.origin;
        count = left / block_bytes;
    }
    while (count > 0) {
        const std::uint64_t some = std::min(count, blocks);
        const Window window{some, block_bytes, stride};
        const auto words =
            hn::MaskedLoad(hn::FirstN(tag, some * block_bytes / 4), tag, reinterpret_cast<const std::uint32_t*>(from));
        hn::BlendedStore(hn::TableLookupLanes(words, hn::SetTableIndices(tag, window.packed_of)), window.mask(), tag,
                         reinterpret_cast<std::uint32_t*>(to + window.origin));
        to += stride * static_cast<std::int64_t>(some);
        from += some * block_bytes;
        count -= some;
    }
}
#else
inline std::uint64_t permuted_blocks(std::uint64_t, std::int64_t) { return 0; }
#endif

} // namespace HWY_NAMESPACE
} // namespace lapwing::detail::kernels
HWY_AFTER_NAMESPACE();
#endif
