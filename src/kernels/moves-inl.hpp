// Copies of one block after the other through registers. Compiled once for each instruction set, hence the guard.
#if defined(LAPWING_DATATYPE_KERNELS_MOVES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAPWING_DATATYPE_KERNELS_MOVES_INL_HPP
#undef LAPWING_DATATYPE_KERNELS_MOVES_INL_HPP
#else
#define LAPWING_DATATYPE_KERNELS_MOVES_INL_HPP
#endif

#include "src/kernels/kernel_set.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace lapwing::detail::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether masked loads and stores really leave the masked memory alone. Without hardware masks Highway reads the whole
// vector, which may extend into a page that must not be read.
#undef LAPWING_MASKS_REACH_MEMORY
#define LAPWING_MASKS_REACH_MEMORY (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

/// 1, 2, 4 or 8 bytes in a register.
template <class Word>
struct WordRegister {
    using Value = Word;
    static constexpr std::size_t bytes = sizeof(Word);

    static HWY_INLINE Value load(const std::byte* from) {
        Word word;
        std::memcpy(&word, from, sizeof(Word));
        return word;
    }
    static HWY_INLINE void store(std::byte* to, Value word) { std::memcpy(to, &word, sizeof(Word)); }
};

/// 16, 32, 64 or 128 bytes in as few registers as there are of that length.
#if HWY_TARGET == HWY_SCALAR
template <std::size_t Bytes>
struct VectorRegisters {
    static constexpr std::size_t bytes = Bytes;
    struct Value {
        std::byte part[Bytes];
    };

    // The compiler knows more of the baseline than that it is scalar.
    static HWY_INLINE Value load(const std::byte* from) {
        Value value;
        std::memcpy(value.part, from, Bytes);
        return value;
    }
    static HWY_INLINE void store(std::byte* to, const Value& value) { std::memcpy(to, value.part, Bytes); }
};
#else
template <std::size_t Bytes>
struct VectorRegisters {
    static constexpr std::size_t bytes = Bytes;
    static constexpr std::size_t lane_bytes = std::min<std::size_t>(Bytes, HWY_MAX_BYTES);
    using Tag = hn::FixedTag<std::uint8_t, lane_bytes>;
    struct Value {
        hn::Vec<Tag> part[Bytes / lane_bytes];

        // Written out, for the compiler's own constructor is compiled for the baseline: where Highway's vectors have a
        // constructor that must be inlined, as on Arm, GCC then refuses to inline it.
        HWY_INLINE Value() {}
    };

    static HWY_INLINE Value load(const std::byte* from) {
        Value value;
        for (std::size_t i = 0; i < Bytes / lane_bytes; ++i)
            value.part[i] = hn::LoadU(Tag{}, reinterpret_cast<const std::uint8_t*>(from) + i * lane_bytes);
        return value;
    }
    static HWY_INLINE void store(std::byte* to, const Value& value) {
        for (std::size_t i = 0; i < Bytes / lane_bytes; ++i)
            hn::StoreU(value.part[i], Tag{}, reinterpret_cast<std::uint8_t*>(to) + i * lane_bytes);
    }
};
#endif

/// A block of a length known here that is one register's.
template <class Registers>
struct WholeBlock {
    using Value = typename Registers::Value;
    static constexpr std::int64_t fixed_bytes = Registers::bytes;
    static constexpr std::uint64_t longest = Registers::bytes;
    static constexpr bool exact = true;

    explicit WholeBlock(std::uint64_t) {}
    HWY_INLINE Value load(const std::byte* from) const { return Registers::load(from); }
    HWY_INLINE void store(std::byte* to, const Value& value) const { Registers::store(to, value); }
};

/// Of a length known here, two registers side by side.
template <class First, class Second>
struct JoinedBlock {
    struct Value {
        typename First::Value first;
        typename Second::Value second;
    };
    static constexpr std::int64_t fixed_bytes = First::bytes + Second::bytes;
    static constexpr std::uint64_t longest = fixed_bytes;
    static constexpr bool exact = true;

    explicit JoinedBlock(std::uint64_t) {}
    HWY_INLINE Value load(const std::byte* from) const {
        return {First::load(from), Second::load(from + First::bytes)};
    }
    HWY_INLINE void store(std::byte* to, const Value& value) const {
        First::store(to, value.first);
        Second::store(to + First::bytes, value.second);
    }
};

/// One to two times as long as the registers: one register from the front and one that ends with the block; they
/// overlap.
template <class Registers>
struct OverlappingBlock {
    struct Value {
        typename Registers::Value front;
        typename Registers::Value back;
    };
    static constexpr std::int64_t fixed_bytes = 0;
    static constexpr std::uint64_t longest = 2 * Registers::bytes;
    static constexpr bool exact = true;

    explicit OverlappingBlock(std::uint64_t bytes) : back_{bytes - Registers::bytes} {}
    HWY_INLINE Value load(const std::byte* from) const {
        return {Registers::load(from), Registers::load(from + back_)};
    }
    HWY_INLINE void store(std::byte* to, const Value& value) const {
        Registers::store(to, value.front);
        Registers::store(to + back_, value.back);
    }

private:
    std::uint64_t back_;
};

#if LAPWING_MASKS_REACH_MEMORY
/// 12 or 24 bytes in one vector of 16 or 32. On a contiguous side the vector extends into the next block, which may be
/// read and is written next; the last block is an Exact one. On other sides the surplus is masked out.
template <class Lane, class Exact, bool ContiguousTo, bool ContiguousFrom>
struct WideBlock {
    using Tag = hn::FixedTag<Lane, 4>;
    using Value = hn::Vec<Tag>;
    using Last = Exact;
    static constexpr std::int64_t fixed_bytes = Exact::fixed_bytes;
    static constexpr std::uint64_t longest = fixed_bytes;
    static constexpr bool exact = false;

    explicit WideBlock(std::uint64_t) : mask_{hn::FirstN(Tag{}, 3)} {}
    HWY_INLINE Value load(const std::byte* from) const {
        const Lane* const lanes = reinterpret_cast<const Lane*>(from);
        if constexpr (ContiguousFrom) return hn::LoadU(Tag{}, lanes);
        else return hn::MaskedLoad(mask_, Tag{}, lanes);
    }
    HWY_INLINE void store(std::byte* to, const Value& value) const {
        Lane* const lanes = reinterpret_cast<Lane*>(to);
        if constexpr (ContiguousTo) hn::StoreU(value, Tag{}, lanes);
        else hn::BlendedStore(value, mask_, Tag{}, lanes);
    }

private:
    hn::Mask<Tag> mask_;
};
#endif

/// Walks over the blocks of one side, a few at a time or one.
template <class Byte, Place P, std::int64_t FixedBytes>
struct Cursor;

template <class Byte, std::int64_t FixedBytes>
struct Cursor<Byte, Place::contiguous, FixedBytes> {
    static_assert(FixedBytes > 0);
    Cursor(Byte* base, const Placement&) : at_{base} {}
    template <int I>
    HWY_INLINE Byte* at() const {
        return at_ + I * FixedBytes;
    }
    template <int N>
    HWY_INLINE void advance() {
        at_ += N * FixedBytes;
    }

private:
    Byte* at_;
};

template <class Byte, std::int64_t FixedBytes>
struct Cursor<Byte, Place::strided, FixedBytes> {
    Cursor(Byte* base, const Placement& place) : at_{base}, stride_{place.stride} {}
    template <int I>
    HWY_INLINE Byte* at() const {
        return at_ + I * stride_;
    }
    template <int N>
    HWY_INLINE void advance() {
        at_ += N * stride_;
    }

private:
    Byte* at_;
    std::int64_t stride_;
};

template <class Byte, std::int64_t FixedBytes>
struct Cursor<Byte, Place::indexed, FixedBytes> {
    Cursor(Byte* base, const Placement& place) : base_{base}, offsets_{place.offsets} {}
    template <int I>
    HWY_INLINE Byte* at() const {
        return base_ + offsets_[I];
    }
    template <int N>
    HWY_INLINE void advance() {
        offsets_ += N;
    }

private:
    Byte* base_;
    const std::int64_t* offsets_;
};

/// Brings a cache line here. Also for lines to be written: measured on Granite Rapids, asking for ownership at once
/// (prefetchw) is slower by up to 2 times when the lines come from memory.
HWY_INLINE void look_ahead(const std::byte* at) { __builtin_prefetch(at, 0, 3); }

/// How far, on a contiguous target; 256 to 2048 measure alike.
inline constexpr std::uint64_t bytes_ahead = 512;

/// Blocks that one iteration of the loop copies. Measured on Zen 4: long blocks are up to 1.5 times as fast one at a
/// time as 4 at a time, from the second-level cache and from memory, because the processor's prefetchers follow several
/// strided loads of one loop less well.
template <class Block>
inline constexpr int blocks_at_a_time = Block::longest <= 16   ? 4
                                        : Block::longest <= 32 ? 2
                                                               : 1;

/// How far ahead a loop prefetches, in blocks: for short blocks 4 to 32 measure alike; for long blocks only few lines
/// can be under way.
template <class Block>
inline constexpr int blocks_ahead = Block::longest <= 16   ? 16
                                    : Block::longest <= 32 ? 4
                                                           : 2;

/// Asks for the lines of the block `I` blocks ahead of `side`.
template <class Block, int I, class Side>
HWY_INLINE void look_ahead_of_block(const Side& side, std::uint64_t block_bytes) {
    look_ahead(side.template at<I>());
    // The other lines of a block; short blocks rarely have any.
    if constexpr (Block::longest > 64) look_ahead(side.template at<I>() + 64);
    if constexpr (Block::longest > 16) look_ahead(side.template at<I>() + block_bytes - 1);
}

/// Asks for the lines of the next turn's blocks that are some way ahead.
template <class Block, Place To, class Out, class In, int... I>
HWY_INLINE void look_ahead_of(const Out& out, const In& in, std::uint64_t block_bytes,
                              std::integer_sequence<int, I...>) {
    constexpr int distance = blocks_ahead<Block>;
    if constexpr (To == Place::contiguous) {
        for (std::int64_t line = 0; line < static_cast<std::int64_t>(sizeof...(I)) * Block::fixed_bytes; line += 64)
            look_ahead(out.template at<0>() + bytes_ahead + line);
    } else {
        (look_ahead_of_block<Block, distance + I>(out, block_bytes), ...);
    }
    // The processor prefetches the sources of short blocks by itself.
    if constexpr (Block::longest > 16) (look_ahead_of_block<Block, distance + I>(in, block_bytes), ...);
}

template <class Block, class Out, class In, int... I>
HWY_INLINE void move_turn(const Block& block, Out& out, In& in, std::integer_sequence<int, I...>) {
    // Loads before stores: the compiler must assume that a store changes what the next load reads.
    const typename Block::Value values[]{block.load(in.template at<I>())...};
    (block.store(out.template at<I>(), values[I]), ...);
    in.template advance<sizeof...(I)>();
    out.template advance<sizeof...(I)>();
}

template <class Block, Place To, Place From, bool Ahead>
void move_blocks(std::byte* to, Placement to_place, const std::byte* from, Placement from_place, std::uint64_t count,
                 std::uint64_t block_bytes) {
    const Block block{block_bytes};
    Cursor<std::byte, To, Block::fixed_bytes> out{to, to_place};
    Cursor<const std::byte, From, Block::fixed_bytes> in{from, from_place};
    constexpr int turn = blocks_at_a_time<Block>;
    constexpr std::make_integer_sequence<int, turn> each;
    std::uint64_t left = count - (Block::exact ? 0 : 1);
    if constexpr (Ahead) {
        for (; left >= turn + blocks_ahead<Block>; left -= turn) {
            look_ahead_of<Block, To>(out, in, block_bytes, each);
            move_turn(block, out, in, each);
        }
    }
    for (; left >= turn; left -= turn) move_turn(block, out, in, each);
    if constexpr (turn > 1) {
        for (; left > 0; --left) move_turn(block, out, in, std::make_integer_sequence<int, 1>{});
    }
    if constexpr (!Block::exact) {
        const typename Block::Last last{block_bytes};
        last.store(out.template at<0>(), last.load(in.template at<0>()));
    }
}

/// Blocks of at least 4 times a VectorRegisters<64>.
template <Place To, Place From>
void move_long_blocks(std::byte* to, Placement to_place, const std::byte* from, Placement from_place,
                      std::uint64_t count, std::uint64_t block_bytes) {
    using Registers = VectorRegisters<64>;
    Cursor<std::byte, To, 0> out{to, to_place};
    Cursor<const std::byte, From, 0> in{from, from_place};
    for (; count > 0; --count) {
        std::byte* const target = out.template at<0>();
        const std::byte* const source = in.template at<0>();
        const std::uint64_t tail = block_bytes - 2 * Registers::bytes;
        for (std::uint64_t i = 0; i < tail; i += 2 * Registers::bytes) {
            const auto v0 = Registers::load(source + i);
            const auto v1 = Registers::load(source + i + Registers::bytes);
            Registers::store(target + i, v0);
            Registers::store(target + i + Registers::bytes, v1);
        }
        const auto v0 = Registers::load(source + tail);
        const auto v1 = Registers::load(source + tail + Registers::bytes);
        Registers::store(target + tail, v0);
        Registers::store(target + tail + Registers::bytes, v1);
        in.template advance<1>();
        out.template advance<1>();
    }
}

template <Place To, Place From>
void copy_by_library(std::byte* to, Placement to_place, const std::byte* from, Placement from_place,
                     std::uint64_t count, std::uint64_t block_bytes) {
    Cursor<std::byte, To, 0> out{to, to_place};
    Cursor<const std::byte, From, 0> in{from, from_place};
    for (; count > 0; --count) {
        std::memcpy(out.template at<0>(), in.template at<0>(), block_bytes);
        in.template advance<1>();
        out.template advance<1>();
    }
}

} // namespace HWY_NAMESPACE
} // namespace lapwing::detail::kernels
HWY_AFTER_NAMESPACE();
#endif
