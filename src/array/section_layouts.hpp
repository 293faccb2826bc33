#pragma once

#include <lapwing/layout.hpp>
#include <lapwing/patch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::array {

/// A section in bytes: of the owner's segment, and of the buffer.
struct SectionLayouts {
    Layout there;
    Layout here;
};

[[nodiscard]] inline SectionLayouts layouts_of(const Section& section, std::uint64_t element_bytes) {
    const auto layout = [&](std::uint64_t offset, std::uint64_t SectionLevel::* stride) {
        std::array<Layout::Dimension, max_section_levels> dimensions;
        for (std::size_t d = 0; d < section.levels.size(); ++d)
            dimensions[d] = {section.levels[d].count, static_cast<std::int64_t>(section.levels[d].*stride * element_bytes)};
        return Layout::strided(std::span{dimensions.data(), section.levels.size()}, element_bytes,
                               static_cast<std::int64_t>(offset * element_bytes));
    };
    return {layout(section.owner_offset, &SectionLevel::owner_stride), layout(section.buffer_offset, &SectionLevel::buffer_stride)};
}

} // namespace lapwing::array
