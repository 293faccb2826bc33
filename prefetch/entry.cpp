#include "prefetch/entry.hpp"

#include "pipeline/planned_transfer.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/plan.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace lapwing::detail::prefetching {
namespace {

/// Owners pack if the array may change its extents and if they can: between nodes, by a progress thread or where all
/// transfers are messages. One block needs no packing.
Strategy strategy(window::WindowState& window, const Slice& slice, const PrefetchOptions& options) {
    if (options.static_domain || slice.there.is_contiguous()) return Strategy::automatic;
    return pipeline::may_be_owner_packed(window, slice.owner) ? Strategy::owner_packed : Strategy::automatic;
}

} // namespace

Entry::Entry(window::WindowState& window, const Slice& slice, std::byte* memory, const PrefetchOptions& options)
    : owner_{slice.owner},
      memory_{memory},
      plan_{std::make_shared<pipeline::PlanState>(window, transport::Direction::get, slice.here, slice.owner, Offset{0},
                                                  slice.there,
                                                  PlanOptions{.strategy = strategy(window, slice, options)})} {}

std::uint64_t Entry::offset() const noexcept { return static_cast<std::uint64_t>(plan_->remote.lower()); }

std::uint64_t Entry::bytes() const noexcept { return plan_->shape.bytes; }

std::uint64_t Entry::memory() const noexcept {
    return sizeof(Entry) + sizeof(pipeline::PlanState) + plan_->local.list_memory() + plan_->remote.list_memory();
}

Completion Entry::start_fill() { return pipeline::start_past_cache(plan_, memory_); }

std::uint64_t Entry::list_runs() {
    if (!runs_.empty()) return 0;
    LayoutZip zip{plan_->remote, plan_->local};
    while (!zip.done()) {
        const BlockPair pair = zip.next();
        runs_.push_back({static_cast<std::uint64_t>(pair.source), pair.bytes, memory_ + pair.target});
        longest_run_ = std::max(longest_run_, pair.bytes);
    }
    runs_.shrink_to_fit();
    std::ranges::sort(runs_, {}, &Run::offset);
    for (std::size_t k = 1; k < runs_.size(); ++k)
        disjoint_ = disjoint_ && runs_[k - 1].offset + runs_[k - 1].bytes <= runs_[k].offset;
    return runs_.size() * sizeof(Run);
}

void Entry::reduce(std::uint64_t offset, window::CopiesAround& around) const noexcept {
    const auto after = std::ranges::upper_bound(runs_, offset, {}, &Run::offset);
    if (after != runs_.end()) around.after = std::min(around.after, after->offset - offset);
    if (after != runs_.begin()) {
        const Run& run = *std::prev(after);
        const std::uint64_t within = offset - run.offset;
        if (within >= run.bytes) {
            around.before = std::min(around.before, within - run.bytes);
        } else if (around.copy == nullptr) {
            around.before = std::min(around.before, within);
            around.after = std::min(around.after, run.bytes - within);
            around.copy = run.copy + within;
        } else {
            around.after = 0; // there are two copies
        }
    }
    if (!disjoint_) around.after = 0;
}

std::vector<Entry> entries_of(window::WindowState& window, std::vector<Slice> slices, std::byte* memory,
                              const PrefetchOptions& options) {
    const transport::MemoryMap& map = window.map();
    const auto distance = [&](const Slice& slice) {
        return (slice.owner.value - map.own_rank + map.ranks) % map.ranks;
    };
    std::ranges::stable_sort(slices, {}, distance);
    std::vector<Entry> entries;
    for (auto slice = slices.begin(); slice != slices.end();) {
        const auto end =
            std::find_if(slice, slices.end(), [&](const Slice& other) { return other.owner != slice->owner; });
        std::vector<Layout> there;
        std::vector<Layout> here;
        for (; slice != end; ++slice) {
            there.push_back(std::move(slice->there));
            here.push_back(std::move(slice->here));
        }
        entries.emplace_back(window,
                             Slice{std::prev(end)->owner, Layout::concatenate(there), Layout::concatenate(here)},
                             memory, options);
    }
    return entries;
}

} // namespace lapwing::detail::prefetching
