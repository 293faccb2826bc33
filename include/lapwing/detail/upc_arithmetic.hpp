// Room: upc
#pragma once

#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/upc.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace lapwing::upc {

/// What arithmetic on pointers-to-shared needs to know: THREADS, with its reciprocal.
class ThreadCount {
public:
    ThreadCount() noexcept = default;
    explicit ThreadCount(int threads) noexcept
        : threads_{threads},
          shift_{std::has_single_bit(static_cast<unsigned>(threads)) ? std::countr_zero(static_cast<unsigned>(threads))
                                                                     : -1},
          by_threads_{static_cast<std::uint64_t>(threads)} {}

    [[nodiscard]] int threads() const noexcept { return static_cast<int>(threads_); }
    [[nodiscard]] const lapwing::detail::distribution::Reciprocal& reciprocal() const noexcept { return by_threads_; }

    /// p + elements, which counts no phase where blocks have one element or there are none (UPC language
    /// specification 1.3, section 6.4.3), in blocks of block_size elements; 0: indefinite. Blocks are dealt to the
    /// threads in turn, so that the pointer goes through a block, then to the block of the next thread, and from the
    /// last thread to the first one's next block. Where block_size is a constant the compiler does away with its
    /// division.
    [[nodiscard, gnu::always_inline]] lapwing_upc_pointer add(lapwing_upc_pointer p, std::uint64_t element_bytes,
                                                              std::uint64_t block_size,
                                                              std::int64_t elements) const noexcept {
        if (block_size <= 1) p.phase = 0;
        const std::int64_t position = static_cast<std::int64_t>(p.phase) + elements;
        if (block_size == 0 || (block_size != 1 && static_cast<std::uint64_t>(position) < block_size)) {
            p.address += static_cast<std::uint64_t>(elements) * element_bytes;
            if (block_size != 0) p.phase = static_cast<std::uint32_t>(position);
            return p;
        }
        const auto block = static_cast<std::int64_t>(block_size);
        const std::int64_t blocks = floor_quotient(position, block);
        const std::int64_t phase = position - blocks * block;
        const auto [rounds, thread] = wrap(static_cast<std::int64_t>(p.thread) + blocks);
        const std::int64_t moved = rounds * block + (phase - static_cast<std::int64_t>(p.phase));
        p.address += static_cast<std::uint64_t>(moved) * element_bytes;
        p.thread = static_cast<std::uint32_t>(thread);
        p.phase = static_cast<std::uint32_t>(phase);
        return p;
    }

    /// Of block `block` of an object that begins with thread 0: how often the blocks have gone round before it, and
    /// whose it is.
    struct RoundAndThread {
        std::uint64_t round;
        std::uint64_t thread;
    };
    [[nodiscard, gnu::always_inline]] RoundAndThread round_and_thread(std::uint64_t block) const noexcept {
        if (shift_ >= 0) [[likely]]
            return {block >> shift_, block & static_cast<std::uint64_t>(threads_ - 1)};
        const auto [round, thread] = by_threads_.divide(block);
        return {round, thread};
    }

    /// Elements from `from` to `to`, of one object.
    [[nodiscard]] std::int64_t difference(const lapwing_upc_pointer& to, const lapwing_upc_pointer& from,
                                          std::uint64_t element_bytes, std::uint64_t block_size) const noexcept {
        const std::int64_t places =
            static_cast<std::int64_t>(to.address - from.address) / static_cast<std::int64_t>(element_bytes);
        if (block_size == 0) return places;
        const auto block = static_cast<std::int64_t>(block_size);
        // Both at the start of their blocks, which are a number of rounds apart.
        const std::int64_t phases =
            block_size == 1 ? 0 : static_cast<std::int64_t>(to.phase) - static_cast<std::int64_t>(from.phase);
        const std::int64_t threads = static_cast<std::int64_t>(to.thread) - static_cast<std::int64_t>(from.thread);
        return (places - phases) * threads_ + threads * block + phases;
    }

private:
    [[nodiscard, gnu::always_inline]] static std::int64_t floor_quotient(std::int64_t position,
                                                                         std::int64_t block) noexcept {
        if (block == 1) return position;
        if (__builtin_constant_p(block) && (block & (block - 1)) == 0)
            return position >> std::countr_zero(static_cast<std::uint64_t>(block));
        // floor(position / block) of a negative position is ~(~position / block), with ~position >= 0.
        const std::int64_t sign = position >> 63;
        const auto magnitude = static_cast<std::uint64_t>(position ^ sign);
        const auto divisor = static_cast<std::uint64_t>(block);
        if (!__builtin_constant_p(block) && (magnitude | divisor) >> 32 == 0) // half of the cycles
            return static_cast<std::int64_t>(static_cast<std::uint32_t>(magnitude) /
                                             static_cast<std::uint32_t>(divisor)) ^
                   sign;
        return static_cast<std::int64_t>(magnitude / divisor) ^ sign;
    }
    /// How often a thread's number has gone round, and which one it then is.
    struct Wrapped {
        std::int64_t rounds;
        std::int64_t thread;
    };
    [[nodiscard, gnu::always_inline]] Wrapped wrap(std::int64_t thread) const noexcept {
        if (shift_ >= 0) [[likely]] // THREADS is a power of two: shifts round down, also below zero
            return {thread >> shift_, thread & (threads_ - 1)};
        const std::int64_t rounds =
            thread >= 0 ? static_cast<std::int64_t>(by_threads_.quotient(static_cast<std::uint64_t>(thread)))
                        : -1 - static_cast<std::int64_t>(by_threads_.quotient(static_cast<std::uint64_t>(-1 - thread)));
        return {rounds, thread - rounds * threads_};
    }

    std::int64_t threads_ = 1;
    int shift_ = 0; ///< THREADS is 2^shift_; -1: it is not a power of two
    lapwing::detail::distribution::Reciprocal by_threads_;
};

} // namespace lapwing::upc
