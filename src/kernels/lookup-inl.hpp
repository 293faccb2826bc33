// Copies with the processor's gather instruction. Compiled once for each instruction set, hence the guard.
#if defined(LAPWING_DATATYPE_KERNELS_LOOKUP_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAPWING_DATATYPE_KERNELS_LOOKUP_INL_HPP
#undef LAPWING_DATATYPE_KERNELS_LOOKUP_INL_HPP
#else
#define LAPWING_DATATYPE_KERNELS_LOOKUP_INL_HPP
#endif

#include "src/kernels/kernel_set.hpp"
#include "src/kernels/moves-inl.hpp"

#include <hwy/highway.h>

#include <limits>

// Elsewhere Highway takes the words one by one.
#undef LAPWING_HAS_LOOKUP
#define LAPWING_HAS_LOOKUP LAPWING_MASKS_REACH_MEMORY

// Around the namespace, too: Clang warns of a region for an instruction set (HWY_BEFORE_NAMESPACE) that has no function
// in it.
#if LAPWING_HAS_LOOKUP
HWY_BEFORE_NAMESPACE();
namespace lapwing::detail::kernels {
namespace HWY_NAMESPACE {

/// Blocks of one Word, 4 or 8 bytes.
template <class Word, bool Ahead>
void lookup_strided(std::byte* to, Placement to_place, const std::byte* from, Placement from_place, std::uint64_t count,
                    std::uint64_t block_bytes) {
    constexpr hn::ScalableTag<Word> tag;
    constexpr std::int64_t lanes = HWY_MAX_BYTES / sizeof(Word);
    const std::int64_t stride = from_place.stride;
    constexpr std::int64_t highest = std::numeric_limits<Word>::max() / lanes; // offsets have the word's length
    if (-highest <= stride && stride <= highest) {
        const auto offsets = hn::Mul(hn::Iota(tag, 0), hn::Set(tag, static_cast<Word>(stride)));
        for (; count >= static_cast<std::uint64_t>(lanes); count -= static_cast<std::uint64_t>(lanes)) {
            if constexpr (Ahead) look_ahead(to + bytes_ahead);
            const auto words = hn::GatherOffset(tag, reinterpret_cast<const Word*>(from), offsets);
            hn::StoreU(words, tag, reinterpret_cast<Word*>(to));
            from += lanes * stride;
            to += HWY_MAX_BYTES;
        }
    }
    move_blocks<WholeBlock<WordRegister<Word>>, Place::contiguous, Place::strided, false>(
        to, to_place, from, from_place, count, block_bytes);
}

/// The words at 8 offsets, or 4 without AVX-512: half a vector of words where these have 4 bytes, which is more than
/// Highway's gather expresses.
HWY_INLINE auto words_at(const std::byte* from, const std::int64_t* offsets, std::int32_t) {
#if HWY_TARGET <= HWY_AVX3
    return hn::Vec<hn::FixedTag<std::int32_t, 8>>{
        _mm512_i64gather_epi32(hn::LoadU(hn::FixedTag<std::int64_t, 8>{}, offsets).raw, from, 1)};
#else
    return hn::Vec<hn::FixedTag<std::int32_t, 4>>{_mm256_i64gather_epi32(
        reinterpret_cast<const int*>(from), hn::LoadU(hn::FixedTag<std::int64_t, 4>{}, offsets).raw, 1)};
#endif
}
HWY_INLINE auto words_at(const std::byte* from, const std::int64_t* offsets, std::int64_t) {
    constexpr hn::ScalableTag<std::int64_t> tag;
    return hn::GatherOffset(tag, reinterpret_cast<const std::int64_t*>(from), hn::LoadU(tag, offsets));
}

/// Blocks of one Word, 4 or 8 bytes.
template <class Word, bool Ahead>
void lookup_indexed(std::byte* to, Placement to_place, const std::byte* from, Placement from_place, std::uint64_t count,
                    std::uint64_t block_bytes) {
    constexpr std::uint64_t lanes = HWY_MAX_BYTES / sizeof(std::int64_t);
    constexpr hn::FixedTag<Word, lanes> tag;
    for (; count >= lanes; count -= lanes) {
        if constexpr (Ahead) look_ahead(to + bytes_ahead);
        hn::StoreU(words_at(from, from_place.offsets, Word{}), tag, reinterpret_cast<Word*>(to));
        from_place.offsets += lanes;
        to += lanes * sizeof(Word);
    }
    move_blocks<WholeBlock<WordRegister<Word>>, Place::contiguous, Place::indexed, false>(
        to, to_place, from, from_place, count, block_bytes);
}

} // namespace HWY_NAMESPACE
} // namespace lapwing::detail::kernels
HWY_AFTER_NAMESPACE();
#endif
#endif
