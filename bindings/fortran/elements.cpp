// Elements, patches, lists, atomics and reductions of arrays, and slices: with variables and sections of Fortran's.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;
using fortran::Contiguous;
using fortran::Fitted;

namespace {

int type_of(const lapwing_array* array, lapwing_type& type) {
    return lapwing_array_shape(array, &type, nullptr, nullptr, nullptr);
}

/// Checks one value of the type of the elements.
int check_value(const char* call, const lapwing_array* array, const CFI_cdesc_t* value, const char* name) {
    lapwing_type type = 0;
    if (const int code = type_of(array, type)) return code;
    return guarded(call, [&] {
        fortran::require_elements(fortran::present(value, name), 1, name);
        fortran::require_type(*value, type, name);
    });
}

/// Checks `count` values, or one for all.
int check_values(const char* call, const lapwing_array* array, const CFI_cdesc_t* values, std::int64_t count,
                 const char* name, bool scalar) {
    if (values == nullptr) return LAPWING_SUCCESS;
    lapwing_type type = 0;
    if (const int code = type_of(array, type)) return code;
    return guarded(call, [&] {
        fortran::require_elements(*values, static_cast<std::uint64_t>(count), name, scalar);
        fortran::require_type(*values, type, name);
    });
}

/// The same for a call that does not wait, and uses the memory itself.
int check_started_values(const char* call, const lapwing_array* array, const CFI_cdesc_t* values, std::int64_t count,
                         const char* name, bool scalar) {
    if (const int code = check_values(call, array, values, count, name, scalar)) return code;
    return guarded(call, [&] { fortran::require_contiguous(fortran::present(values, name), name); });
}

void* address_of(const CFI_cdesc_t* value) { return value != nullptr ? value->base_addr : nullptr; }
int is_one(const CFI_cdesc_t* value) { return value->rank == 0 ? 1 : 0; }

// --- patches
// ----------------------------------------------------------------------------------------------------------

/// `growing`: whether the ranges are ones that patches take.
int fit_patch(const char* call, const lapwing_array* array, const lapwing_range* ranges, const CFI_cdesc_t& buffer,
              Fitted& fitted, bool& growing) {
    int dimensions = 0;
    lapwing_type type = 0;
    if (const int code = lapwing_array_shape(array, &type, &dimensions, nullptr, nullptr)) return code;
    growing = std::all_of(ranges, ranges + dimensions, [](const lapwing_range& range) { return range.stride > 0; });
    return guarded(call, [&] {
        fortran::require_type(buffer, type, "buffer");
        std::array<std::uint64_t, LAPWING_MAX_DIMENSIONS> sizes{};
        for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) sizes[d] = ranges[d].size;
        fitted = fortran::fit(buffer, sizes.data(), static_cast<std::size_t>(dimensions));
    });
}

/// Buffers, and ranges, that patches do not take are slices: those take any stride.
template <class Call>
int with_slice(const lapwing_array* array, const lapwing_range* ranges, Call&& call) {
    int dimensions = 0;
    if (const int code = lapwing_array_shape(array, nullptr, &dimensions, nullptr, nullptr)) return code;
    std::array<lapwing_part, LAPWING_MAX_DIMENSIONS> parts{};
    for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d)
        parts[d] = {LAPWING_PART_RANGE, ranges[d].first, ranges[d].size, ranges[d].stride};
    lapwing_slice* slice = nullptr;
    int code = lapwing_slice_create(array, parts.data(), &slice);
    if (code == LAPWING_SUCCESS) code = call(slice);
    (void)lapwing_slice_free(&slice);
    return code;
}

int refuse_start(const char* call, const CFI_cdesc_t& buffer) {
    return guarded(call, [&] {
        throw lapwing::UsageError{
            fmt::format("the buffer ({}) has strides that a transfer which is not waited for does not take; its "
                        "first dimension must be contiguous, the strides of the others must grow, and those of the "
                        "patch be above 0: pass such a section, or wait",
                        fortran::shape_text(buffer))};
    });
}

template <class Get, class SliceGet>
int move_patch(const char* name, lapwing_array* array, const lapwing_range* ranges, const CFI_cdesc_t& buffer, bool get,
               Get&& call, SliceGet&& slice_call) {
    Fitted fitted;
    bool forward = true;
    if (const int code = fit_patch(name, array, ranges, buffer, fitted, forward)) return code;
    if (forward && fitted.contiguous) return call(fitted.first, nullptr);
    if (forward && fitted.whole && fitted.growing) return call(fitted.first, fitted.strides.data());
    return with_slice(array, ranges, [&](const lapwing_slice* slice) {
        if (fitted.contiguous || fitted.whole)
            return slice_call(slice, fitted.first, fitted.contiguous ? nullptr : fitted.strides.data());
        Contiguous memory{&buffer, get};
        const int code = slice_call(slice, memory.data(), nullptr);
        if (code == LAPWING_SUCCESS) memory.copy_back();
        return code;
    });
}

template <class Call>
int start_patch(const char* name, lapwing_array* array, const lapwing_range* ranges, const CFI_cdesc_t& buffer,
                Call&& call) {
    Fitted fitted;
    bool forward = true;
    if (const int code = fit_patch(name, array, ranges, buffer, fitted, forward)) return code;
    if (!forward || !(fitted.contiguous || (fitted.whole && fitted.growing))) return refuse_start(name, buffer);
    return call(fitted.first, fitted.contiguous ? nullptr : fitted.strides.data());
}

// --- slices
// -----------------------------------------------------------------------------------------------------------

int fit_slice(const char* call, const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t& buffer,
              Fitted& fitted) {
    int dimensions = 0;
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> extents{};
    if (const int code = lapwing_slice_shape(slice, &dimensions, extents.data())) return code;
    return guarded(call, [&] {
        fortran::require_type(buffer, type, "buffer");
        std::array<std::uint64_t, LAPWING_MAX_DIMENSIONS> sizes{};
        std::copy(extents.begin(), extents.end(), sizes.begin());
        fitted = fortran::fit(buffer, sizes.data(), static_cast<std::size_t>(dimensions));
    });
}

template <class Call>
int move_slice(const char* name, const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t& buffer, bool get,
               Call&& call) {
    Fitted fitted;
    if (const int code = fit_slice(name, slice, type, buffer, fitted)) return code;
    if (fitted.contiguous || fitted.whole)
        return call(fitted.first, fitted.contiguous ? nullptr : fitted.strides.data());
    Contiguous memory{&buffer, get};
    const int code = call(memory.data(), nullptr);
    if (code == LAPWING_SUCCESS) memory.copy_back();
    return code;
}

/// The memory itself must do, since the transfer ends after the call.
template <class Call>
int start_slice(const char* name, const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t& buffer,
                Call&& call) {
    Fitted fitted;
    if (const int code = fit_slice(name, slice, type, buffer, fitted)) return code;
    if (!fitted.contiguous && !fitted.whole) return refuse_start(name, buffer);
    return call(fitted.first, fitted.contiguous ? nullptr : fitted.strides.data());
}

// --- reductions
// -------------------------------------------------------------------------------------------------------

/// A procedure of the program's that takes indices in the order of Fortran.
struct Accumulate {
    lapwing_accumulate_function function;
    lapwing_combine_function combine;
    void* context;
    std::size_t dimensions;
};
void accumulate(void* context, void* value, const std::int64_t* index, const void* element) {
    const auto& own = *static_cast<const Accumulate*>(context);
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> reversed{};
    std::reverse_copy(index, index + own.dimensions, reversed.begin());
    own.function(own.context, value, reversed.data(), element);
}
void combine(void* context, void* left, const void* right) {
    const auto& own = *static_cast<const Accumulate*>(context);
    own.combine(own.context, left, right);
}

/// `call(d)` with C's number of a dimension.
template <class Call>
int along(const lapwing_array* array, int dimension, Call call) {
    int dimensions = 0;
    if (const int code = lapwing_fortran_array_dimensions(array, &dimensions)) return code;
    return call(dimensions - dimension);
}

/// The type that a sum of such elements has.
lapwing_type type_of_sum(lapwing_type type) {
    switch (lapwing_type_kind(type)) {
    case LAPWING_KIND_SIGNED: return LAPWING_INT64;
    case LAPWING_KIND_UNSIGNED: return LAPWING_UINT64;
    default: return LAPWING_DOUBLE;
    }
}

} // namespace

extern "C" {

int lapwing_fortran_array_get_element(lapwing_array* array, const int64_t* index, CFI_cdesc_t* value) {
    if (const int code = check_value("lapwing_array_get_element", array, value, "value")) return code;
    return lapwing_array_get_element(array, index, value->base_addr);
}
int lapwing_fortran_array_put_element(lapwing_array* array, const int64_t* index, const CFI_cdesc_t* value) {
    if (const int code = check_value("lapwing_array_put_element", array, value, "value")) return code;
    return lapwing_array_put_element(array, index, value->base_addr);
}

int lapwing_fortran_array_get(lapwing_array* array, const lapwing_range* ranges, CFI_cdesc_t* buffer) {
    return move_patch(
        "lapwing_array_get", array, ranges, *buffer, true,
        [&](void* memory, const std::int64_t* strides) { return lapwing_array_get(array, ranges, memory, strides); },
        [](const lapwing_slice* slice, void* memory, const std::int64_t* strides) {
            return lapwing_slice_get(slice, memory, strides);
        });
}
int lapwing_fortran_array_put(lapwing_array* array, const lapwing_range* ranges, const CFI_cdesc_t* buffer) {
    return move_patch(
        "lapwing_array_put", array, ranges, *buffer, false,
        [&](void* memory, const std::int64_t* strides) { return lapwing_array_put(array, ranges, memory, strides); },
        [](const lapwing_slice* slice, void* memory, const std::int64_t* strides) {
            return lapwing_slice_put(slice, memory, strides);
        });
}
int lapwing_fortran_array_start_get(lapwing_array* array, const lapwing_range* ranges, CFI_cdesc_t* buffer,
                                    lapwing_completion** completion) {
    return start_patch("lapwing_array_start_get", array, ranges, *buffer,
                       [&](void* memory, const std::int64_t* strides) {
                           return lapwing_array_start_get(array, ranges, memory, strides, completion);
                       });
}
int lapwing_fortran_array_start_put(lapwing_array* array, const lapwing_range* ranges, const CFI_cdesc_t* buffer,
                                    lapwing_completion** completion) {
    return start_patch("lapwing_array_start_put", array, ranges, *buffer,
                       [&](void* memory, const std::int64_t* strides) {
                           return lapwing_array_start_put(array, ranges, memory, strides, completion);
                       });
}

int lapwing_fortran_array_gather(lapwing_array* array, int64_t count, const int64_t* indices, CFI_cdesc_t* values) {
    if (const int code = check_values("lapwing_array_gather", array, values, count, "values", false)) return code;
    Contiguous memory{values, true};
    const int code = lapwing_array_gather(array, static_cast<std::size_t>(count), indices, memory.data());
    if (code == LAPWING_SUCCESS) memory.copy_back();
    return code;
}
int lapwing_fortran_array_scatter(lapwing_array* array, int64_t count, const int64_t* indices,
                                  const CFI_cdesc_t* values) {
    if (const int code = check_values("lapwing_array_scatter", array, values, count, "values", false)) return code;
    Contiguous memory{values};
    return lapwing_array_scatter(array, static_cast<std::size_t>(count), indices, memory.data());
}
int lapwing_fortran_array_start_gather(lapwing_array* array, int64_t count, const int64_t* indices, CFI_cdesc_t* values,
                                       lapwing_completion** completion) {
    if (const int code = check_values("lapwing_array_start_gather", array, values, count, "values", false)) return code;
    if (const int code = guarded("lapwing_array_start_gather", [&] { fortran::require_contiguous(*values, "values"); }))
        return code;
    return lapwing_array_start_gather(array, static_cast<std::size_t>(count), indices, values->base_addr, completion);
}
int lapwing_fortran_array_start_scatter(lapwing_array* array, int64_t count, const int64_t* indices,
                                        const CFI_cdesc_t* values, lapwing_completion** completion) {
    if (const int code = check_values("lapwing_array_start_scatter", array, values, count, "values", false))
        return code;
    if (const int code =
            guarded("lapwing_array_start_scatter", [&] { fortran::require_contiguous(*values, "values"); }))
        return code;
    return lapwing_array_start_scatter(array, static_cast<std::size_t>(count), indices, values->base_addr, completion);
}

int lapwing_fortran_array_fetch(lapwing_array* array, int operation, const int64_t* index, const CFI_cdesc_t* operand,
                                CFI_cdesc_t* before, int order) {
    int code = check_value("lapwing_array_fetch", array, operand, "operand");
    if (code == LAPWING_SUCCESS) code = check_values("lapwing_array_fetch", array, before, 1, "before", false);
    if (code == LAPWING_SUCCESS)
        code = lapwing_array_fetch(array, operation, index, operand->base_addr, address_of(before), order);
    return code;
}
int lapwing_fortran_array_compare_swap(lapwing_array* array, const int64_t* index, const CFI_cdesc_t* expected,
                                       const CFI_cdesc_t* desired, CFI_cdesc_t* before, int order) {
    int code = check_value("lapwing_array_compare_swap", array, expected, "expected");
    if (code == LAPWING_SUCCESS) code = check_value("lapwing_array_compare_swap", array, desired, "desired");
    if (code == LAPWING_SUCCESS) code = check_values("lapwing_array_compare_swap", array, before, 1, "before", false);
    if (code == LAPWING_SUCCESS)
        code = lapwing_array_compare_swap(array, index, expected->base_addr, desired->base_addr, address_of(before),
                                          order);
    return code;
}
int lapwing_fortran_array_update(lapwing_array* array, int operation, const int64_t* index,
                                 const CFI_cdesc_t* operand) {
    if (const int code = check_value("lapwing_array_update", array, operand, "operand")) return code;
    return lapwing_array_update(array, operation, index, operand->base_addr);
}
int lapwing_fortran_array_fetch_list(lapwing_array* array, int operation, int64_t count, const int64_t* indices,
                                     const CFI_cdesc_t* operands, CFI_cdesc_t* before) {
    int code = check_values("lapwing_array_fetch_list", array, operands, count, "operands", true);
    if (code == LAPWING_SUCCESS) code = check_values("lapwing_array_fetch_list", array, before, count, "before", false);
    if (code != LAPWING_SUCCESS) return code;
    Contiguous from{operands};
    Contiguous to{before, true};
    code = lapwing_array_fetch_list(array, operation, static_cast<std::size_t>(count), indices, from.data(),
                                    is_one(operands), to.data());
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}
int lapwing_fortran_array_compare_swap_list(lapwing_array* array, int64_t count, const int64_t* indices,
                                            const CFI_cdesc_t* expected, const CFI_cdesc_t* desired,
                                            CFI_cdesc_t* before) {
    int code = check_values("lapwing_array_compare_swap_list", array, expected, count, "expected", true);
    if (code == LAPWING_SUCCESS)
        code = check_values("lapwing_array_compare_swap_list", array, desired, count, "desired", true);
    if (code == LAPWING_SUCCESS)
        code = check_values("lapwing_array_compare_swap_list", array, before, count, "before", false);
    if (code != LAPWING_SUCCESS) return code;
    Contiguous old{expected};
    Contiguous next{desired};
    Contiguous to{before, true};
    code = lapwing_array_compare_swap_list(array, static_cast<std::size_t>(count), indices, old.data(),
                                           is_one(expected), next.data(), is_one(desired), to.data());
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}
int lapwing_fortran_array_start_fetch_list(lapwing_array* array, int operation, int64_t count, const int64_t* indices,
                                           const CFI_cdesc_t* operands, CFI_cdesc_t* before,
                                           lapwing_completion** completion) {
    const char* const call = "lapwing_array_start_fetch_list";
    int code = check_started_values(call, array, operands, count, "operands", true);
    if (code == LAPWING_SUCCESS) code = check_started_values(call, array, before, count, "before", false);
    if (code != LAPWING_SUCCESS) return code;
    return lapwing_array_start_fetch_list(array, operation, static_cast<std::size_t>(count), indices,
                                          operands->base_addr, is_one(operands), before->base_addr, completion);
}
int lapwing_fortran_array_start_compare_swap_list(lapwing_array* array, int64_t count, const int64_t* indices,
                                                  const CFI_cdesc_t* expected, const CFI_cdesc_t* desired,
                                                  CFI_cdesc_t* before, lapwing_completion** completion) {
    const char* const call = "lapwing_array_start_compare_swap_list";
    int code = check_started_values(call, array, expected, count, "expected", true);
    if (code == LAPWING_SUCCESS) code = check_started_values(call, array, desired, count, "desired", true);
    if (code == LAPWING_SUCCESS) code = check_started_values(call, array, before, count, "before", false);
    if (code != LAPWING_SUCCESS) return code;
    return lapwing_array_start_compare_swap_list(array, static_cast<std::size_t>(count), indices, expected->base_addr,
                                                 is_one(expected), desired->base_addr, is_one(desired),
                                                 before->base_addr, completion);
}

int lapwing_fortran_array_fill(lapwing_array* array, const CFI_cdesc_t* value) {
    if (const int code = check_value("lapwing_array_fill", array, value, "value")) return code;
    return lapwing_array_fill(array, value->base_addr);
}
int lapwing_fortran_array_sum(lapwing_array* array, CFI_cdesc_t* sum) {
    lapwing_type type = 0;
    if (const int code = type_of(array, type)) return code;
    if (const int code = guarded("lapwing_array_sum", [&] {
            fortran::require_elements(*sum, 1, "sum");
            fortran::require_type(*sum, type_of_sum(type), "sum");
        }))
        return code;
    return lapwing_array_sum(array, sum->base_addr);
}
int lapwing_fortran_array_min(lapwing_array* array, CFI_cdesc_t* value, int64_t* index) {
    if (const int code = check_value("lapwing_array_min", array, value, "value")) return code;
    return lapwing_array_min(array, value->base_addr, index);
}
int lapwing_fortran_array_max(lapwing_array* array, CFI_cdesc_t* value, int64_t* index) {
    if (const int code = check_value("lapwing_array_max", array, value, "value")) return code;
    return lapwing_array_max(array, value->base_addr, index);
}
int lapwing_fortran_array_reduce(lapwing_array* array, CFI_cdesc_t* value,
                                 lapwing_accumulate_function accumulate_function,
                                 lapwing_combine_function combine_function, void* context) {
    int dimensions = 0;
    if (const int code = lapwing_fortran_array_dimensions(array, &dimensions)) return code;
    Accumulate own{accumulate_function, combine_function, context, static_cast<std::size_t>(dimensions)};
    Contiguous memory{value, true};
    const int code = lapwing_array_reduce(array, memory.data(), fortran::count_of(*value) * value->elem_len, accumulate,
                                          combine, &own);
    if (code == LAPWING_SUCCESS) memory.copy_back();
    return code;
}

int lapwing_fortran_array_sum_along(lapwing_array* array, int dimension, const lapwing_slice* target) {
    return along(array, dimension, [&](int d) { return lapwing_array_sum_along(array, d, target); });
}
int lapwing_fortran_array_min_along(lapwing_array* array, int dimension, const lapwing_slice* target) {
    return along(array, dimension, [&](int d) { return lapwing_array_min_along(array, d, target); });
}
int lapwing_fortran_array_max_along(lapwing_array* array, int dimension, const lapwing_slice* target) {
    return along(array, dimension, [&](int d) { return lapwing_array_max_along(array, d, target); });
}
int lapwing_fortran_array_reduce_along(lapwing_array* array, int dimension, const lapwing_slice* target,
                                       const CFI_cdesc_t* identity, lapwing_accumulate_function accumulate_function,
                                       lapwing_combine_function combine_function, void* context) {
    int dimensions = 0;
    if (const int code = lapwing_fortran_array_dimensions(array, &dimensions)) return code;
    Accumulate own{accumulate_function, combine_function, context, static_cast<std::size_t>(dimensions)};
    Contiguous memory{identity};
    return along(array, dimension, [&](int d) {
        return lapwing_array_reduce_along(array, d, target, memory.data(),
                                          fortran::count_of(*identity) * identity->elem_len, accumulate, combine, &own);
    });
}
int lapwing_fortran_reduction_create(lapwing_array* array, int dimension, const lapwing_slice* target, int operation,
                                     lapwing_reduction** reduction) {
    return along(array, dimension,
                 [&](int d) { return lapwing_reduction_create(array, d, target, operation, reduction); });
}

int lapwing_fortran_checkpoint_extents(lapwing_runtime* runtime, void* path, lapwing_type type, int64_t dimensions,
                                       int64_t* extents) {
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> found{};
    if (const int code = lapwing_checkpoint_extents(runtime, static_cast<const char*>(path), type,
                                                    static_cast<int>(dimensions), found.data()))
        return code;
    std::reverse_copy(found.begin(), found.begin() + dimensions, extents);
    return LAPWING_SUCCESS;
}

int lapwing_fortran_slice_permute(const lapwing_slice* slice, const int64_t* order, int64_t count,
                                  lapwing_slice** permuted) {
    if (order == nullptr) return lapwing_slice_permute(slice, nullptr, permuted);
    int dimensions = 0;
    if (const int code = lapwing_slice_shape(slice, &dimensions, nullptr)) return code;
    std::array<int, LAPWING_MAX_DIMENSIONS> reversed{};
    if (const int code = guarded("lapwing_slice_permute", [&] {
            if (count != dimensions)
                throw lapwing::RangeError{fmt::format(
                    "the argument 'order' has {} numbers; pass one for each of the {} dimensions", count, dimensions)};
            // Dimension f of Fortran's, from 1, is dimension n - f of C's.
            for (int f = 1; f <= dimensions; ++f)
                reversed[static_cast<std::size_t>(dimensions - f)] = dimensions - static_cast<int>(order[f - 1]);
        }))
        return code;
    return lapwing_slice_permute(slice, reversed.data(), permuted);
}
int lapwing_fortran_slice_extents(const lapwing_slice* slice, int64_t* extents, int64_t* count) {
    int dimensions = 0;
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> found{};
    if (const int code = lapwing_slice_shape(slice, &dimensions, found.data())) return code;
    std::reverse_copy(found.begin(), found.begin() + dimensions, extents);
    *count = dimensions;
    return LAPWING_SUCCESS;
}
int lapwing_fortran_slice_dimensions(const lapwing_slice* slice, int* dimensions) {
    return lapwing_slice_shape(slice, dimensions, nullptr);
}
int lapwing_fortran_slice_get(const lapwing_slice* slice, lapwing_type type, CFI_cdesc_t* buffer) {
    return move_slice("lapwing_slice_get", slice, type, *buffer, true, [&](void* memory, const std::int64_t* strides) {
        return lapwing_slice_get(slice, memory, strides);
    });
}
int lapwing_fortran_slice_put(const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t* buffer) {
    return move_slice("lapwing_slice_put", slice, type, *buffer, false, [&](void* memory, const std::int64_t* strides) {
        return lapwing_slice_put(slice, memory, strides);
    });
}
int lapwing_fortran_slice_start_get(const lapwing_slice* slice, lapwing_type type, CFI_cdesc_t* buffer,
                                    lapwing_completion** completion) {
    return start_slice("lapwing_slice_start_get", slice, type, *buffer, [&](void* memory, const std::int64_t* strides) {
        return lapwing_slice_start_get(slice, memory, strides, completion);
    });
}
int lapwing_fortran_slice_start_put(const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t* buffer,
                                    lapwing_completion** completion) {
    return start_slice("lapwing_slice_start_put", slice, type, *buffer, [&](void* memory, const std::int64_t* strides) {
        return lapwing_slice_start_put(slice, memory, strides, completion);
    });
}
int lapwing_fortran_slice_fill(const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t* value) {
    if (const int code = guarded("lapwing_slice_fill", [&] {
            fortran::require_elements(*value, 1, "value");
            fortran::require_type(*value, type, "value");
        }))
        return code;
    return lapwing_slice_fill(slice, value->base_addr);
}
int lapwing_fortran_assignment_add_fill(lapwing_assignment* assignment, const lapwing_slice* target, lapwing_type type,
                                        const CFI_cdesc_t* value) {
    if (const int code = guarded("lapwing_assignment_add_fill", [&] {
            fortran::require_elements(*value, 1, "value");
            fortran::require_type(*value, type, "value");
        }))
        return code;
    return lapwing_assignment_add_fill(assignment, target, value->base_addr);
}

} // extern "C"
