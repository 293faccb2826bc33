#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::detail::pipeline {

/// Sizes of the chunks of a transfer: the first, then each `growth` times the one before, up to the largest.
struct Chunks {
    std::uint64_t first = 0;
    double growth = 1;
    std::uint64_t largest = 0;
    /// For gets, backwards from the smallest at the end: what cannot be hidden is the unpacking of the last chunk.
    bool shrinking = false;

    /// Size of the next chunk when `left` of `total` bytes are left; no other state is needed.
    [[nodiscard]] std::uint64_t next(std::uint64_t left, std::uint64_t previous) const noexcept {
        if (!shrinking || growth <= 1) {
            const std::uint64_t wanted = previous == 0 ? first : grown(previous);
            // A rest smaller than half a chunk is not worth an operation of its own.
            return left < wanted + wanted / 2 && left <= largest ? left : std::min(wanted, left);
        }
        // Bytes of the later chunks, counted from the end.
        std::uint64_t later = 0;
        std::uint64_t size = first;
        while (left - later > size) {
            later += size;
            if (size == largest) { // the same from here on
                later += (left - later - 1) / size * size;
                break;
            }
            size = grown(size);
        }
        return left - later;
    }

private:
    [[nodiscard]] std::uint64_t grown(std::uint64_t size) const noexcept {
        if (growth <= 1) return size;
        const double wanted = growth * static_cast<double>(size);
        if (wanted >= static_cast<double>(largest)) return largest;
        return std::max(size + 1, static_cast<std::uint64_t>(wanted));
    }
};

} // namespace lapwing::detail::pipeline
