#pragma once

#include "window/coherent_copies.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/rank.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lapwing::detail::pipeline {
class PlanState;
}
namespace lapwing::detail::window {
class WindowState;
}

namespace lapwing::detail::prefetching {

/// What one owner has of a request: byte k of `there`, a layout of its segment, is copied to byte k of `here`.
struct Slice {
    Rank owner = 0;
    Layout there;
    Layout here;
};

/// The copies of one owner, and the plan that fills them.
class Entry {
public:
    /// `memory`: where the layout `here` of the slice begins. Throws RangeError when the slice leaves the owner's
    /// segment.
    Entry(window::WindowState& window, const Slice& slice, std::byte* memory, const PrefetchOptions& options);

    [[nodiscard]] Rank owner() const noexcept { return owner_; }
    /// Of the first byte in the owner's segment.
    [[nodiscard]] std::uint64_t offset() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    /// What this object, its plan and its layouts take.
    [[nodiscard]] std::uint64_t memory() const noexcept;
    /// Whether a fill has completed; until then the copies are undefined.
    [[nodiscard]] bool filled() const noexcept { return filled_; }
    void set_filled(bool filled) noexcept { filled_ = filled; }
    /// Starts to fill them. Bypasses the window's cache, except for this rank's writes, which it writes back first.
    [[nodiscard]] Completion start_fill();
    /// Before for_copies(): finds out where the copies are. Returns how much memory that has taken.
    std::uint64_t list_runs();
    /// Calls `function(copy, offset, bytes)` for the copies of bytes [begin, end) of the owner's segment, run by run.
    template <class Function>
    void for_copies(std::uint64_t begin, std::uint64_t end, Function&& function);
    /// After list_runs(). Reduces `around`, what is known of the bytes around an offset of the owner's segment, to what
    /// these copies leave of it, or add: bytes of which none has a copy, or which lie in a copy as they do in the
    /// segment.
    void reduce(std::uint64_t offset, window::CopiesAround& around) const noexcept;

private:
    /// A run of bytes that is contiguous in the segment and in the copy.
    struct Run {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        std::byte* copy = nullptr;
    };

    Rank owner_;
    bool filled_ = false;
    std::byte* memory_;
    std::shared_ptr<pipeline::PlanState> plan_;
    std::vector<Run> runs_; ///< by offset
    std::uint64_t longest_run_ = 0;
    bool disjoint_ = true;   ///< no byte of the segment is in two runs
    std::size_t recent_ = 0; ///< the run that the last write was to: the next one often goes there, too
};

/// The entries of slices: what comes from one owner becomes one, in their order at each owner; the owners in the order
/// of their ranks, from the one after this rank on, so that not all ranks ask the same one first. Throws as Entry().
[[nodiscard]] std::vector<Entry> entries_of(window::WindowState& window, std::vector<Slice> slices, std::byte* memory,
                                            const PrefetchOptions& options);

template <class Function>
void Entry::for_copies(std::uint64_t begin, std::uint64_t end, Function&& function) {
    if (disjoint_ && recent_ < runs_.size()) {
        const Run& run = runs_[recent_];
        if (run.offset <= begin && end <= run.offset + run.bytes)
            return function(run.copy + (begin - run.offset), begin, end - begin);
    }
    // Runs of a layout that has bytes twice overlap: all that may reach this far.
    const std::uint64_t earliest = begin - std::min(begin, longest_run_);
    auto run = std::lower_bound(runs_.begin(), runs_.end(), earliest,
                                [](const Run& one, std::uint64_t offset) { return one.offset < offset; });
    for (; run != runs_.end() && run->offset < end; ++run) {
        const std::uint64_t first = std::max(begin, run->offset);
        const std::uint64_t last = std::min(end, run->offset + run->bytes);
        if (first >= last) continue;
        recent_ = static_cast<std::size_t>(run - runs_.begin());
        function(run->copy + (first - run->offset), first, last - first);
    }
}

} // namespace lapwing::detail::prefetching
