// Prefetched parts of windows, and what a relabelling says.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include "bindings/c/type.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstring>

using lapwing::RangeError;
using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;

extern "C" {

int lapwing_fortran_require_count_of(int64_t value, const char* name) {
    if (value >= 0) return LAPWING_SUCCESS;
    return guarded("lapwing", [&] {
        throw RangeError{fmt::format("the argument '{}' is {}; it must not be negative", name, value)};
    });
}

int lapwing_fortran_relabelling_query(const lapwing_relabelling* relabelling, int* number, int* changes,
                                      int64_t* bytes_moved, int64_t* bytes_moved_unordered, int64_t* bytes) {
    lapwing_relabelling_info info{};
    if (const int code = lapwing_relabelling_query(relabelling, &info)) return code;
    *number = info.rank;
    *changes = info.changes;
    *bytes_moved = static_cast<std::int64_t>(info.bytes_moved);
    *bytes_moved_unordered = static_cast<std::int64_t>(info.bytes_moved_unordered);
    *bytes = static_cast<std::int64_t>(info.bytes);
    return LAPWING_SUCCESS;
}

int lapwing_fortran_prefetch_create(lapwing_window* window, int consistent, lapwing_prefetch** prefetch) {
    lapwing_prefetch_options options = lapwing_prefetch_options_default();
    options.consistent = consistent;
    return lapwing_prefetch_create(window, &options, prefetch);
}

int lapwing_fortran_prefetch_access(lapwing_prefetch* prefetch, int64_t slice, CFI_cdesc_t* buffer) {
    const void* memory = nullptr;
    std::uint64_t bytes = 0;
    if (const int code = lapwing_prefetch_access(prefetch, static_cast<std::uint64_t>(slice), &memory, &bytes))
        return code;
    return guarded("lapwing_prefetch_access", [&] {
        const std::uint64_t room = fortran::count_of(*buffer) * buffer->elem_len;
        if (room != bytes)
            throw RangeError{fmt::format("the argument 'buffer' has {} bytes, and the slice {}", room, bytes)};
        fortran::Contiguous copy{buffer, true};
        if (bytes > 0) std::memcpy(copy.data(), memory, bytes);
        copy.copy_back();
    });
}

int lapwing_fortran_prefetch_read(lapwing_prefetch* prefetch, int64_t slice, int64_t k, CFI_cdesc_t* value) {
    int code = LAPWING_SUCCESS;
    const int outcome = guarded("lapwing_prefetch_read", [&] {
        if (k < 1) throw RangeError{fmt::format("the argument 'k' is {}; values count from 1", k)};
        fortran::require_elements(*value, 1, "value");
        fortran::Contiguous copy{value, true};
        code = lapwing_prefetch_read(prefetch, static_cast<std::uint64_t>(slice), fortran::type_of(*value, "value"),
                                     static_cast<std::uint64_t>(k - 1), copy.data());
        if (code == LAPWING_SUCCESS) copy.copy_back();
    });
    return outcome != LAPWING_SUCCESS ? outcome : code;
}

} // extern "C"
