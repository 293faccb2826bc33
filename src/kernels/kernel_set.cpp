// Compiles the copy loops for each instruction set and finds the best one at run time.

#include "src/kernels/kernel_set.hpp"

// SSE4 and AVX3_DL add nothing to copies beyond SSSE3 and AVX3; vectors of unknown length could not be members of a
// block.
#define HWY_DISABLED_TARGETS (HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/kernel_set.cpp"
#include <hwy/foreach_target.h>

#include "src/kernels/lookup-inl.hpp"
#include "src/kernels/moves-inl.hpp"
#include "src/kernels/permute-inl.hpp"
#include "src/kernels/transpose-inl.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace lapwing::detail::kernels {
namespace HWY_NAMESPACE {

/// Highway's streaming stores are aligned ones; the ends are written as usual.
void stream(std::byte* to, const std::byte* from, std::uint64_t bytes) {
#if HWY_TARGET == HWY_SCALAR
    std::memcpy(to, from, bytes);
#else
    constexpr hn::ScalableTag<std::uint8_t> tag;
    constexpr std::uint64_t vector = HWY_MAX_BYTES;
    const std::uint64_t misalignment = reinterpret_cast<std::uintptr_t>(to) % 64;
    const std::uint64_t head = std::min(bytes, misalignment == 0 ? 0 : 64 - misalignment);
    std::memcpy(to, from, head);
    std::uint64_t done = head;
    // Whole cache lines: a line that is streamed in parts, with other stores in between, also reaches memory in parts.
    for (; done + 64 <= bytes; done += 64) {
        for (std::uint64_t i = 0; i < 64; i += vector) {
            hn::Stream(hn::LoadU(tag, reinterpret_cast<const std::uint8_t*>(from) + done + i), tag,
                       reinterpret_cast<std::uint8_t*>(to) + done + i);
        }
    }
    std::memcpy(to + done, from + done, bytes - done);
#endif
}

constexpr void set(KernelSet::OfBlocks& all, Method method, BlockClass block, Kernel kernel) {
    all[static_cast<std::size_t>(method)][static_cast<std::size_t>(block)] = kernel;
}

#if LAPWING_MASKS_REACH_MEMORY
template <Place To, Place From>
constexpr void set_permutations(KernelSet::OfBlocks& all) {
    using enum BlockClass;
    using enum Method;
    // Of the lengths from 17 to 31, permutations take those that are multiples of 4: see StrideClass::close.
    for (const BlockClass block : {b4, b8, b12, b16, b17_to_31, b24, b32}) {
        if constexpr (To == Place::contiguous && From == Place::strided) {
            set(all, permute, block, &permute_gather<false>);
            set(all, permute_ahead, block, &permute_gather<true>);
        }
        if constexpr (From == Place::contiguous && To == Place::strided) {
            set(all, permute, block, &permute_scatter<false>);
            set(all, permute_ahead, block, &permute_scatter<true>);
        }
    }
}
#endif

#if LAPWING_HAS_LOOKUP
template <Place To, Place From>
constexpr void set_lookups(KernelSet::OfBlocks& all) {
    using enum BlockClass;
    using enum Method;
    if constexpr (To == Place::contiguous) {
        if constexpr (From == Place::strided) {
            set(all, lookup, b4, &lookup_strided<std::int32_t, false>);
            set(all, lookup, b8, &lookup_strided<std::int64_t, false>);
            set(all, lookup_ahead, b4, &lookup_strided<std::int32_t, true>);
            set(all, lookup_ahead, b8, &lookup_strided<std::int64_t, true>);
        } else if constexpr (From == Place::indexed) {
            set(all, lookup, b4, &lookup_indexed<std::int32_t, false>);
            set(all, lookup, b8, &lookup_indexed<std::int64_t, false>);
            set(all, lookup_ahead, b4, &lookup_indexed<std::int32_t, true>);
            set(all, lookup_ahead, b8, &lookup_indexed<std::int64_t, true>);
        }
    }
}
#endif

template <Place To, Place From>
constexpr KernelSet::OfBlocks kernels_between() {
    // Blocks of no fixed length are strided on a contiguous side as well: by their own length.
    constexpr Place to = To == Place::contiguous ? Place::strided : To;
    constexpr Place from = From == Place::contiguous ? Place::strided : From;
    using Word1 = WordRegister<std::uint8_t>;
    using Word2 = WordRegister<std::uint16_t>;
    using Word4 = WordRegister<std::uint32_t>;
    using Word8 = WordRegister<std::uint64_t>;
    KernelSet::OfBlocks all{};
    for (auto& kernel : all[static_cast<std::size_t>(Method::library)]) kernel = &copy_by_library<to, from>;

    using enum BlockClass;
    using enum Method;
    const auto set_moves = [&all]<class Block, Place to_place, Place from_place>(BlockClass block) {
        set(all, moves, block, &move_blocks<Block, to_place, from_place, false>);
        set(all, moves_ahead, block, &move_blocks<Block, to_place, from_place, true>);
    };
    set_moves.template operator()<WholeBlock<Word1>, To, From>(b1);
    set_moves.template operator()<WholeBlock<Word2>, To, From>(b2);
    set_moves.template operator()<JoinedBlock<Word2, Word1>, To, From>(b3);
    set_moves.template operator()<WholeBlock<Word4>, To, From>(b4);
    set_moves.template operator()<OverlappingBlock<Word4>, to, from>(b5_to_7);
    set_moves.template operator()<WholeBlock<Word8>, To, From>(b8);
    set_moves.template operator()<OverlappingBlock<Word8>, to, from>(b9_to_15);
    set_moves.template operator()<WholeBlock<VectorRegisters<16>>, To, From>(b16);
    set_moves.template operator()<OverlappingBlock<VectorRegisters<16>>, to, from>(b17_to_31);
    set_moves.template operator()<WholeBlock<VectorRegisters<32>>, To, From>(b32);
    set_moves.template operator()<OverlappingBlock<VectorRegisters<32>>, to, from>(b33_to_64);
    set_moves.template operator()<OverlappingBlock<VectorRegisters<64>>, to, from>(b65_to_128);
    set(all, moves, b129_to_256, &move_blocks<OverlappingBlock<VectorRegisters<128>>, to, from, false>);
    for (const BlockClass block : {b257_to_512, b513_to_1024, b1025_to_2048, b2049_to_4096, b4097_up})
        set(all, moves, block, &move_long_blocks<to, from>);

    using Block12 = JoinedBlock<Word8, Word4>;
    using Block24 = JoinedBlock<VectorRegisters<16>, Word8>;
#if LAPWING_MASKS_REACH_MEMORY
    constexpr bool to_contiguous = To == Place::contiguous;
    constexpr bool from_contiguous = From == Place::contiguous;
    using Wide12 = WideBlock<std::uint32_t, Block12, to_contiguous, from_contiguous>;
    using Wide24 = WideBlock<std::uint64_t, Block24, to_contiguous, from_contiguous>;
    set_moves.template operator()<Wide12, To, From>(b12);
    set_moves.template operator()<Wide24, To, From>(b24);
    set_permutations<To, From>(all);
#else
    set_moves.template operator()<Block12, To, From>(b12);
    set_moves.template operator()<Block24, To, From>(b24);
#endif
#if LAPWING_HAS_LOOKUP
    set_lookups<To, From>(all);
#endif
    return all;
}

const KernelSet& set_of_target() {
    using enum Place;
    static constexpr KernelSet set{
        .kernels = {{{{KernelSet::OfBlocks{}, // both contiguous: one memcpy
                       kernels_between<contiguous, strided>(), kernels_between<contiguous, indexed>()}},
                     {{kernels_between<strided, contiguous>(), kernels_between<strided, strided>(),
                       kernels_between<strided, indexed>()}},
                     {{kernels_between<indexed, contiguous>(), kernels_between<indexed, strided>(),
                       kernels_between<indexed, indexed>()}}}},
        .transposes = transposes(),
        .stream = &stream,
        .permuted_blocks = &permuted_blocks,
        .target = HWY_TARGET,
    };
    return set;
}

} // namespace HWY_NAMESPACE
} // namespace lapwing::detail::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lapwing::detail::kernels {

HWY_EXPORT(set_of_target);

namespace {
constinit std::atomic<const KernelSet*> used{nullptr};
} // namespace

const KernelSet& best_kernel_set() noexcept {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return HWY_DYNAMIC_DISPATCH(set_of_target)();
}

const KernelSet& kernel_set() noexcept {
    // Relaxed: the sets are constants, there before any thread.
    const KernelSet* set = used.load(std::memory_order_relaxed);
    if (set == nullptr) [[unlikely]] {
        set = &best_kernel_set();
        used.store(set, std::memory_order_relaxed);
    }
    return *set;
}

void use_kernel_set(const KernelSet& set) noexcept { used.store(&set, std::memory_order_relaxed); }

} // namespace lapwing::detail::kernels
#endif // HWY_ONCE
