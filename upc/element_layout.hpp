#pragma once

#include <lapwing/upc/pointer.h>

#include <algorithm>
#include <cstdint>

namespace lapwing::upc {

/// A thread's elements in one block.
struct Run {
    std::uint64_t first = 0; ///< number of the first element
    std::uint64_t count = 0;
    std::uint64_t address = 0;
};

/// `shared [block] T object[elements]` starting at a pointer with a phase: in round r each thread has at most one run,
/// and the runs of a round follow each other in thread order.
class ElementLayout {
public:
    /// Of at least one element; block 0: indefinite. As in pointer arithmetic there is no phase in blocks of one
    /// element, or without blocks.
    ElementLayout(const lapwing_upc_pointer& begin, std::uint64_t element_bytes, std::uint64_t block,
                  std::uint64_t elements, int threads) noexcept
        : begin_{begin.address, begin.thread, block <= 1 ? 0 : begin.phase},
          element_bytes_{element_bytes},
          block_{block},
          elements_{elements},
          threads_{static_cast<std::uint64_t>(threads)} {}

    [[nodiscard]] std::uint64_t block() const noexcept { return block_; }
    [[nodiscard]] std::uint64_t elements() const noexcept { return elements_; }
    [[nodiscard]] std::uint64_t rounds() const noexcept {
        if (block_ == 0) return 1;
        return (begin_.thread + (begin_.phase + elements_ - 1) / block_) / threads_ + 1;
    }
    [[nodiscard]] Run run(std::uint64_t round, int thread) const noexcept {
        const auto own = static_cast<std::uint64_t>(thread);
        if (block_ == 0) return own == begin_.thread ? Run{0, elements_, begin_.address} : Run{};
        const std::uint64_t position = round * threads_ + own;
        if (position < begin_.thread) return {};
        // Positions count from the start of the first block.
        const std::uint64_t block_begin = (position - begin_.thread) * block_;
        const std::uint64_t from = std::max<std::uint64_t>(block_begin, begin_.phase);
        const std::uint64_t to = std::min(block_begin + block_, begin_.phase + elements_);
        if (from >= to) return {};
        const std::uint64_t round_begin =
            begin_.address - begin_.phase * element_bytes_ + round * block_ * element_bytes_;
        return {from - begin_.phase, to - from, round_begin + (from - block_begin) * element_bytes_};
    }
    /// All elements of a thread, which are contiguous; `first` is the number of the first.
    [[nodiscard]] Run all(int thread) const noexcept {
        const std::uint64_t last_round = rounds() - 1;
        Run first = run(0, thread);
        if (first.count == 0 && last_round > 0) first = run(1, thread);
        Run last = run(last_round, thread);
        if (last.count == 0 && last_round > 0) last = run(last_round - 1, thread);
        return {first.first, first.count == 0 ? 0 : (last.address - first.address) / element_bytes_ + last.count,
                first.address};
    }
    /// How many elements of a thread precede element number `element`.
    [[nodiscard]] std::uint64_t before(std::uint64_t element, int thread) const noexcept {
        const auto own = static_cast<std::uint64_t>(thread);
        if (block_ == 0) return own == begin_.thread ? element : 0;
        const std::uint64_t place = begin_.phase + element;
        const std::uint64_t position = begin_.thread + place / block_;
        const auto blocks_before = [&](std::uint64_t p) { return (p + threads_ - 1 - own) / threads_; };
        return (blocks_before(position) - blocks_before(begin_.thread)) * block_ +
               (position % threads_ == own ? place % block_ : 0) - (own == begin_.thread ? begin_.phase : 0);
    }
    /// The thread of an element, and how many elements of its block follow, itself included.
    struct Place {
        int thread;
        std::uint64_t left;
    };
    [[nodiscard]] Place place(std::uint64_t element) const noexcept {
        if (block_ == 0) return {static_cast<int>(begin_.thread), elements_ - element};
        const std::uint64_t place = begin_.phase + element;
        return {static_cast<int>((begin_.thread + place / block_) % threads_), block_ - place % block_};
    }

private:
    lapwing_upc_pointer begin_;
    std::uint64_t element_bytes_;
    std::uint64_t block_;
    std::uint64_t elements_;
    std::uint64_t threads_;
};

} // namespace lapwing::upc
