#pragma once

#include "prefetch/entry_buffer.hpp"

#include <lapwing/layout.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

/// Ragged indices are many short runs, whose layouts would take far more than the copies: their blocks are listed
/// first.
struct CollectedSlices {
    struct Run {
        int owner = 0;
        ByteBlock there;
        std::int64_t here = 0;
    };

    /// In any order of owners.
    [[nodiscard]] std::vector<prefetching::Slice> take() {
        // As they come where there is one owner, and else without the memory of a stable sort: places in the copies
        // grow.
        if (!std::ranges::is_sorted(runs, {}, &Run::owner))
            std::ranges::sort(runs, {}, [](const Run& run) { return std::pair{run.owner, run.here}; });
        std::vector<ByteBlock> there;
        std::vector<ByteBlock> here;
        for (auto run = runs.begin(); run != runs.end();) {
            const int owner = run->owner;
            there.clear();
            here.clear();
            for (; run != runs.end() && run->owner == owner; ++run) {
                there.push_back(run->there);
                here.push_back({run->here, run->there.bytes});
            }
            list.push_back({owner, Layout::list(there), Layout::list(here)});
        }
        runs.clear();
        return std::exchange(list, {});
    }

    std::vector<prefetching::Slice> list;
    std::vector<Run> runs;
};

} // namespace lapwing::detail::arrays
