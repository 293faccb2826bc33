#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::array {

/// One of nested loops over elements: how many, and how many elements apart at each end.
struct CopyLevel {
    std::uint64_t count = 1;
    std::uint64_t to_stride = 1;
    std::uint64_t from_stride = 1;
};

/// Copies the elements that the nested levels (last one fastest, at most max_section_levels) go through. The two sides do not
/// overlap. Levels that are contiguous on both sides become one block; blocks go through the kernels of src/kernels/, a level at a time.
void strided_copy(std::byte* to, const std::byte* from, std::uint64_t element_bytes, std::span<const CopyLevel> levels);

} // namespace lapwing::array
