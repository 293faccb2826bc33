#pragma once

#include <cstdint>
#include <span>

namespace lapwing::detail::distribution {

/// Chooses how many processes each dimension gets: `grid` has the fixed ones and 0 for those to choose; the product of
/// all becomes `ranks`. Of all grids the one whose largest segment has the fewest elements, of these the one with the
/// least surface between segments, of these the one with more processes in the first dimensions, which keeps rows
/// whole. The fixed ones must divide `ranks`, and at least one must be open. Cost: as many steps as `ranks` has ordered
/// factorisations, some ten thousand for 100,000 ranks in four dimensions.
void choose_grid(std::span<int> grid, int ranks, std::span<const std::int64_t> extents);

} // namespace lapwing::detail::distribution
