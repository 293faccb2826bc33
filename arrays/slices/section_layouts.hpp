#pragma once

#include <lapwing/detail/sections.hpp>
#include <lapwing/layout.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::slices {

/// A section in bytes, one of whose sides begins at element `offset` and has these strides.
[[nodiscard]] inline Layout layout_of(const distribution::Section& section, std::uint64_t offset,
                                      std::uint64_t distribution::SectionLevel::* stride, std::uint64_t element_bytes) {
    std::array<Layout::Dimension, distribution::max_section_levels> dimensions;
    for (std::size_t d = 0; d < section.levels.size(); ++d)
        dimensions[d] = {section.levels[d].count, static_cast<std::int64_t>(section.levels[d].*stride * element_bytes)};
    return Layout::strided(std::span{dimensions.data(), section.levels.size()}, element_bytes,
                           static_cast<std::int64_t>(offset * element_bytes));
}
[[nodiscard]] inline Layout at_owner(const distribution::Section& section, std::uint64_t element_bytes) {
    return layout_of(section, section.owner_offset, &distribution::SectionLevel::owner_stride, element_bytes);
}
[[nodiscard]] inline Layout in_buffer(const distribution::Section& section, std::uint64_t element_bytes) {
    return layout_of(section, section.buffer_offset, &distribution::SectionLevel::buffer_stride, element_bytes);
}

} // namespace lapwing::detail::slices
