#pragma once

#include <lapwing/extents.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::datatype {

/// One of nested loops over elements: the number of iterations, and their distance in elements at each end.
struct CopyLevel {
    std::uint64_t count = 1;
    std::uint64_t to_stride = 1;
    std::uint64_t from_stride = 1;
};

/// The most levels of a copy: two for each dimension of an array that is distributed in blocks cyclically.
inline constexpr std::size_t max_copy_levels = 2 * max_dimensions;

/// Copies the elements that the nested levels (last one fastest, at most max_copy_levels) go through. The two sides do
/// not overlap. It does what copy() does for a pair of layouts, with the same kernels, but nothing has to be made
/// first: a small patch takes 100 ns, and its two layouts would take 300.
void strided_copy(std::byte* to, const std::byte* from, std::uint64_t element_bytes, std::span<const CopyLevel> levels);

} // namespace lapwing::detail::datatype
