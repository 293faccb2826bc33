// Elements, patches, lists and atomics of arrays.
#include "bindings/c/array.hpp"
#include "bindings/c/atomics.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/completion.hpp"

#include <lapwing/detail/index_list.hpp>
#include <lapwing/detail/trace.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

namespace lapwing::detail::bindings {
namespace {

using arrays::Direction;
using arrays::ListedPlace;

Offset offset_of(const AnyArray& array, const Location& location) {
    return Offset{location.offset * array.element_bytes()};
}

void get_element(ArrayInside& inside, const PaddedIndex& position, void* value) {
    AnyArray& array = inside.array;
    if (array.read_copy(position, span_at(value, array.element_bytes()))) return;
    const trace::CallScope call{trace::Way::element};
    if (const std::byte* const memory = trace::on() ? nullptr : array.node().find<std::byte>(position)) {
        std::memcpy(value, memory, array.element_bytes());
        return;
    }
    const Location location = array.stored_location(".get_element", position);
    array.window_of(".get_element")
        .get(location.owner, offset_of(array, location), span_at(value, array.element_bytes()));
}

void put_element(const ArrayInside& inside, const PaddedIndex& position, const void* value) {
    const AnyArray& array = inside.array;
    const Location location = array.stored_location(".put_element", position);
    const trace::CallScope call{trace::Way::element};
    if (array.replicated()) return array.put_to_copies(offset_of(array, location), value);
    array.window_of(".put_element")
        .put(location.owner, offset_of(array, location), span_at(value, array.element_bytes()));
}

void require_type_of(const AnyArray& array, lapwing_type type) {
    if (type != array.type())
        throw UsageError{fmt::format("{}: {} has elements of type {}, and the call is for {}", array.team().who(),
                                     text_of(array), text_of(array.type()), text_of(type))};
}

void require_dimensions_of(const AnyArray& array, int dimensions) {
    if (static_cast<std::size_t>(dimensions) != array.dimensions())
        throw UsageError{fmt::format("{}: {} has {} dimensions, and the call is for {}", array.team().who(),
                                     text_of(array), array.dimensions(), dimensions)};
}

/// Where the elements of a patch are in a buffer. Throws RangeError for strides that do not grow from the last to the
/// first.
distribution::BufferShape<padded> shape_of(const ArrayInside& inside, const PaddedDomain& domain,
                                           const std::int64_t* strides) {
    auto shape = distribution::BufferShape<padded>::row_major(domain);
    if (strides == nullptr) return shape;
    const std::size_t front = padded - inside.array.dimensions();
    std::uint64_t within = 1; // places that one step of a dimension passes over
    for (std::size_t d = inside.array.dimensions(); d-- > 0;) {
        const std::uint64_t size = domain.range(front + d).size();
        if (d + 1 == inside.array.dimensions() && strides[d] != 1)
            throw RangeError{fmt::format(
                "{}: {}: the stride {} of the last dimension of the buffer must be 1; use a slice for other buffers",
                inside.array.team().who(), text_of(inside.array), strides[d])};
        if (size > 1 && std::cmp_less(strides[d], within))
            throw RangeError{fmt::format("{}: {}: the buffer's stride {} of dimension {} is below the {} places of "
                                         "what lies within; strides grow from the "
                                         "last dimension, whose is 1, to the first",
                                         inside.array.team().who(), text_of(inside.array), strides[d], d, within)};
        shape.strides[front + d] = static_cast<std::uint64_t>(strides[d]);
        within = span_with(within, d, size, strides[d]);
    }
    (void)checked_bytes(within, inside.array.element_bytes(), "buffer");
    return shape;
}

Completion start_patch(const char* call, const lapwing_array* array, Direction direction, const lapwing_range* ranges,
                       const void* buffer, const std::int64_t* strides) {
    const ArrayInside& inside = inside_of(array);
    const PaddedDomain domain = positions_of(inside, ranges);
    if (domain.empty()) return {};
    require_pointer(buffer, "buffer");
    // A put only reads the buffer; one type of pointer serves both directions.
    auto* const bytes = static_cast<std::byte*>(const_cast<void*>(buffer));
    return inside.array.start_patch(call, direction, domain, shape_of(inside, domain, strides), bytes);
}

std::vector<ListedPlace> places_of(const ArrayInside& inside, const char* call, std::size_t count,
                                   const std::int64_t* indices) {
    require_memory(indices, count, "indices", inside.array.dimensions() * sizeof *indices);
    std::vector<ListedPlace> places;
    places.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
        const Location location =
            inside.array.stored_location(call, position_of(inside, indices + k * inside.array.dimensions()));
        places.push_back({location.owner.value, location.offset * inside.array.element_bytes()});
    }
    return places;
}

Completion start_list(const char* call, const lapwing_array* array, Direction direction, std::size_t count,
                      const std::int64_t* indices, const void* values) {
    const ArrayInside& inside = inside_of(array);
    std::vector<ListedPlace> places = places_of(inside, call, count, indices);
    require_memory(values, count, "values", inside.array.element_bytes());
    return inside.array.start_list(direction, places, static_cast<std::byte*>(const_cast<void*>(values)));
}

void fetch_list(lapwing_array* array, int operation, std::size_t count, const std::int64_t* indices,
                const void* operands, bool one_operand, void* before, lapwing_completion** completion) {
    const ArrayInside& inside = inside_of(array);
    const lapwing_type type = inside.array.type();
    const mpi::AtomicOperation what = atomic_operation_of(operation, 8, type);
    const mpi::AtomicType how = atomic_type_of(type);
    if (inside.array.replicated()) inside.array.refuse_atomic("fetch", {});
    static constexpr std::uint64_t nothing = 0;
    const bool reads = what == mpi::AtomicOperation::read;
    AtomicList atomics{type, count, reads ? &nothing : operands, reads || one_operand, before};
    const auto places = places_of(inside, ".fetch", count, indices);
    end_list(arrays::start_list_of_atomics(inside.array.window_of(".fetch"), what, how, places, atomics.list, "fetch"),
             atomics, completion);
}

void compare_swap_list(lapwing_array* array, std::size_t count, const std::int64_t* indices, const void* expected,
                       bool one_expected, const void* desired, bool one_desired, void* before,
                       lapwing_completion** completion) {
    const ArrayInside& inside = inside_of(array);
    const lapwing_type type = inside.array.type();
    const mpi::AtomicType how = atomic_type_of(type);
    if (inside.array.replicated()) inside.array.refuse_atomic("compare_swap", {});
    AtomicList atomics{type, count, desired, one_desired, before, "desired"};
    atomics.expect(type, expected, one_expected);
    const auto places = places_of(inside, ".compare_swap", count, indices);
    end_list(arrays::start_list_of_atomics(inside.array.window_of(".compare_swap"), Atomic::replace, how, places,
                                           atomics.list, "compare_swap"),
             atomics, completion);
}

} // namespace

Home home_of(const ArrayInside& inside, const char* call, const PaddedIndex& position) {
    if (inside.array.replicated()) inside.array.refuse_atomic(call, position);
    const Location location = inside.array.stored_location(call, position);
    return {inside.array.window_of(call), location.owner, offset_of(inside.array, location)};
}

} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace
using lapwing::detail::arrays::Direction;

extern "C" {

int lapwing_array_get_element(const lapwing_array* array, const int64_t* index, void* value) {
    return guarded("lapwing_array_get_element", [&] {
        ArrayInside& inside = inside_of(array);
        require_pointer(value, "value");
        get_element(inside, position_of(inside, index), value);
    });
}

int lapwing_array_put_element(lapwing_array* array, const int64_t* index, const void* value) {
    return guarded("lapwing_array_put_element", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(value, "value");
        put_element(inside, position_of(inside, index), value);
    });
}

int lapwing_array_get_typed(const lapwing_array* array, lapwing_type type, const int64_t* index, void* value) {
    return guarded("lapwing_array_get_typed", [&] {
        ArrayInside& inside = inside_of(array);
        require_type_of(inside.array, type);
        require_pointer(value, "value");
        get_element(inside, position_of(inside, index), value);
    });
}

int lapwing_array_put_typed(lapwing_array* array, lapwing_type type, const int64_t* index, const void* value) {
    return guarded("lapwing_array_put_typed", [&] {
        const ArrayInside& inside = inside_of(array);
        require_type_of(inside.array, type);
        require_pointer(value, "value");
        put_element(inside, position_of(inside, index), value);
    });
}

lapwing_far_value lapwing_array_get_far_(const lapwing_array* array, lapwing_type type, int dimensions, int64_t i,
                                         int64_t j, int64_t k) {
    lapwing_far_value value{};
    value.code = guarded("lapwing_array_get_typed", [&] {
        ArrayInside& inside = inside_of(array);
        require_type_of(inside.array, type);
        require_dimensions_of(inside.array, dimensions);
        const std::int64_t index[] = {i, j, k};
        get_element(inside, position_of(inside, index), &value.bits);
    });
    return value;
}

int lapwing_array_put_far_(lapwing_array* array, lapwing_type type, int dimensions, int64_t i, int64_t j, int64_t k,
                           uint64_t bits) {
    return guarded("lapwing_array_put_typed", [&] {
        const ArrayInside& inside = inside_of(array);
        require_type_of(inside.array, type);
        require_dimensions_of(inside.array, dimensions);
        const std::int64_t index[] = {i, j, k};
        put_element(inside, position_of(inside, index), &bits);
    });
}

int lapwing_array_prefetch_element(const lapwing_array* array, const int64_t* index) {
    return guarded("lapwing_array_prefetch_element", [&] {
        const ArrayInside& inside = inside_of(array);
        const lapwing::Location location = inside.array.stored_location(".prefetch", position_of(inside, index));
        inside.array.window_of(".prefetch")
            .prefetch(location.owner, offset_of(inside.array, location), inside.array.element_bytes());
    });
}

int lapwing_array_get(const lapwing_array* array, const lapwing_range* ranges, void* buffer, const int64_t* strides) {
    return guarded("lapwing_array_get",
                   [&] { start_patch(".get", array, Direction::get, ranges, buffer, strides).wait(); });
}

int lapwing_array_put(lapwing_array* array, const lapwing_range* ranges, const void* buffer, const int64_t* strides) {
    return guarded("lapwing_array_put",
                   [&] { start_patch(".put", array, Direction::put, ranges, buffer, strides).wait(); });
}

int lapwing_array_start_get(const lapwing_array* array, const lapwing_range* ranges, void* buffer,
                            const int64_t* strides, lapwing_completion** completion) {
    return guarded("lapwing_array_start_get", [&] {
        require_pointer(completion, "completion");
        give(start_patch(".start_get", array, Direction::get, ranges, buffer, strides), completion);
    });
}

int lapwing_array_start_put(lapwing_array* array, const lapwing_range* ranges, const void* buffer,
                            const int64_t* strides, lapwing_completion** completion) {
    return guarded("lapwing_array_start_put", [&] {
        require_pointer(completion, "completion");
        give(start_patch(".start_put", array, Direction::put, ranges, buffer, strides), completion);
    });
}

int lapwing_array_gather(const lapwing_array* array, size_t count, const int64_t* indices, void* values) {
    return guarded("lapwing_array_gather", [&] {
        const ArrayInside& inside = inside_of(array);
        const std::uint64_t bytes = inside.array.element_bytes();
        const std::vector<ListedPlace> places = places_of(inside, ".gather", count, indices);
        require_memory(values, count, "values", bytes);
        lapwing::detail::arrays::gather_list(inside.array.window_of(".gather"), places, bytes,
                                             static_cast<std::byte*>(values));
    });
}

int lapwing_array_scatter(lapwing_array* array, size_t count, const int64_t* indices, const void* values) {
    return guarded("lapwing_array_scatter",
                   [&] { start_list(".scatter", array, Direction::put, count, indices, values).wait(); });
}

int lapwing_array_start_gather(const lapwing_array* array, size_t count, const int64_t* indices, void* values,
                               lapwing_completion** completion) {
    return guarded("lapwing_array_start_gather", [&] {
        require_pointer(completion, "completion");
        give(start_list(".start_gather", array, Direction::get, count, indices, values), completion);
    });
}

int lapwing_array_start_scatter(lapwing_array* array, size_t count, const int64_t* indices, const void* values,
                                lapwing_completion** completion) {
    return guarded("lapwing_array_start_scatter", [&] {
        require_pointer(completion, "completion");
        give(start_list(".start_scatter", array, Direction::put, count, indices, values), completion);
    });
}

int lapwing_array_fetch(lapwing_array* array, int operation, const int64_t* index, const void* operand, void* before,
                        int order) {
    return guarded("lapwing_array_fetch", [&] {
        const ArrayInside& inside = inside_of(array);
        const Home home = home_of(inside, "fetch", position_of(inside, index));
        fetch_value(home.window, operation, inside.array.type(), home.owner, home.offset, operand, before, order);
    });
}

int lapwing_array_compare_swap(lapwing_array* array, const int64_t* index, const void* expected, const void* desired,
                               void* before, int order) {
    return guarded("lapwing_array_compare_swap", [&] {
        const ArrayInside& inside = inside_of(array);
        const Home home = home_of(inside, "compare_swap", position_of(inside, index));
        compare_swap_value(home.window, inside.array.type(), home.owner, home.offset, expected, desired, before, order);
    });
}

int lapwing_array_update(lapwing_array* array, int operation, const int64_t* index, const void* operand) {
    return guarded("lapwing_array_update", [&] {
        const ArrayInside& inside = inside_of(array);
        const Home home = home_of(inside, "update", position_of(inside, index));
        update_value(home.window, operation, inside.array.type(), home.owner, home.offset, operand);
    });
}

int lapwing_array_fetch_list(lapwing_array* array, int operation, size_t count, const int64_t* indices,
                             const void* operands, int one_operand, void* before) {
    return guarded("lapwing_array_fetch_list",
                   [&] { fetch_list(array, operation, count, indices, operands, one_operand != 0, before, nullptr); });
}

int lapwing_array_start_fetch_list(lapwing_array* array, int operation, size_t count, const int64_t* indices,
                                   const void* operands, int one_operand, void* before,
                                   lapwing_completion** completion) {
    return guarded("lapwing_array_start_fetch_list", [&] {
        require_pointer(completion, "completion");
        fetch_list(array, operation, count, indices, operands, one_operand != 0, before, completion);
    });
}

int lapwing_array_compare_swap_list(lapwing_array* array, size_t count, const int64_t* indices, const void* expected,
                                    int one_expected, const void* desired, int one_desired, void* before) {
    return guarded("lapwing_array_compare_swap_list", [&] {
        compare_swap_list(array, count, indices, expected, one_expected != 0, desired, one_desired != 0, before,
                          nullptr);
    });
}

int lapwing_array_start_compare_swap_list(lapwing_array* array, size_t count, const int64_t* indices,
                                          const void* expected, int one_expected, const void* desired, int one_desired,
                                          void* before, lapwing_completion** completion) {
    return guarded("lapwing_array_start_compare_swap_list", [&] {
        require_pointer(completion, "completion");
        compare_swap_list(array, count, indices, expected, one_expected != 0, desired, one_desired != 0, before,
                          completion);
    });
}

} // extern "C"
