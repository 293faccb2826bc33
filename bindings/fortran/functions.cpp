// Functions at the owner, and aggregators: with variables and sections of Fortran's.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include "bindings/c/call.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;
using fortran::Contiguous;

namespace {

std::uint64_t bytes_of(const CFI_cdesc_t* value) {
    return value == nullptr ? 0 : fortran::count_of(*value) * value->elem_len;
}
int is_one(const CFI_cdesc_t* value) { return value->rank == 0 ? 1 : 0; }

/// `count` values of the type of the elements, or with `scalar` one for all.
int check_values(const char* call, const lapwing_array* array, const CFI_cdesc_t* values, std::int64_t count,
                 const char* name, bool scalar, bool kept) {
    lapwing_type type = 0;
    if (const int code = lapwing_array_shape(array, &type, nullptr, nullptr, nullptr)) return code;
    return guarded(call, [&] {
        fortran::require_elements(fortran::present(values, name), static_cast<std::uint64_t>(count), name, scalar);
        fortran::require_type(*values, type, name);
        if (kept) fortran::require_contiguous(*values, name);
    });
}
/// As many arguments, or one for all, and as many results.
int check_list(const char* call, const CFI_cdesc_t* arguments, const CFI_cdesc_t* results, std::int64_t count) {
    return guarded(call, [&] {
        fortran::require_elements(fortran::present(arguments, "arguments"), static_cast<std::uint64_t>(count),
                                  "arguments", true);
        if (results != nullptr) fortran::require_elements(*results, static_cast<std::uint64_t>(count), "results");
    });
}

} // namespace

extern "C" {

int lapwing_fortran_runtime_call(lapwing_runtime* runtime, int rank, const char* name, const CFI_cdesc_t* argument,
                                 CFI_cdesc_t* result, int where) {
    Contiguous from{argument};
    Contiguous to{result, true};
    const int code =
        lapwing_runtime_call(runtime, where, rank, name, from.data(), bytes_of(argument), to.data(), bytes_of(result));
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}

int lapwing_fortran_runtime_start_call(lapwing_runtime* runtime, int rank, const char* name,
                                       const CFI_cdesc_t* argument, int result_bytes, lapwing_future** future,
                                       int where) {
    Contiguous from{argument};
    return lapwing_runtime_start_call(runtime, where, rank, name, from.data(), bytes_of(argument),
                                      static_cast<std::uint64_t>(result_bytes), future);
}

int lapwing_fortran_runtime_post(lapwing_runtime* runtime, int rank, const char* name, const CFI_cdesc_t* argument,
                                 int where) {
    Contiguous from{argument};
    return lapwing_runtime_post(runtime, where, rank, name, from.data(), bytes_of(argument));
}

int lapwing_fortran_array_apply(lapwing_array* array, const int64_t* index, const char* name,
                                const CFI_cdesc_t* argument, CFI_cdesc_t* result) {
    Contiguous from{argument};
    Contiguous to{result, true};
    const int code =
        lapwing_array_apply(array, index, name, from.data(), bytes_of(argument), to.data(), bytes_of(result));
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}

int lapwing_fortran_array_start_apply(lapwing_array* array, const int64_t* index, const char* name,
                                      const CFI_cdesc_t* argument, int result_bytes, lapwing_future** future) {
    Contiguous from{argument};
    return lapwing_array_start_apply(array, index, name, from.data(), bytes_of(argument),
                                     static_cast<std::uint64_t>(result_bytes), future);
}

int lapwing_fortran_array_post(lapwing_array* array, const int64_t* index, const char* name,
                               const CFI_cdesc_t* argument) {
    Contiguous from{argument};
    return lapwing_array_post(array, index, name, from.data(), bytes_of(argument));
}

int lapwing_fortran_array_apply_list(lapwing_array* array, int64_t count, const int64_t* indices, const char* name,
                                     const CFI_cdesc_t* arguments, CFI_cdesc_t* results) {
    if (const int code = check_list("lapwing_array_apply_list", arguments, results, count)) return code;
    Contiguous from{arguments};
    Contiguous to{results, true};
    const int code = lapwing_array_apply_list(array, static_cast<std::size_t>(count), indices, name, from.data(),
                                              arguments->elem_len, is_one(arguments), to.data(), results->elem_len);
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}

int lapwing_fortran_array_post_list(lapwing_array* array, int64_t count, const int64_t* indices, const char* name,
                                    const CFI_cdesc_t* arguments) {
    if (const int code = check_list("lapwing_array_post_list", arguments, nullptr, count)) return code;
    Contiguous from{arguments};
    return lapwing_array_post_list(array, static_cast<std::size_t>(count), indices, name, from.data(),
                                   arguments->elem_len, is_one(arguments));
}

int lapwing_fortran_future_get(lapwing_future** future, CFI_cdesc_t* result) {
    Contiguous to{result, true};
    const std::uint64_t room = bytes_of(result);
    std::uint64_t bytes = 0;
    const int code = lapwing_future_get(future, to.data(), room, &bytes);
    if (code != LAPWING_SUCCESS) return code;
    if (bytes < room)
        std::memset(static_cast<std::byte*>(to.data()) + bytes, 0, static_cast<std::size_t>(room - bytes));
    to.copy_back();
    return code;
}

int lapwing_fortran_aggregator_get(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                                   CFI_cdesc_t* value) {
    if (const int code = check_values("lapwing_aggregator_get", array, value, 1, "value", false, true)) return code;
    return lapwing_aggregator_get(aggregator, array, index, value->base_addr);
}

int lapwing_fortran_aggregator_put(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                                   const CFI_cdesc_t* value) {
    if (const int code = check_values("lapwing_aggregator_put", array, value, 1, "value", false, false)) return code;
    return lapwing_aggregator_put(aggregator, array, index, value->base_addr);
}

int lapwing_fortran_aggregator_add(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                                   const CFI_cdesc_t* value) {
    if (const int code = check_values("lapwing_aggregator_add", array, value, 1, "value", false, false)) return code;
    return lapwing_aggregator_add(aggregator, array, index, value->base_addr);
}

int lapwing_fortran_aggregator_get_list(lapwing_aggregator* aggregator, lapwing_array* array, int64_t count,
                                        const int64_t* indices, CFI_cdesc_t* values) {
    if (const int code = check_values("lapwing_aggregator_get_list", array, values, count, "values", false, true))
        return code;
    return lapwing_aggregator_get_list(aggregator, array, static_cast<std::size_t>(count), indices, values->base_addr);
}

int lapwing_fortran_aggregator_put_list(lapwing_aggregator* aggregator, lapwing_array* array, int64_t count,
                                        const int64_t* indices, const CFI_cdesc_t* values) {
    if (const int code = check_values("lapwing_aggregator_put_list", array, values, count, "values", true, false))
        return code;
    Contiguous from{values};
    return lapwing_aggregator_put_list(aggregator, array, static_cast<std::size_t>(count), indices, from.data(),
                                       is_one(values));
}

int lapwing_fortran_aggregator_add_list(lapwing_aggregator* aggregator, lapwing_array* array, int64_t count,
                                        const int64_t* indices, const CFI_cdesc_t* values) {
    if (const int code = check_values("lapwing_aggregator_add_list", array, values, count, "values", true, false))
        return code;
    Contiguous from{values};
    return lapwing_aggregator_add_list(aggregator, array, static_cast<std::size_t>(count), indices, from.data(),
                                       is_one(values));
}

int lapwing_fortran_aggregator_post(lapwing_aggregator* aggregator, int rank, const char* name,
                                    const CFI_cdesc_t* argument) {
    Contiguous from{argument};
    return lapwing_aggregator_post(aggregator, rank, name, from.data(), bytes_of(argument));
}

} // extern "C"
