// Windows: sections of arrays as buffers, and atomics whose type the operand has.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include "bindings/c/type.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <mpi.h>

using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;
using fortran::Contiguous;

namespace {

std::uint64_t bytes_of(const CFI_cdesc_t& value) { return fortran::count_of(value) * value.elem_len; }
std::uint64_t offset_of(std::int64_t offset) {
    return static_cast<std::uint64_t>(offset);
} // below 0: beyond every part

/// Calls `simple(memory, bytes)` for contiguous memory, else `with_layouts(there, here)`.
template <class Simple, class WithLayouts>
int transfer(const CFI_cdesc_t& buffer, Simple&& simple, WithLayouts&& with_layouts) {
    if (fortran::is_contiguous(buffer)) return simple(buffer.base_addr, bytes_of(buffer));
    lapwing_layout* there = nullptr;
    lapwing_layout* here = nullptr;
    int code = lapwing_layout_create_contiguous(bytes_of(buffer), 0, &there);
    if (code == LAPWING_SUCCESS) code = fortran::make_layout(buffer, &here);
    if (code == LAPWING_SUCCESS) code = with_layouts(there, here);
    lapwing_layout_free(&there);
    lapwing_layout_free(&here);
    return code;
}

/// Calls `call(here)` with the layout that is given, or else that of the buffer.
template <class Call>
int with_layout(const CFI_cdesc_t& buffer, const lapwing_layout* given, Call&& call) {
    if (given != nullptr) return call(given);
    lapwing_layout* own = nullptr;
    int code = fortran::make_layout(buffer, &own);
    if (code == LAPWING_SUCCESS) code = call(own);
    lapwing_layout_free(&own);
    return code;
}

/// Checks the operands of atomics: their type, and that they fit each other. `count` 1: scalars.
struct Operands {
    lapwing_type type = 0; ///< 0: that of the first

    void check(const CFI_cdesc_t& operand, std::uint64_t count, const char* name, bool scalar = true) {
        if (type == 0) type = fortran::type_of(operand, name);
        fortran::require_type(operand, type, name);
        fortran::require_elements(operand, count, name, scalar);
    }
    void check_result(const CFI_cdesc_t* before, std::uint64_t count) {
        if (before == nullptr) return;
        fortran::require_type(*before, type, "before");
        fortran::require_elements(*before, count, "before");
    }
};

bool is_one(const CFI_cdesc_t& operand) { return operand.rank == 0; }

} // namespace

extern "C" {

int lapwing_fortran_window_create(lapwing_runtime* runtime, int64_t bytes, void* name, int notification_counters,
                                  int alignment, int64_t zeroed_bytes, int64_t identity, void* identity_name,
                                  const lapwing_cache_options* cache, lapwing_window** window) {
    lapwing_window_options options = lapwing_window_options_default();
    options.name = static_cast<const char*>(name);
    if (const int code = guarded("lapwing_window_create", [&] {
            if (bytes < 0 || notification_counters < 0)
                throw lapwing::RangeError{fmt::format("{} bytes and {} notification counters; neither may be below 0",
                                                      bytes, notification_counters)};
        }))
        return code;
    options.notification_counters = static_cast<unsigned>(notification_counters);
    if (alignment != 0) options.alignment = static_cast<unsigned>(alignment);
    if (zeroed_bytes >= 0) options.zeroed_bytes = static_cast<std::uint64_t>(zeroed_bytes);
    options.identity = static_cast<std::uint64_t>(identity);
    options.identity_name = static_cast<const char*>(identity_name);
    if (cache != nullptr) options.cache = *cache;
    return lapwing_window_create(runtime, static_cast<std::uint64_t>(bytes), &options, window);
}

int lapwing_fortran_window_adopt(lapwing_runtime* runtime, int mpi_window, int locked, void* name,
                                 int notification_counters, const lapwing_cache_options* cache,
                                 lapwing_window** window) {
    lapwing_window_options options = lapwing_window_options_default();
    options.name = static_cast<const char*>(name);
    options.notification_counters = static_cast<unsigned>(notification_counters);
    if (cache != nullptr) options.cache = *cache;
    return lapwing_window_adopt(runtime, MPI_Win_f2c(mpi_window), locked, &options, window);
}

int lapwing_fortran_window_memory(const lapwing_window* window, int rank, lapwing_type type, void** memory,
                                  int64_t* count) {
    std::uint64_t bytes = 0;
    if (const int code = lapwing_window_memory(window, rank, memory, &bytes)) return code;
    *count = *memory != nullptr ? static_cast<std::int64_t>(bytes / lapwing::detail::bindings::size_of(type)) : 0;
    return LAPWING_SUCCESS;
}

int lapwing_fortran_window_get(lapwing_window* window, int rank, int64_t offset, CFI_cdesc_t* buffer) {
    return transfer(
        *buffer,
        [&](void* memory, auto bytes) { return lapwing_window_get(window, rank, offset_of(offset), memory, bytes); },
        [&](auto* there, auto* here) {
            return lapwing_window_get_layout(window, rank, offset_of(offset), there, buffer->base_addr, here);
        });
}
int lapwing_fortran_window_put(lapwing_window* window, int rank, int64_t offset, const CFI_cdesc_t* buffer) {
    return transfer(
        *buffer,
        [&](void* memory, auto bytes) { return lapwing_window_put(window, rank, offset_of(offset), memory, bytes); },
        [&](auto* there, auto* here) {
            return lapwing_window_put_layout(window, rank, offset_of(offset), there, buffer->base_addr, here);
        });
}
int lapwing_fortran_window_start_get(lapwing_window* window, int rank, int64_t offset, CFI_cdesc_t* buffer,
                                     lapwing_completion** completion) {
    return transfer(
        *buffer,
        [&](void* memory, auto bytes) {
            return lapwing_window_start_get(window, rank, offset_of(offset), memory, bytes, completion);
        },
        [&](auto* there, auto* here) {
            return lapwing_window_start_get_layout(window, rank, offset_of(offset), there, buffer->base_addr, here,
                                                   completion);
        });
}
int lapwing_fortran_window_start_put(lapwing_window* window, int rank, int64_t offset, const CFI_cdesc_t* buffer,
                                     lapwing_completion** completion) {
    return transfer(
        *buffer,
        [&](void* memory, auto bytes) {
            return lapwing_window_start_put(window, rank, offset_of(offset), memory, bytes, completion);
        },
        [&](auto* there, auto* here) {
            return lapwing_window_start_put_layout(window, rank, offset_of(offset), there, buffer->base_addr, here,
                                                   completion);
        });
}
int lapwing_fortran_window_put_notify(lapwing_window* window, int rank, int64_t offset, const CFI_cdesc_t* buffer,
                                      int counter) {
    const auto number = static_cast<unsigned>(counter);
    return transfer(
        *buffer,
        [&](void* memory, auto bytes) {
            return lapwing_window_put_notify(window, rank, offset_of(offset), memory, bytes, number);
        },
        [&](auto* there, auto* here) {
            return lapwing_window_put_notify_layout(window, rank, offset_of(offset), there, buffer->base_addr, here,
                                                    number);
        });
}

int lapwing_fortran_window_get_layout(lapwing_window* window, int rank, int64_t offset, const lapwing_layout* there,
                                      CFI_cdesc_t* buffer, const lapwing_layout* here) {
    return with_layout(*buffer, here, [&](auto* own) {
        return lapwing_window_get_layout(window, rank, offset_of(offset), there, buffer->base_addr, own);
    });
}
int lapwing_fortran_window_put_layout(lapwing_window* window, int rank, int64_t offset, const lapwing_layout* there,
                                      const CFI_cdesc_t* buffer, const lapwing_layout* here) {
    return with_layout(*buffer, here, [&](auto* own) {
        return lapwing_window_put_layout(window, rank, offset_of(offset), there, buffer->base_addr, own);
    });
}
int lapwing_fortran_window_start_get_layout(lapwing_window* window, int rank, int64_t offset,
                                            const lapwing_layout* there, CFI_cdesc_t* buffer,
                                            const lapwing_layout* here, lapwing_completion** completion) {
    return with_layout(*buffer, here, [&](auto* own) {
        return lapwing_window_start_get_layout(window, rank, offset_of(offset), there, buffer->base_addr, own,
                                               completion);
    });
}
int lapwing_fortran_window_start_put_layout(lapwing_window* window, int rank, int64_t offset,
                                            const lapwing_layout* there, const CFI_cdesc_t* buffer,
                                            const lapwing_layout* here, lapwing_completion** completion) {
    return with_layout(*buffer, here, [&](auto* own) {
        return lapwing_window_start_put_layout(window, rank, offset_of(offset), there, buffer->base_addr, own,
                                               completion);
    });
}
int lapwing_fortran_window_put_notify_layout(lapwing_window* window, int rank, int64_t offset,
                                             const lapwing_layout* there, const CFI_cdesc_t* buffer,
                                             const lapwing_layout* here, int counter) {
    return with_layout(*buffer, here, [&](auto* own) {
        return lapwing_window_put_notify_layout(window, rank, offset_of(offset), there, buffer->base_addr, own,
                                                static_cast<unsigned>(counter));
    });
}

// The datatypes say where the bytes are, relative to the beginning of what is described.
int lapwing_fortran_window_get_mpi(lapwing_window* window, CFI_cdesc_t* buffer, int64_t count, int datatype, int rank,
                                   int64_t displacement, int64_t target_count, int target_datatype) {
    return lapwing_window_get_mpi(window, buffer->base_addr, count, MPI_Type_f2c(datatype), rank, displacement,
                                  target_count, MPI_Type_f2c(target_datatype));
}
int lapwing_fortran_window_put_mpi(lapwing_window* window, const CFI_cdesc_t* buffer, int64_t count, int datatype,
                                   int rank, int64_t displacement, int64_t target_count, int target_datatype) {
    return lapwing_window_put_mpi(window, buffer->base_addr, count, MPI_Type_f2c(datatype), rank, displacement,
                                  target_count, MPI_Type_f2c(target_datatype));
}
int lapwing_fortran_window_start_get_mpi(lapwing_window* window, CFI_cdesc_t* buffer, int64_t count, int datatype,
                                         int rank, int64_t displacement, int64_t target_count, int target_datatype,
                                         lapwing_completion** completion) {
    return lapwing_window_start_get_mpi(window, buffer->base_addr, count, MPI_Type_f2c(datatype), rank, displacement,
                                        target_count, MPI_Type_f2c(target_datatype), completion);
}
int lapwing_fortran_window_start_put_mpi(lapwing_window* window, const CFI_cdesc_t* buffer, int64_t count, int datatype,
                                         int rank, int64_t displacement, int64_t target_count, int target_datatype,
                                         lapwing_completion** completion) {
    return lapwing_window_start_put_mpi(window, buffer->base_addr, count, MPI_Type_f2c(datatype), rank, displacement,
                                        target_count, MPI_Type_f2c(target_datatype), completion);
}

int lapwing_fortran_window_fetch(lapwing_window* window, int operation, int rank, int64_t offset,
                                 const CFI_cdesc_t* operand, CFI_cdesc_t* before, int order, lapwing_type type) {
    Operands operands{type};
    if (const int code = guarded("lapwing_window_fetch", [&] {
            operands.check(*operand, 1, "operand");
            operands.check_result(before, 1);
        }))
        return code;
    return lapwing_window_fetch(window, operation, operands.type, rank, offset_of(offset), operand->base_addr,
                                before != nullptr ? before->base_addr : nullptr, order);
}

int lapwing_fortran_window_compare_swap(lapwing_window* window, int rank, int64_t offset, const CFI_cdesc_t* expected,
                                        const CFI_cdesc_t* desired, CFI_cdesc_t* before, int order) {
    Operands operands;
    if (const int code = guarded("lapwing_window_compare_swap", [&] {
            operands.check(*expected, 1, "expected");
            operands.check(*desired, 1, "desired");
            operands.check_result(before, 1);
        }))
        return code;
    return lapwing_window_compare_swap(window, operands.type, rank, offset_of(offset), expected->base_addr,
                                       desired->base_addr, before != nullptr ? before->base_addr : nullptr, order);
}

int lapwing_fortran_window_update(lapwing_window* window, int operation, int rank, int64_t offset,
                                  const CFI_cdesc_t* operand, lapwing_type type) {
    Operands operands{type};
    if (const int code = guarded("lapwing_window_update", [&] { operands.check(*operand, 1, "operand"); })) return code;
    return lapwing_window_update(window, operation, operands.type, rank, offset_of(offset), operand->base_addr);
}

int lapwing_fortran_window_fetch_list(lapwing_window* window, int operation, int rank, int64_t count,
                                      const int64_t* offsets, const CFI_cdesc_t* values, CFI_cdesc_t* before) {
    const auto number = static_cast<std::uint64_t>(count);
    Operands operands;
    if (const int code = guarded("lapwing_window_fetch_list", [&] {
            operands.check(*values, number, "operands");
            operands.check_result(before, number);
        }))
        return code;
    Contiguous from{values};
    Contiguous to{before, true};
    const int code = lapwing_window_fetch_list(window, operation, operands.type, rank, number,
                                               reinterpret_cast<const std::uint64_t*>(offsets), from.data(),
                                               is_one(*values) ? 1 : 0, to.data());
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}

int lapwing_fortran_window_start_fetch_list(lapwing_window* window, int operation, int rank, int64_t count,
                                            const int64_t* offsets, const CFI_cdesc_t* values, CFI_cdesc_t* before,
                                            lapwing_completion** completion) {
    const auto number = static_cast<std::uint64_t>(count);
    Operands operands;
    if (const int code = guarded("lapwing_window_start_fetch_list", [&] {
            operands.check(*values, number, "operands");
            operands.check_result(before, number);
            fortran::require_contiguous(*values, "operands");
            fortran::require_contiguous(*before, "before");
        }))
        return code;
    return lapwing_window_start_fetch_list(window, operation, operands.type, rank, number,
                                           reinterpret_cast<const std::uint64_t*>(offsets), values->base_addr,
                                           is_one(*values) ? 1 : 0, before->base_addr, completion);
}

int lapwing_fortran_window_compare_swap_list(lapwing_window* window, int rank, int64_t count, const int64_t* offsets,
                                             const CFI_cdesc_t* expected, const CFI_cdesc_t* desired,
                                             CFI_cdesc_t* before) {
    const auto number = static_cast<std::uint64_t>(count);
    Operands operands;
    if (const int code = guarded("lapwing_window_compare_swap_list", [&] {
            operands.check(*expected, number, "expected");
            operands.check(*desired, number, "desired");
            operands.check_result(before, number);
        }))
        return code;
    Contiguous old{expected};
    Contiguous next{desired};
    Contiguous to{before, true};
    const int code = lapwing_window_compare_swap_list(
        window, operands.type, rank, number, reinterpret_cast<const std::uint64_t*>(offsets), old.data(),
        is_one(*expected) ? 1 : 0, next.data(), is_one(*desired) ? 1 : 0, to.data());
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}

int lapwing_fortran_window_start_compare_swap_list(lapwing_window* window, int rank, int64_t count,
                                                   const int64_t* offsets, const CFI_cdesc_t* expected,
                                                   const CFI_cdesc_t* desired, CFI_cdesc_t* before,
                                                   lapwing_completion** completion) {
    const auto number = static_cast<std::uint64_t>(count);
    Operands operands;
    if (const int code = guarded("lapwing_window_start_compare_swap_list", [&] {
            operands.check(*expected, number, "expected");
            operands.check(*desired, number, "desired");
            operands.check_result(before, number);
            fortran::require_contiguous(*expected, "expected");
            fortran::require_contiguous(*desired, "desired");
            fortran::require_contiguous(*before, "before");
        }))
        return code;
    return lapwing_window_start_compare_swap_list(
        window, operands.type, rank, number, reinterpret_cast<const std::uint64_t*>(offsets), expected->base_addr,
        is_one(*expected) ? 1 : 0, desired->base_addr, is_one(*desired) ? 1 : 0, before->base_addr, completion);
}

} // extern "C"
