#pragma once

#include "src/kernels/copy_choices.hpp"

namespace lapwing::detail::kernels {

/// Measures the copy kernels on the calling thread's processor and returns a table of the fastest ones, for
/// use_copy_choices() or a profile. This is the algorithm of figure 4 in Schneider, Gerstenberger, Hoefler (see
/// copy_kernels.hpp) over kernels that are compiled already: all methods of a case in turns, the best time of each.
/// Cases beyond the first-level cache are measured with their blocks in a cache and in memory, and take what is best on
/// the whole.
/// Takes `budget_seconds`, and at most a few milliseconds more: 2 s measure every case once, 10 s can tell close ones
/// apart. The lengths that programs use most come first. A case that is not reached in time keeps the built-in choice,
/// as does one where nothing is faster by more than the noise. Sizes beyond the last-level cache are not measured: they
/// take the choice for the last-level cache. Allocates some 20 times the size of the second-level cache while it runs.
/// Changes nothing by itself. Throws std::bad_alloc.
[[nodiscard]] CopyChoices measure_copy_kernels(double budget_seconds);

} // namespace lapwing::detail::kernels
