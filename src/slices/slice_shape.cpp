#include <lapwing/detail/slice_shape.hpp>

#include "src/slices/exchange.hpp"
#include "window/window_state.hpp"

#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace lapwing::slices {

bool SliceShape::empty() const noexcept {
    return std::ranges::any_of(used(), [](const Dimension& dimension) { return dimension.indices.empty(); });
}

std::uint64_t SliceShape::size() const {
    std::array<Range, max_dimensions> ranges;
    for (std::size_t d = 0; d < count; ++d) ranges[d] = dimensions[d].indices.range();
    return datatype::checked_size(ranges.data(), count);
}

std::string text_of(const ArrayGeometry& array, const SliceShape& shape) {
    std::vector<std::string> parts(array.dimensions);
    for (std::size_t d = 0; d < array.dimensions; ++d)
        if (shape.is_fixed[d]) parts[d] = fmt::format("{}", shape.fixed[d]);
    bool in_order = true;
    for (std::size_t d = 0; d < shape.count; ++d) {
        const SliceShape::Dimension& dimension = shape.dimensions[d];
        parts[dimension.of_array] = to_string(dimension.indices);
        in_order = in_order && (d == 0 || dimension.of_array > shape.dimensions[d - 1].of_array);
    }
    std::string text = fmt::format("{}({})", array.name, fmt::join(parts, ", "));
    if (in_order) return text;
    std::vector<std::size_t> order;
    for (const SliceShape::Dimension& dimension : shape.used()) order.push_back(dimension.of_array);
    return fmt::format("{} with its dimensions in the order {}", text, fmt::join(order, ", "));
}

std::shared_ptr<const ArrayGeometry> open_array(const SliceBase& slice, const char* call) {
    if (std::shared_ptr<const ArrayGeometry> array = slice.array().lock()) return array;
    throw UsageError{fmt::format("ArraySlice{}: the array of the slice was closed, or got other extents or another distribution; make slices "
                                 "of it afterwards",
                                 call)};
}

SliceBase::SliceBase(const std::shared_ptr<const ArrayGeometry>& array) : array_{array} {
    if (array == nullptr) throw UsageError{"GlobalArray(…): the array is closed, moved from or was never made; make a new one"};
    shape_.count = array->dimensions;
    for (std::size_t d = 0; d < array->dimensions; ++d) shape_.dimensions[d] = {d, Range{0, array->extents[d]}};
}

void SliceBase::cut(std::span<const SlicePart> parts) {
    SliceShape result;
    result.fixed = shape_.fixed;
    result.is_fixed = shape_.is_fixed;
    for (std::size_t d = 0; d < parts.size(); ++d) {
        const SlicePart& part = parts[d];
        const SliceShape::Dimension& dimension = shape_.dimensions[d];
        const std::uint64_t extent = dimension.indices.size();
        if (part.everything || part.indices.empty()) {
            result.dimensions[result.count++] = {dimension.of_array, part.everything ? dimension.indices : Triplet{}};
            continue;
        }
        const Range positions = part.indices.range();
        if (positions.first() < 0 || static_cast<std::uint64_t>(positions.last()) >= extent) {
            const std::shared_ptr<const ArrayGeometry> array = open_array(*this, "(…)");
            throw RangeError{fmt::format("{}: {}: {} of dimension {} leaves [0, {}); a slice is within its array, or within the slice that it is "
                                         "made of, whose positions begin at 0",
                                         array->team->who(), text_of(*array, shape_),
                                         part.left_out ? fmt::format("position {}", part.indices.first()) : to_string(part.indices), d, extent)};
        }
        const std::int64_t first = dimension.indices[static_cast<std::uint64_t>(part.indices.first())];
        if (part.left_out) {
            result.fixed[dimension.of_array] = first;
            result.is_fixed[dimension.of_array] = true;
            continue;
        }
        // The distance of two of the slice's own indices, which is within 64 bits.
        const std::int64_t stride = part.indices.size() == 1 ? 1 : part.indices.stride() * dimension.indices.stride();
        result.dimensions[result.count++] = {dimension.of_array, Triplet::strided(first, part.indices.size(), stride)};
    }
    shape_ = result;
}

void SliceBase::permute(std::span<const std::size_t> order) {
    SliceShape result = shape_;
    std::array<bool, max_dimensions> seen{};
    for (std::size_t d = 0; d < order.size(); ++d) {
        if (order[d] >= shape_.count || std::exchange(seen[order[d]], true))
            throw RangeError{fmt::format("ArraySlice::permuted({}): each of the dimensions [0, {}) must come once", fmt::join(order, ", "),
                                         shape_.count)};
        result.dimensions[d] = shape_.dimensions[order[d]];
    }
    shape_ = result;
}

void SliceBase::check_buffer(const char* call, std::uint64_t buffer) const {
    const std::uint64_t needed = size();
    if (buffer >= needed) return;
    const std::shared_ptr<const ArrayGeometry> array = open_array(*this, call);
    throw RangeError{fmt::format("{}: {}.{}: the buffer has {} elements, the slice {}; it needs size() of them", array->team->who(),
                                 text_of(*array, shape_), call, buffer, needed)};
}

void SliceBase::check_extents(const char* call, std::span<const std::int64_t> extents) const {
    for (std::size_t d = 0; d < shape_.count; ++d) {
        if (std::cmp_equal(shape_.dimensions[d].indices.size(), extents[d])) continue;
        const std::shared_ptr<const ArrayGeometry> array = open_array(*this, call);
        throw RangeError{fmt::format("{}: {}.{}: the view has the extent {} in dimension {}, the slice {}; they must be equal, see "
                                     "LocalView::part",
                                     array->team->who(), text_of(*array, shape_), call, extents[d], d, shape_.dimensions[d].indices.size())};
    }
}

std::array<std::int64_t, max_dimensions> SliceBase::dense_strides() const noexcept {
    std::array<std::int64_t, max_dimensions> strides{};
    std::int64_t stride = 1;
    for (std::size_t d = shape_.count; d-- > 0;) {
        strides[d] = stride;
        stride *= static_cast<std::int64_t>(shape_.dimensions[d].indices.size());
    }
    return strides;
}

namespace {

void move(const SliceBase& slice, const char* call, transport::Direction direction, std::byte* buffer, std::span<const std::int64_t> strides) {
    const std::shared_ptr<const ArrayGeometry> array = open_array(slice, call);
    if (slice.empty()) return;
    array->window->require_memory(call);
    Exchange exchange{direction, Side::buffer(slice.shape(), strides, array->element_bytes, buffer), Side::of(*array, slice.shape())};
    exchange.start();
    exchange.wait();
}

} // namespace

void SliceBase::get(std::byte* buffer, std::span<const std::int64_t> strides) const {
    move(*this, ".get", transport::Direction::get, buffer, strides);
}

void SliceBase::put(const std::byte* buffer, std::span<const std::int64_t> strides) const {
    move(*this, ".put", transport::Direction::put, const_cast<std::byte*>(buffer), strides); // only read
}

} // namespace lapwing::slices
