#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace lapwing::detail::model {

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The lower quartile of measured times; 0 for none. What else runs on a machine only ever adds time, so that with
/// company the median is too high long before the lower quartile is; without it they are the same.
[[nodiscard]] inline double typical_time(std::vector<double> times) {
    if (times.empty()) return 0;
    const auto place = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
    std::ranges::nth_element(times, place);
    return *place;
}

} // namespace lapwing::detail::model
