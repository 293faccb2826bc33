#pragma once

#include <cstdint>
#include <span>

namespace lapwing::detail::distribution {

/// Chooses how many processes each dimension gets. `grid` has the fixed numbers, and 0 where one is to be chosen; their
/// product becomes `ranks`. The grid with the smallest largest segment wins, then the one with the least surface
/// between segments, then the one with more processes in the first dimensions, which keeps rows whole. The fixed
/// numbers must divide `ranks`, and at least one must be open. Cost: the number of ordered factorisations of `ranks`,
/// some ten thousand for 100,000 ranks in four dimensions.
void choose_grid(std::span<int> grid, int ranks, std::span<const std::int64_t> extents);

} // namespace lapwing::detail::distribution
