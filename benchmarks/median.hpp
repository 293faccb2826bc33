#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace lapwing::bench {

[[nodiscard]] inline double median(std::vector<double> values) {
    if (values.empty()) throw std::logic_error{"the median of nothing"};
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

} // namespace lapwing::bench
