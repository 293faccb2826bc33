// Layouts, plans and recordings.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mpi.h>
#include <vector>

using lapwing::RangeError;
using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;

namespace {

void require_same(std::int64_t count, std::int64_t other, const char* name) {
    if (count != other)
        throw RangeError{fmt::format("the argument '{}' has {} numbers, and the first list {}; pass equally many", name,
                                     other, count)};
}

[[nodiscard]] std::uint64_t not_negative(std::int64_t value, const char* name) {
    if (value < 0) throw RangeError{fmt::format("the argument '{}' has {}; pass numbers from 0 on", name, value)};
    return static_cast<std::uint64_t>(value);
}

/// `run()`, unless the buffer is a section with gaps.
template <class Run>
[[nodiscard]] int of_contiguous(const char* call, const CFI_cdesc_t& buffer, Run run) {
    if (const int code = guarded(call, [&] { fortran::require_contiguous(buffer, "buffer"); })) return code;
    return run();
}

} // namespace

extern "C" {

int lapwing_fortran_layout_create_nested(int64_t levels, const int64_t* counts, int64_t stride_count,
                                         const int64_t* strides, int64_t block_bytes, int64_t offset,
                                         lapwing_layout** layout) {
    std::vector<lapwing_level> nest;
    if (const int code = guarded("lapwing_layout_create_nested", [&] {
            require_same(levels, stride_count, "strides");
            for (std::int64_t k = 0; k < levels; ++k) nest.push_back({not_negative(counts[k], "counts"), strides[k]});
        }))
        return code;
    // Fortran has the innermost first, as the dimensions of an array.
    std::ranges::reverse(nest);
    return lapwing_layout_create_nested(nest.size(), nest.data(), static_cast<std::uint64_t>(block_bytes), offset,
                                        layout);
}

int lapwing_fortran_layout_create_list(int64_t count, const int64_t* offsets, int64_t size_count, const int64_t* sizes,
                                       lapwing_layout** layout) {
    std::vector<lapwing_block> blocks;
    if (const int code = guarded("lapwing_layout_create_list", [&] {
            require_same(count, size_count, "bytes");
            for (std::int64_t k = 0; k < count; ++k) blocks.push_back({offsets[k], not_negative(sizes[k], "bytes")});
        }))
        return code;
    return lapwing_layout_create_list(blocks.size(), blocks.data(), layout);
}

int lapwing_fortran_layout_create_concatenated(const lapwing_layout* first, const lapwing_layout* second,
                                               lapwing_layout** layout) {
    const lapwing_layout* const parts[] = {first, second};
    return lapwing_layout_create_concatenated(2, parts, layout);
}

int lapwing_fortran_layout_create_section(int64_t dimensions, const int64_t* extents, int64_t lower_count,
                                          const int64_t* lower, int64_t upper_count, const int64_t* upper,
                                          const int64_t* strides, int64_t stride_count, int64_t element_bytes,
                                          lapwing_layout** layout) {
    std::vector<lapwing_range> ranges;
    if (const int code = guarded("lapwing_layout_create_section", [&] {
            require_same(dimensions, lower_count, "lower");
            require_same(dimensions, upper_count, "upper");
            if (strides != nullptr) require_same(dimensions, stride_count, "stride");
            for (std::int64_t d = dimensions; d-- > 0;) {
                const std::int64_t stride = strides != nullptr ? strides[d] : 1;
                if (stride < 1)
                    throw RangeError{fmt::format("the stride {} of dimension {} must be at least 1", stride, d + 1)};
                const std::int64_t size = upper[d] < lower[d] ? 0 : (upper[d] - lower[d]) / stride + 1;
                ranges.push_back({lower[d] - 1, static_cast<std::uint64_t>(size), stride});
            }
        }))
        return code;
    const std::vector<std::int64_t> reversed(std::reverse_iterator{extents + dimensions},
                                             std::reverse_iterator{extents});
    return lapwing_layout_create_patch(static_cast<int>(dimensions), ranges.data(), reversed.data(),
                                       static_cast<std::uint64_t>(element_bytes), layout);
}

int lapwing_fortran_layout_create_of(const CFI_cdesc_t* buffer, lapwing_layout** layout) {
    return fortran::make_layout(*buffer, layout);
}

int lapwing_fortran_layout_create_mpi(int datatype, int64_t count, lapwing_layout** layout) {
    return lapwing_layout_create_mpi(MPI_Type_f2c(datatype), static_cast<std::uint64_t>(count), layout);
}

int lapwing_fortran_layout_to_mpi(const lapwing_layout* layout, int* datatype) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int code = lapwing_layout_to_mpi(layout, &type);
    *datatype = MPI_Type_c2f(type);
    return code;
}

// A plan has one layout, of memory that begins with the buffer: a section with gaps would have two.
int lapwing_fortran_plan_execute(lapwing_plan* plan, CFI_cdesc_t* buffer) {
    return of_contiguous("lapwing_plan_execute", *buffer,
                         [&] { return lapwing_plan_execute(plan, buffer->base_addr); });
}
int lapwing_fortran_plan_execute_put(lapwing_plan* plan, const CFI_cdesc_t* buffer) {
    return of_contiguous("lapwing_plan_execute_put", *buffer,
                         [&] { return lapwing_plan_execute_put(plan, buffer->base_addr); });
}
int lapwing_fortran_plan_execute_notify(lapwing_plan* plan, const CFI_cdesc_t* buffer, int counter) {
    return of_contiguous("lapwing_plan_execute_notify", *buffer, [&] {
        return lapwing_plan_execute_notify(plan, buffer->base_addr, static_cast<unsigned>(counter));
    });
}
int lapwing_fortran_plan_start(lapwing_plan* plan, CFI_cdesc_t* buffer, lapwing_completion** completion) {
    return of_contiguous("lapwing_plan_start", *buffer,
                         [&] { return lapwing_plan_start(plan, buffer->base_addr, completion); });
}
int lapwing_fortran_plan_produce(lapwing_plan* plan, const CFI_cdesc_t* buffer, lapwing_production** production) {
    return of_contiguous("lapwing_plan_produce", *buffer,
                         [&] { return lapwing_plan_produce(plan, buffer->base_addr, production); });
}

int lapwing_fortran_recording_put(lapwing_recording* recording, int rank, int64_t offset, const CFI_cdesc_t* buffer) {
    return of_contiguous("lapwing_recording_put", *buffer, [&] {
        return lapwing_recording_put(recording, rank, static_cast<std::uint64_t>(offset), buffer->base_addr,
                                     fortran::count_of(*buffer) * buffer->elem_len);
    });
}

} // extern "C"
