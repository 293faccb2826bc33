#include <lapwing/detail/slice_shape.hpp>

#include "arrays/slices/exchange.hpp"
#include "arrays/slices/patch.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/support/device_memory.hpp"
#include "src/transport/pending_transfer.hpp"
#include "window/window_state.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::detail::slices {

bool SliceShape::empty() const noexcept {
    return std::ranges::any_of(used(), [](const Dimension& dimension) { return dimension.indices.empty(); });
}

std::uint64_t SliceShape::size() const {
    std::array<Range, max_dimensions> ranges;
    for (std::size_t d = 0; d < count; ++d) ranges[d] = dimensions[d].indices.range();
    return datatype::checked_size(ranges.data(), count);
}

std::array<std::int64_t, max_dimensions> SliceShape::dense_strides() const noexcept {
    std::array<std::int64_t, max_dimensions> strides{};
    std::int64_t stride = 1;
    for (std::size_t d = count; d-- > 0;) {
        strides[d] = stride;
        stride *= static_cast<std::int64_t>(dimensions[d].indices.size());
    }
    return strides;
}

bool SliceShape::overlaps(const SliceShape& other, std::size_t array_dimensions) const noexcept {
    const auto ranges_of = [&](const SliceShape& shape) {
        std::array<Range, max_dimensions> ranges;
        for (std::size_t d = 0; d < array_dimensions; ++d)
            if (shape.is_fixed[d]) ranges[d] = Range::strided(shape.fixed[d], 1, 1);
        for (const Dimension& dimension : shape.used()) ranges[dimension.of_array] = dimension.indices.range();
        return ranges;
    };
    const std::array<Range, max_dimensions> own = ranges_of(*this);
    const std::array<Range, max_dimensions> others = ranges_of(other);
    for (std::size_t d = 0; d < array_dimensions; ++d)
        if (own[d].intersect(others[d]).empty()) return false;
    return true;
}

void require_same_extents(const ArrayGeometry& target_array, const SliceShape& target,
                          const ArrayGeometry& source_array, const SliceShape& source) {
    const auto extents_of = [](const SliceShape& shape) {
        std::vector<std::uint64_t> extents;
        for (const SliceShape::Dimension& dimension : shape.used()) extents.push_back(dimension.indices.size());
        return extents;
    };
    const std::vector<std::uint64_t> extents = extents_of(target);
    const std::vector<std::uint64_t> others = extents_of(source);
    if (extents != others)
        throw RangeError{fmt::format(
            "{}: {} = {}: the slices have extents ({}) and ({}); they must be equal, dimension by dimension",
            target_array.team->who(), text_of(target_array, target), text_of(source_array, source),
            fmt::join(extents, ", "), fmt::join(others, ", "))};
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
    throw UsageError{fmt::format(
        "ArraySlice{}: the array of the slice was closed, or got other extents or another distribution; make slices "
        "of it afterwards",
        call)};
}

SliceBase::SliceBase(const std::shared_ptr<const ArrayGeometry>& array) : array_{array} {
    if (array == nullptr)
        throw UsageError{"GlobalArray(…): the array was closed, moved from or never made; make a new one"};
    shape_.count = array->dimensions;
    for (std::size_t d = 0; d < array->dimensions; ++d) shape_.dimensions[d] = {d, Range{0, array->extents[d]}};
}

SliceBase::SliceBase(const std::shared_ptr<const ArrayGeometry>& array, std::span<const Range> domain) : array_{array} {
    // One range without indices makes the domain empty, wherever the others are.
    const bool none = std::ranges::any_of(domain, &Range::empty);
    shape_.count = domain.size();
    for (std::size_t d = 0; d < domain.size(); ++d) {
        if (!none && (domain[d].first() < 0 || domain[d].last() >= array->extents[d]))
            throw RangeError{fmt::format("{}: {}({}): {} of dimension {} leaves [0, {}); cut the domain to the array "
                                         "with intersect(a.domain())",
                                         array->team->who(), array->name,
                                         datatype::domain_text(domain.data(), domain.size()), to_string(domain[d]), d,
                                         array->extents[d])};
        shape_.dimensions[d] = {d, domain[d]};
    }
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
            throw RangeError{fmt::format(
                "{}: {}: {} of dimension {} leaves [0, {}); a slice is within its array, or within the slice that it "
                "is "
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
            throw RangeError{fmt::format("ArraySlice::permuted({}): each of the dimensions [0, {}) must occur once",
                                         fmt::join(order, ", "), shape_.count)};
        result.dimensions[d] = shape_.dimensions[order[d]];
    }
    shape_ = result;
}

void SliceBase::check_buffer(const char* call, std::uint64_t buffer) const {
    const std::uint64_t needed = size();
    if (buffer >= needed) return;
    const std::shared_ptr<const ArrayGeometry> array = open_array(*this, call);
    throw RangeError{fmt::format("{}: {}{}: the buffer has {} elements, the slice {}; it needs size() of them",
                                 array->team->who(), text_of(*array, shape_), call, buffer, needed)};
}

void SliceBase::check_view(const char* call, std::span<const std::int64_t> extents,
                           std::span<const std::int64_t> strides) const {
    std::int64_t inside = 1; // places that one step of a dimension passes over
    for (std::size_t d = shape_.count; d-- > 0;) {
        if (std::cmp_not_equal(shape_.dimensions[d].indices.size(), extents[d])) {
            const std::shared_ptr<const ArrayGeometry> array = open_array(*this, call);
            std::vector<std::uint64_t> sizes;
            for (const SliceShape::Dimension& dimension : shape_.used()) sizes.push_back(dimension.indices.size());
            throw RangeError{fmt::format(
                "{}: {}{}: the view has extents ({}), the slice ({}); they must be equal, see LocalView::part",
                array->team->who(), text_of(*array, shape_), call, fmt::join(extents, ", "), fmt::join(sizes, ", "))};
        }
        if (extents[d] > 1 && strides[d] < inside) {
            const std::shared_ptr<const ArrayGeometry> array = open_array(*this, call);
            throw RangeError{
                fmt::format("{}: {}{}: the view's stride {} of dimension {} is below the {} places of what lies "
                            "inside; strides grow from the last dimension, whose is 1, to the first",
                            array->team->who(), text_of(*array, shape_), call, strides[d], d, inside)};
        }
        if (extents[d] > 0) inside = (extents[d] - 1) * strides[d] + inside;
    }
}

namespace {

/// A slice's transfers, between an array and a buffer.
class PendingExchange final : public transport::PendingTransfer {
public:
    PendingExchange(transport::Direction direction, const SliceBase& slice,
                    const std::shared_ptr<const ArrayGeometry>& array, std::byte* buffer,
                    std::span<const std::int64_t> strides)
        : array_{array},
          exchange_{direction, Side::buffer(slice.shape(), strides, array->element_bytes, buffer),
                    Side::of(*array, slice.shape())} {
        exchange_.start();
    }
    bool test() override { return exchange_.test(); }
    void wait() override {
        if (const std::shared_ptr<const ArrayGeometry> open = array_.lock()) exchange_.wait();
        else exchange_.wait_after_close();
    }

private:
    std::weak_ptr<const ArrayGeometry> array_; ///< may be closed first
    Exchange exchange_;
};

} // namespace

Completion SliceBase::start(const char* call, transport::Direction direction, std::byte* buffer,
                            std::span<const std::int64_t> strides) const {
    const std::shared_ptr<const ArrayGeometry> array = open_array(*this, call);
    if (empty()) return {};
    window::WindowState& window = *array->window;
    const char* const name = call + 1; // windows put the dot before it
    window.require_memory(name);
    support::require_host_memory(buffer, [&] { return window.who(name); });
    // Of a distribution of the program's own, an index that is left out may be that of the rows.
    if (is_patch(shape_, strides) && (array->user_map == nullptr || shape_.count == array->dimensions))
        return start_patch(call, direction, *array, shape_, buffer, strides);
    auto pending = std::make_unique<PendingExchange>(direction, *this, array, buffer, strides);
    if (pending->test()) return {};
    return Completion{std::move(pending)};
}

void SliceBase::get(std::byte* buffer, std::span<const std::int64_t> strides) const {
    const trace::CallScope scope{is_patch(shape_, strides) ? trace::Way::patch : trace::Way::slice};
    start(".get", transport::Direction::get, buffer, strides).wait();
}

void SliceBase::put(const std::byte* buffer, std::span<const std::int64_t> strides) const {
    const trace::CallScope scope{is_patch(shape_, strides) ? trace::Way::patch : trace::Way::slice};
    start(".put", transport::Direction::put, const_cast<std::byte*>(buffer), strides).wait(); // only read
}

Completion SliceBase::start_get(std::byte* buffer, std::span<const std::int64_t> strides) const {
    return start(".start_get", transport::Direction::get, buffer, strides);
}

Completion SliceBase::start_put(const std::byte* buffer, std::span<const std::int64_t> strides) const {
    return start(".start_put", transport::Direction::put, const_cast<std::byte*>(buffer), strides); // only read
}

void SliceBase::put_slice(const SliceBase& source) const {
    const std::shared_ptr<const ArrayGeometry> target_array = open_array(*this, ".put");
    const std::shared_ptr<const ArrayGeometry> source_array = open_array(source, " in put()");
    require_same_extents(*target_array, shape_, *source_array, source.shape());
    if (empty()) return;
    target_array->window->require_memory("put");
    source_array->window->require_memory("put");
    const std::uint64_t element_bytes = target_array->element_bytes;
    const std::uint64_t elements = size();
    constexpr std::uint64_t buffer_bytes = std::uint64_t{4} << 20;
    const bool at_once = target_array == source_array && shape_.overlaps(source.shape(), target_array->dimensions);
    const std::uint64_t at_a_time =
        at_once ? elements : std::min(elements, std::max<std::uint64_t>(1, buffer_bytes / element_bytes));
    const support::AlignedMemory buffer = support::allocate_aligned(at_a_time * element_bytes);
    for (std::uint64_t begin = 0; begin < elements; begin += at_a_time) {
        const std::uint64_t end = std::min(elements, begin + at_a_time);
        move_elements(transport::Direction::get, *source_array, source.shape(), begin, end, buffer.get());
        move_elements(transport::Direction::put, *target_array, shape_, begin, end, buffer.get());
    }
}

} // namespace lapwing::detail::slices
