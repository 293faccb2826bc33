#include "functions/route.hpp"

#include <cstddef>

namespace lapwing::detail::functions {
namespace {

[[nodiscard]] std::int64_t power(std::int64_t base, int exponent) {
    std::int64_t result = 1;
    for (int i = 0; i < exponent; ++i) result *= base;
    return result;
}

} // namespace

Route::Route(int ranks, int direct) noexcept : ranks_{ranks}, side_{ranks} {
    while (power(direct, hops_) < ranks) ++hops_;
    if (hops_ == 1) return;
    side_ = 2;
    while (power(side_, hops_) < ranks) ++side_;
    for (int digit = 0; digit < hops_; ++digit) units_[static_cast<std::size_t>(digit)] = power(side_, digit);
}

Rank Route::next(Rank from, Rank target) const noexcept {
    if (hops_ == 1) return target;
    // The most significant digit that differs, unless there is no such rank: the last numbers are not all in use. Then
    // that digit of the target's is the larger one, so each other change makes a smaller number than the target.
    for (int digit = hops_ - 1; digit >= 0; --digit) {
        const std::int64_t unit = units_[static_cast<std::size_t>(digit)];
        const std::int64_t here = from.value / unit % side_;
        const std::int64_t there = target.value / unit % side_;
        if (here == there) continue;
        const std::int64_t changed = from.value + (there - here) * unit;
        if (changed < ranks_) return Rank{static_cast<int>(changed)};
    }
    return target; // not reached: see above
}

} // namespace lapwing::detail::functions
