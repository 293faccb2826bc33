#pragma once

#include <lapwing/detail/slice_shape.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::slices {

/// Adds which elements of an array of so many dimensions a slice has, and in which order, as numbers that are the same
/// on all ranks.
inline void add_to_compared(std::vector<std::int64_t>& numbers, const SliceShape& shape, std::size_t array_dimensions) {
    for (std::size_t d = 0; d < array_dimensions; ++d) numbers.push_back(shape.is_fixed[d] ? shape.fixed[d] : -1);
    for (const SliceShape::Dimension& dimension : shape.used()) {
        numbers.push_back(static_cast<std::int64_t>(dimension.of_array));
        numbers.push_back(dimension.indices.empty() ? 0 : dimension.indices.first());
        numbers.push_back(dimension.indices.stride());
        numbers.push_back(static_cast<std::int64_t>(dimension.indices.size()));
    }
}

} // namespace lapwing::detail::slices
