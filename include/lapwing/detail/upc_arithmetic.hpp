// Room: upc
#pragma once

#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/upc.h>

#include <cstddef>
#include <cstdint>

namespace lapwing::upc {

/// What arithmetic on pointers-to-shared needs to know: THREADS, with its reciprocal.
class ThreadCount {
public:
    ThreadCount() noexcept = default;
    explicit ThreadCount(int threads) noexcept : threads_{threads}, by_threads_{static_cast<std::uint64_t>(threads)} {}

    [[nodiscard]] int threads() const noexcept { return static_cast<int>(threads_); }

    /// p + elements, in blocks of block_size elements; 0: indefinite. Blocks are dealt to the threads in turn, so that the pointer goes through
    /// a block, then to the block of the next thread, and from the last thread to the first one's next block. Where block_size is a constant
    /// the compiler does away with its division.
    [[nodiscard, gnu::always_inline]] lapwing_upc_pointer add(lapwing_upc_pointer p, std::uint64_t element_bytes, std::uint64_t block_size,
                                                              std::int64_t elements) const noexcept {
        if (block_size == 0) {
            p.address += static_cast<std::uint64_t>(elements) * element_bytes;
            return p;
        }
        const auto block = static_cast<std::int64_t>(block_size);
        const std::int64_t position = static_cast<std::int64_t>(p.phase) + elements;
        std::int64_t blocks = 0;
        std::int64_t phase = position;
        if (position < 0 || position >= block) {
            blocks = position / block;
            phase = position - blocks * block;
            if (phase < 0) {
                phase += block;
                --blocks;
            }
        }
        std::int64_t thread = static_cast<std::int64_t>(p.thread) + blocks;
        std::int64_t rounds = 0;
        if (static_cast<std::uint64_t>(thread) >= static_cast<std::uint64_t>(threads_)) {
            rounds = round_of(thread);
            thread -= rounds * threads_;
        }
        const std::int64_t moved = rounds * block + (phase - static_cast<std::int64_t>(p.phase));
        p.address += static_cast<std::uint64_t>(moved) * element_bytes;
        p.thread = static_cast<std::uint32_t>(thread);
        p.phase = static_cast<std::uint32_t>(phase);
        return p;
    }

    /// Of block `block` of an object that begins with thread 0: how often the blocks have gone round before it, and whose it is.
    struct RoundAndThread {
        std::uint64_t round;
        std::uint64_t thread;
    };
    [[nodiscard, gnu::always_inline]] RoundAndThread round_and_thread(std::uint64_t block) const noexcept {
        const auto [round, thread] = by_threads_.divide(block);
        return {round, thread};
    }

    /// Elements from `from` to `to`, of one object.
    [[nodiscard]] std::int64_t difference(const lapwing_upc_pointer& to, const lapwing_upc_pointer& from, std::uint64_t element_bytes,
                                          std::uint64_t block_size) const noexcept {
        const std::int64_t places = static_cast<std::int64_t>(to.address - from.address) / static_cast<std::int64_t>(element_bytes);
        if (block_size == 0) return places;
        const auto block = static_cast<std::int64_t>(block_size);
        // Both at the start of their blocks, which are a number of rounds apart.
        const std::int64_t phases = static_cast<std::int64_t>(to.phase) - static_cast<std::int64_t>(from.phase);
        const std::int64_t threads = static_cast<std::int64_t>(to.thread) - static_cast<std::int64_t>(from.thread);
        return (places - phases) * threads_ + threads * block + phases;
    }

private:
    /// floor(thread / THREADS)
    [[nodiscard]] std::int64_t round_of(std::int64_t thread) const noexcept {
        if (thread >= 0) return static_cast<std::int64_t>(by_threads_.quotient(static_cast<std::uint64_t>(thread)));
        return -1 - static_cast<std::int64_t>(by_threads_.quotient(static_cast<std::uint64_t>(-1 - thread)));
    }

    std::int64_t threads_ = 1;
    distribution::Reciprocal by_threads_;
};

} // namespace lapwing::upc
