// Arguments that Fortran arrays give, in the order of C.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mpi.h>

using lapwing::RangeError;
using lapwing::UsageError;
using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;

namespace {

int dimensions_of(const lapwing_array* array, int& dimensions) {
    return lapwing_array_shape(array, nullptr, &dimensions, nullptr, nullptr);
}

void require_dimensions(std::int64_t count, std::int64_t dimensions, const char* name) {
    if (count != dimensions)
        throw RangeError{fmt::format("the argument '{}' has {} numbers; pass one for each of the {} dimensions", name,
                                     count, dimensions)};
}

/// From lower to upper, as a triplet of Fortran's counts.
std::uint64_t size_of_triplet(std::int64_t lower, std::int64_t upper, std::int64_t stride) {
    if (stride == 0) throw RangeError{"the argument 'stride' has a 0; pass strides other than 0"};
    if (stride > 0 ? upper < lower : upper > lower) return 0;
    return (stride > 0 ? static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower)
                       : static_cast<std::uint64_t>(lower) - static_cast<std::uint64_t>(upper)) /
               (stride > 0 ? static_cast<std::uint64_t>(stride) : 0 - static_cast<std::uint64_t>(stride)) +
           1;
}

} // namespace

extern "C" {

int lapwing_fortran_require_new(void* handle, const char* object) {
    return guarded("lapwing", [&] {
        if (handle != nullptr)
            throw UsageError{fmt::format("the {} is in use already; free it first, or pass another variable", object)};
    });
}

int lapwing_fortran_require_count(const lapwing_array* array, int64_t count, const char* name) {
    int dimensions = 0;
    if (const int code = dimensions_of(array, dimensions)) return code;
    return guarded("lapwing_array", [&] { require_dimensions(count, dimensions, name); });
}

int lapwing_fortran_index(const lapwing_array* array, int64_t count, const int64_t* values, const char* name,
                          int64_t* index) {
    if (const int code = lapwing_fortran_require_count(array, count, name)) return code;
    std::reverse_copy(values, values + count, index);
    return LAPWING_SUCCESS;
}

int lapwing_fortran_ranges(const lapwing_array* array, int64_t lower_count, const int64_t* lower, int64_t upper_count,
                           const int64_t* upper, int64_t stride_count, const int64_t* strides, lapwing_range* ranges) {
    int dimensions = 0;
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> of_array{};
    if (const int code = dimensions_of(array, dimensions)) return code;
    if (const int code = lapwing_array_stride(array, of_array.data())) return code;
    return guarded("lapwing_array", [&] {
        require_dimensions(lower_count, dimensions, "lower");
        require_dimensions(upper_count, dimensions, "upper");
        if (strides != nullptr) require_dimensions(stride_count, dimensions, "stride");
        for (int d = 0; d < dimensions; ++d) {
            const std::int64_t stride =
                strides != nullptr ? strides[d] : of_array[static_cast<std::size_t>(dimensions - 1 - d)];
            ranges[dimensions - 1 - d] = {lower[d], size_of_triplet(lower[d], upper[d], stride), stride};
        }
    });
}

int lapwing_fortran_parts(int64_t dimensions, int64_t lower_count, const int64_t* lower, int64_t upper_count,
                          const int64_t* upper, int64_t stride_count, const int64_t* strides, int64_t drop_count,
                          const int* drop, lapwing_part* parts) {
    return guarded("lapwing_slice", [&] {
        require_dimensions(lower_count, dimensions, "lower");
        require_dimensions(upper_count, dimensions, "upper");
        if (strides != nullptr) require_dimensions(stride_count, dimensions, "stride");
        if (drop != nullptr) require_dimensions(drop_count, dimensions, "drop");
        for (std::int64_t d = 0; d < dimensions; ++d) {
            const std::int64_t stride = strides != nullptr ? strides[d] : 1;
            lapwing_part& part = parts[dimensions - 1 - d];
            part = {LAPWING_PART_RANGE, lower[d], size_of_triplet(lower[d], upper[d], stride), stride};
            if (drop == nullptr || drop[d] == 0) continue;
            if (part.size != 1)
                throw RangeError{
                    fmt::format("dimension {} is to be left out, and has {} indices from {} to {}; pass one index",
                                d + 1, part.size, lower[d], upper[d])};
            part.kind = LAPWING_PART_INDEX;
        }
    });
}

int lapwing_fortran_type_of(const CFI_cdesc_t* value, lapwing_type* type) {
    return guarded("lapwing_type_of", [&] { *type = fortran::type_of(*value, "variable"); });
}

int lapwing_fortran_type_from_mpi(int datatype, lapwing_type* type) {
    return lapwing_type_from_mpi(MPI_Type_f2c(datatype), type);
}

int lapwing_fortran_settings_name(int64_t number, const char** name) {
    lapwing_setting_info info;
    const int code = lapwing_settings_info(static_cast<std::size_t>(number - 1), &info);
    if (code == LAPWING_SUCCESS) *name = info.name;
    return code;
}

} // extern "C"
