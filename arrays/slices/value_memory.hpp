#pragma once

#include "pipeline/serving.hpp"
#include "src/support/aligned_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lapwing::detail::slices {

/// Memory for values that are on their way to an assignment's functions, which one piece after another uses: the
/// system takes as long to make new pages as it takes to fill them. For one thread at a time.
class ValueMemory {
public:
    struct Block {
        support::AlignedMemory bytes = {};
        std::uint64_t size = 0;
    };
    /// A piece for a team of so many ranks: it fits into a core's cache, and gets longer where many ranks have parts.
    [[nodiscard]] static constexpr std::uint64_t piece_bytes(int ranks) noexcept {
        constexpr std::uint64_t of_rank = 32 * 1024;
        return std::clamp(static_cast<std::uint64_t>(ranks) * of_rank, least_piece, largest_piece);
    }

    /// Of pieces that are under way together: a few where all ranks wait for them, which stay in the caches; more where
    /// a program computes meanwhile.
    [[nodiscard]] static constexpr std::uint64_t bytes_under_way(std::uint64_t piece_bytes,
                                                                 pipeline::Serving serving) noexcept {
        return serving == pipeline::Serving::in_call ? 4 * piece_bytes : pool_bytes;
    }

    /// Uninitialised memory of at least so many bytes.
    [[nodiscard]] Block take(std::uint64_t bytes) {
        const auto fits = [&](const Block& block) { return block.size >= bytes && block.size / 2 <= bytes; };
        if (const auto found = std::ranges::find_if(free_, fits); found != free_.end()) {
            Block block = std::move(*found);
            free_.erase(found);
            free_bytes_ -= block.size;
            return block;
        }
        return {support::allocate_aligned(bytes), bytes};
    }
    /// Keeps it for the next, in place of what was given back longest ago if there is too much.
    void give_back(Block block) noexcept {
        if (block.size == 0 || block.size > pool_bytes) return;
        for (; free_bytes_ + block.size > pool_bytes; free_.erase(free_.begin())) free_bytes_ -= free_.front().size;
        try {
            free_.push_back(std::move(block));
            free_bytes_ += free_.back().size;
        } catch (...) { // no room to remember it: freed
        }
    }

private:
    static constexpr std::uint64_t least_piece = std::uint64_t{1} << 20;
    static constexpr std::uint64_t largest_piece = std::uint64_t{4} << 20;
    static constexpr std::uint64_t pool_bytes = 4 * largest_piece;

    std::vector<Block> free_;
    std::uint64_t free_bytes_ = 0;
};

} // namespace lapwing::detail::slices
