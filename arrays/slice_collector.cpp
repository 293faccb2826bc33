#include <lapwing/detail/slice_collector.hpp>

#include "arrays/collected_slices.hpp"
#include "arrays/slices/section_layouts.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

SliceCollector::SliceCollector(std::uint64_t element_bytes)
    : element_bytes_{element_bytes}, slices_{std::make_unique<CollectedSlices>()} {}

SliceCollector::~SliceCollector() = default;

void SliceCollector::visit(const distribution::Section& section) {
    owners_.visit(section);
    std::uint64_t run = 1;
    bool is_run = true;
    for (const distribution::SectionLevel& level : section.levels) {
        if (level.count == 1) continue;
        is_run = is_run && run == 1 && level.owner_stride == 1 && level.buffer_stride == 1;
        run = level.count;
    }
    if (is_run)
        slices_->runs.push_back(
            {section.owner,
             {static_cast<std::int64_t>(section.owner_offset * element_bytes_), run * element_bytes_},
             static_cast<std::int64_t>(section.buffer_offset * element_bytes_)});
    else
        slices_->list.push_back(
            {section.owner, slices::at_owner(section, element_bytes_), slices::in_buffer(section, element_bytes_)});
}

std::vector<int> OwnerCollector::take() {
    std::ranges::sort(owners_);
    // Not std::ranges::unique, here and elsewhere: Clang before 16 does not compile a subrange of libstdc++.
    owners_.erase(std::unique(owners_.begin(), owners_.end()), owners_.end());
    return std::exchange(owners_, {});
}

} // namespace lapwing::detail::arrays
