// Runtimes: MPI's handles as integers, and values of any type.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <mpi.h>

using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;
using fortran::Contiguous;

namespace {

/// A reduction of numbers, whose type the descriptor says.
template <class Call>
int reduce(const char* name, CFI_cdesc_t* values, Call&& call) {
    lapwing_type type = 0;
    if (const int code = guarded(name, [&] { type = fortran::type_of(*values, "values"); })) return code;
    Contiguous memory{values, true};
    const int code = call(type, memory.data(), fortran::count_of(*values));
    if (code == LAPWING_SUCCESS) memory.copy_back();
    return code;
}

std::uint64_t bytes_of(const CFI_cdesc_t& value) { return fortran::count_of(value) * value.elem_len; }

} // namespace

extern "C" {

int lapwing_fortran_runtime_create(int communicator, int world, const lapwing_settings* settings,
                                   lapwing_runtime** runtime) {
    // MPI converts handles between MPI_Init and MPI_Finalize alone.
    if (communicator == world) return lapwing_runtime_create(MPI_COMM_WORLD, settings, runtime);
    if (const int code = guarded("lapwing_runtime_create", [&] {
            int initialised = 0;
            MPI_Initialized(&initialised);
            if (initialised == 0)
                throw lapwing::UsageError{
                    "MPI is not initialised; pass MPI_COMM_WORLD, or call MPI_Init_thread before"};
        }))
        return code;
    return lapwing_runtime_create(MPI_Comm_f2c(communicator), settings, runtime);
}

int lapwing_fortran_runtime_progress(lapwing_runtime* runtime, int* moved) {
    return lapwing_runtime_progress(runtime, moved);
}

int lapwing_fortran_runtime_wait_request(lapwing_runtime* runtime, int* request) {
    MPI_Request one = MPI_Request_f2c(*request);
    const int code = lapwing_runtime_wait_request(runtime, &one, MPI_STATUS_IGNORE);
    *request = MPI_Request_c2f(one);
    return code;
}

int lapwing_fortran_runtime_sum(lapwing_runtime* runtime, CFI_cdesc_t* values) {
    return reduce("lapwing_runtime_sum", values, [&](auto type, void* memory, auto count) {
        return lapwing_runtime_sum(runtime, type, memory, count);
    });
}
int lapwing_fortran_runtime_min(lapwing_runtime* runtime, CFI_cdesc_t* values) {
    return reduce("lapwing_runtime_min", values, [&](auto type, void* memory, auto count) {
        return lapwing_runtime_min(runtime, type, memory, count);
    });
}
int lapwing_fortran_runtime_max(lapwing_runtime* runtime, CFI_cdesc_t* values) {
    return reduce("lapwing_runtime_max", values, [&](auto type, void* memory, auto count) {
        return lapwing_runtime_max(runtime, type, memory, count);
    });
}

int lapwing_fortran_runtime_all_reduce(lapwing_runtime* runtime, CFI_cdesc_t* values, int datatype, int operation) {
    const MPI_Datatype type = MPI_Type_f2c(datatype);
    std::uint64_t count = fortran::count_of(*values);
    if (const int code = guarded("lapwing_runtime_all_reduce", [&] {
            int bytes = 0;
            if (type != MPI_DATATYPE_NULL) MPI_Type_size(type, &bytes);
            if (bytes <= 0 || bytes_of(*values) % static_cast<std::uint64_t>(bytes) != 0)
                throw lapwing::UsageError{
                    fmt::format("the datatype has {} bytes, and the values {}; pass the datatype of the values", bytes,
                                bytes_of(*values))};
            count = bytes_of(*values) / static_cast<std::uint64_t>(bytes);
        }))
        return code;
    Contiguous memory{values, true};
    const int code = lapwing_runtime_all_reduce(runtime, memory.data(), count, type, MPI_Op_f2c(operation));
    if (code == LAPWING_SUCCESS) memory.copy_back();
    return code;
}

int lapwing_fortran_runtime_broadcast(lapwing_runtime* runtime, CFI_cdesc_t* values, int root) {
    Contiguous memory{values, true};
    const int code = lapwing_runtime_broadcast(runtime, memory.data(), bytes_of(*values), root);
    if (code == LAPWING_SUCCESS) memory.copy_back();
    return code;
}

int lapwing_fortran_runtime_combine(lapwing_runtime* runtime, CFI_cdesc_t* value, lapwing_combine_function combine,
                                    void* context) {
    Contiguous memory{value, true};
    const int code = lapwing_runtime_combine(runtime, memory.data(), bytes_of(*value), combine, context);
    if (code == LAPWING_SUCCESS) memory.copy_back();
    return code;
}

int lapwing_fortran_runtime_combine_before(lapwing_runtime* runtime, const CFI_cdesc_t* value, CFI_cdesc_t* before,
                                           lapwing_combine_function combine, void* context, int* has_before) {
    if (const int code = guarded("lapwing_runtime_combine_before", [&] {
            fortran::require_elements(*before, fortran::count_of(*value), "before");
            fortran::require_type(*before, LAPWING_BYTES(value->elem_len), "before");
        }))
        return code;
    Contiguous from{value};
    Contiguous to{before, true};
    const int code =
        lapwing_runtime_combine_before(runtime, from.data(), to.data(), bytes_of(*value), combine, context, has_before);
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}

int lapwing_fortran_runtime_all_gather(lapwing_runtime* runtime, const CFI_cdesc_t* value, CFI_cdesc_t* all) {
    int ranks = 0;
    if (const int code = lapwing_runtime_size(runtime, &ranks)) return code;
    if (const int code = guarded("lapwing_runtime_all_gather", [&] {
            fortran::require_type(*all, LAPWING_BYTES(value->elem_len), "all");
            fortran::require_elements(*all, fortran::count_of(*value) * static_cast<std::uint64_t>(ranks), "all");
        }))
        return code;
    Contiguous from{value};
    Contiguous to{all, true};
    const int code = lapwing_runtime_all_gather(runtime, from.data(), bytes_of(*value), to.data());
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}

int lapwing_fortran_runtime_all_gather_varying(lapwing_runtime* runtime, const CFI_cdesc_t* value, CFI_cdesc_t* all,
                                               CFI_cdesc_t* counts) {
    int ranks = 0;
    if (const int code = lapwing_runtime_size(runtime, &ranks)) return code;
    lapwing_type type = 0;
    if (const int code = guarded("lapwing_runtime_all_gather_varying", [&] {
            type = fortran::type_of(*value, "value");
            fortran::require_type(*all, type, "all");
            fortran::require_type(*counts, LAPWING_INT64, "counts");
            fortran::require_elements(*counts, static_cast<std::uint64_t>(ranks), "counts");
        }))
        return code;
    Contiguous from{value};
    Contiguous to{all, true};
    Contiguous numbers{counts, true};
    const int code =
        lapwing_runtime_all_gather_varying(runtime, type, from.data(), fortran::count_of(*value), to.data(),
                                           fortran::count_of(*all), static_cast<std::uint64_t*>(numbers.data()));
    numbers.copy_back(); // where there is too little room, too
    if (code == LAPWING_SUCCESS) to.copy_back();
    return code;
}

int lapwing_fortran_runtime_require_same(lapwing_runtime* runtime, const int64_t* values, int64_t count, void* what) {
    return lapwing_runtime_require_same(runtime, values, static_cast<std::size_t>(count),
                                        static_cast<const char*>(what));
}

} // extern "C"
