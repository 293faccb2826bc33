#include "arrays/slices/patch.hpp"

#include "arrays/slices/pairing.hpp"
#include "arrays/slices/section_layouts.hpp"
#include "datatype/strided_copy.hpp"
#include "pipeline/planned_transfer.hpp"
#include "window/recorded_calls.hpp"
#include "window/window_state.hpp"

#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

namespace lapwing::detail::slices {

using transport::Direction;

void PatchTransfer::visit(const distribution::Section& section) {
    if (!replicated_) return carry(section.owner, section);
    const transport::MemoryMap& map = window_.map();
    if (direction_ == Direction::get) return carry(map.own_rank, section);
    // Each rank starts with its neighbour, so that they do not all write to the same one at a time.
    for (int step = 1; step <= map.ranks; ++step) carry((map.own_rank + step) % map.ranks, section);
}

void PatchTransfer::carry(int owner, const distribution::Section& section) {
    const transport::MemoryMap& map = window_.map();
    // A distribution of the program's own may be wrong; nothing is read or written outside of the owner's segment.
    distribution::uint128 end = section.owner_offset + distribution::uint128{1};
    for (const distribution::SectionLevel& level : section.levels)
        end += distribution::uint128{level.count - 1} * level.owner_stride;
    if (owner < 0 || owner >= map.ranks || end * element_bytes_ > map.bytes(owner))
        throw RangeError{
            fmt::format("{}: the distribution puts elements at rank {} of {}, up to offset {} of a part of {} "
                        "bytes; correct its locate()",
                        window_.who("patch"), owner, map.ranks, static_cast<std::uint64_t>(end) * element_bytes_,
                        owner >= 0 && owner < map.ranks ? map.bytes(owner) : 0)};
    if (trace::on()) [[unlikely]]
        note(owner, section);
    if (std::byte* const segment = map.base(owner)) copy(owner, segment, section);
    else start(owner, section);
}

void PatchTransfer::note(int owner, const distribution::Section& section) const {
    std::uint64_t elements = 1;
    for (const distribution::SectionLevel& level : section.levels) elements *= level.count;
    window::note(window_.facts(), direction_ == Direction::get ? trace::Operation::read : trace::Operation::write,
                 owner, section.owner_offset * element_bytes_, elements * element_bytes_, elements, trace::Way::patch);
}

void PatchTransfer::copy(int owner, std::byte* segment, const distribution::Section& section) {
    std::byte* const memory = segment + section.owner_offset * element_bytes_;
    std::byte* const buffer = buffer_ + section.buffer_offset * element_bytes_;
    static_assert(distribution::max_section_levels <= datatype::max_copy_levels);
    std::array<datatype::CopyLevel, distribution::max_section_levels> levels;
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < section.levels.size(); ++d) {
        const distribution::SectionLevel& level = section.levels[d];
        elements *= level.count;
        levels[d] = direction_ == Direction::get
                        ? datatype::CopyLevel{level.count, level.buffer_stride, level.owner_stride}
                        : datatype::CopyLevel{level.count, level.owner_stride, level.buffer_stride};
    }
    const std::span<const datatype::CopyLevel> used{levels.data(), section.levels.size()};
    if (direction_ == Direction::get) datatype::strided_copy(buffer, memory, element_bytes_, used);
    else datatype::strided_copy(memory, buffer, element_bytes_, used);
    window_.statistics().add(direction_ == Direction::get ? Counter::direct_get_bytes : Counter::direct_put_bytes,
                             elements * element_bytes_);
    if (direction_ == Direction::put && window_.order().copies().concerns(owner)) [[unlikely]]
        window_.order().copies().written(owner, at_owner(section, element_bytes_), in_buffer(section, element_bytes_),
                                         buffer_);
}

void PatchTransfer::start(int owner, const distribution::Section& section) {
    if (pending_ == nullptr) pending_ = std::make_unique<PendingTransfers>();
    pending_->make_room();
    const Layout there = at_owner(section, element_bytes_);
    const Layout here = in_buffer(section, element_bytes_);
    if (there.is_contiguous() && here.is_contiguous()) { // nothing to plan
        const auto at = static_cast<std::uint64_t>(there.lower());
        const std::span<std::byte> memory{buffer_ + here.lower(), here.bytes()};
        pending_->add(direction_ == Direction::get ? window_.puts_and_gets().start_get(owner, at, memory)
                                                   : window_.puts_and_gets().start_put(owner, at, memory));
        return;
    }
    pending_->add(pipeline::start_plan(
        std::make_shared<pipeline::PlanState>(window_, direction_, here, Rank{owner}, Offset{0}, there, PlanOptions{}),
        buffer_));
}

Completion PatchTransfer::release() {
    if (pending_ == nullptr) return {};
    return Completion{std::move(pending_)};
}

bool is_patch(const SliceShape& shape, std::span<const std::int64_t> strides) noexcept {
    std::int64_t inside = 1; // places that one step of a dimension passes over
    for (std::size_t d = shape.count; d-- > 0;) {
        const SliceShape::Dimension& dimension = shape.dimensions[d];
        if (dimension.indices.stride() < 0) return false;
        if (d > 0 && dimension.of_array < shape.dimensions[d - 1].of_array) return false;
        const auto size = static_cast<std::int64_t>(dimension.indices.size());
        if (size == 1) continue;
        if (strides[d] < inside) return false;
        inside = (size - 1) * strides[d] + inside;
    }
    return true;
}

namespace {

/// Indices of this many dimensions: those of the array, after others that have one index.
using PaddedIndex = Index<max_dimensions>;

/// A distribution of the program's own as code sees it that needs nothing but locate().
struct CheckedMap {
    [[nodiscard]] Location locate(const PaddedIndex& index) const {
        return user_location(array, index.data() + (max_dimensions - array.dimensions));
    }
    const ArrayGeometry& array;
};

void require_stored(const char* call, const ArrayGeometry& array, const SliceShape& shape,
                    const Domain<max_dimensions>& domain) {
    const Range& row = domain.range(max_dimensions - 1);
    auto row_starts = domain.ranges();
    row_starts.back() = Range::strided(row.first(), 1, 1);
    for (PaddedIndex index : Domain<max_dimensions>{row_starts})
        for (std::uint64_t k = 0; k < row.size();) {
            index.back() = row[k];
            const Location location = CheckedMap{array}.locate(index);
            if (location.owner.value < 0)
                throw RangeError{fmt::format(
                    "{}: {}{}: the distribution stores no element at {}; use indices of the ranks' local_domains(), or "
                    "a distribution that stores all",
                    array.team->who(), text_of(array, shape), call,
                    datatype::index_text(index.data() + (max_dimensions - array.dimensions), array.dimensions))};
            k += (location.contiguous - 1) / static_cast<std::uint64_t>(row.stride()) + 1;
        }
}

} // namespace

Completion start_patch(const char* call, Direction direction, const ArrayGeometry& array, const SliceShape& shape,
                       std::byte* buffer, std::span<const std::int64_t> strides) {
    const std::size_t front = max_dimensions - array.dimensions;
    std::array<Range, max_dimensions> ranges;
    ranges.fill(Range{0, 1});
    distribution::BufferShape<max_dimensions> places;
    for (std::size_t d = 0; d < array.dimensions; ++d)
        if (shape.is_fixed[d]) ranges[front + d] = Range::strided(shape.fixed[d], 1, 1);
    for (std::size_t d = 0; d < shape.count; ++d) {
        const std::size_t at = front + shape.dimensions[d].of_array;
        ranges[at] = shape.dimensions[d].indices.range();
        places.strides[at] = static_cast<std::uint64_t>(strides[d]);
    }
    PatchTransfer patch{array, direction, buffer};
    if (array.user_map != nullptr) {
        const Domain<max_dimensions> domain{ranges};
        require_stored(call, array, shape, domain);
        distribution::cut_rows(CheckedMap{array}, domain, places, patch);
    } else {
        distribution::cut(std::span{array.maps}.first(array.dimensions), array.origin, std::span{ranges}.subspan(front),
                          0, std::span{places.strides}.subspan(front), patch);
    }
    return patch.release();
}

} // namespace lapwing::detail::slices
