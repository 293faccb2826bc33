// Copies with the processor's gather instruction. Compiled once for each instruction set, hence the guard.
#if defined(LAPWING_DATATYPE_KERNELS_LOOKUP_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAPWING_DATATYPE_KERNELS_LOOKUP_INL_HPP
#undef LAPWING_DATATYPE_KERNELS_LOOKUP_INL_HPP
#else
#define LAPWING_DATATYPE_KERNELS_LOOKUP_INL_HPP
#endif

#include "datatype/kernels/kernel_set.hpp"
#include "datatype/kernels/moves-inl.hpp"

#include <hwy/highway.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace lapwing::datatype {
namespace HWY_NAMESPACE {

// Elsewhere Highway takes the words one by one.
#undef LAPWING_HAS_LOOKUP
#define LAPWING_HAS_LOOKUP LAPWING_MASKS_REACH_MEMORY

#if LAPWING_HAS_LOOKUP
/// Blocks of one Word, 4 or 8 bytes.
template <class Word>
void lookup_strided(std::byte* to, Placement to_place, const std::byte* from, Placement from_place, std::uint64_t count,
                    std::uint64_t block_bytes) {
    constexpr hn::ScalableTag<Word> tag;
    constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(Word);
    const std::int64_t stride = from_place.stride;
    constexpr std::int64_t highest = std::numeric_limits<Word>::max() / lanes; // offsets have the word's length
    if (-highest <= stride && stride <= highest) {
        const auto offsets = hn::Mul(hn::Iota(tag, 0), hn::Set(tag, static_cast<Word>(stride)));
        for (; count >= static_cast<std::uint64_t>(lanes); count -= static_cast<std::uint64_t>(lanes)) {
            const auto words = hn::GatherOffset(tag, reinterpret_cast<const Word*>(from), offsets);
            hn::StoreU(words, tag, reinterpret_cast<Word*>(to));
            from += lanes * stride;
            to += HWY_MAX_BYTES;
        }
    }
    move_blocks<WholeBlock<WordPiece<Word>>, Place::contiguous, Place::strided>(to, to_place, from, from_place, count,
                                                                               block_bytes);
}

/// Blocks of 8 bytes; the offsets are as long as the words, as the instruction wants them.
inline void lookup_indexed(std::byte* to, Placement to_place, const std::byte* from, Placement from_place,
                           std::uint64_t count, std::uint64_t block_bytes) {
    using Word = std::int64_t;
    constexpr hn::ScalableTag<Word> tag;
    constexpr std::uint64_t lanes = HWY_MAX_BYTES / sizeof(Word);
    for (; count >= lanes; count -= lanes) {
        const auto offsets = hn::LoadU(tag, from_place.offsets);
        hn::StoreU(hn::GatherOffset(tag, reinterpret_cast<const Word*>(from), offsets), tag, reinterpret_cast<Word*>(to));
        from_place.offsets += lanes;
        to += HWY_MAX_BYTES;
    }
    move_blocks<WholeBlock<WordPiece<Word>>, Place::contiguous, Place::indexed>(to, to_place, from, from_place, count,
                                                                               block_bytes);
}
#endif

} // namespace HWY_NAMESPACE
} // namespace lapwing::datatype
HWY_AFTER_NAMESPACE();
#endif
