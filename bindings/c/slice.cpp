// Slices, assignments and checkpoints.
#include "bindings/c/slice.hpp"

#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/completion.hpp"
#include "bindings/c/convert.hpp"
#include "bindings/c/layout.hpp"

#include <lapwing/assignment.hpp>
#include <lapwing/c/slice.h>
#include <lapwing/checkpoint.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct lapwing_assignment : lapwing::detail::bindings::Object<lapwing_assignment> {
    static constexpr const char* object_name = "assignment";

    lapwing::Assignment assignment;
};

namespace lapwing::detail::bindings {
namespace {

slices::SlicePart part_of(const lapwing_part& part, std::int64_t lower, std::size_t d) {
    require_constant(part.kind, 3, "kind", "LAPWING_PART_ALL, LAPWING_PART_RANGE and LAPWING_PART_INDEX");
    if (part.kind == LAPWING_PART_ALL) return {.indices = {}, .everything = true};
    const bool one = part.kind == LAPWING_PART_INDEX;
    const std::uint64_t size = one ? 1 : part.size;
    std::int64_t first = 0;
    std::int64_t last = 0;
    const bool fits = !__builtin_sub_overflow(part.first, lower, &first) &&
                      (size < 2 || (part.stride != 0 && size - 1 <= INT64_MAX &&
                                    !__builtin_mul_overflow(static_cast<std::int64_t>(size - 1), part.stride, &last) &&
                                    !__builtin_add_overflow(last, first, &last)));
    if (!fits)
        throw RangeError{fmt::format("the part of dimension {} is {{first = {}, size = {}, stride = {}}}; its stride "
                                     "must not be 0, and its indices within "
                                     "64 bits",
                                     d, part.first, part.size, part.stride)};
    return {.indices = Triplet::strided(first, size, size < 2 ? 1 : part.stride), .everything = false, .left_out = one};
}

/// The positions of a part whose indices have a stride in the array. Throws RangeError.
void number_part(slices::SlicePart& part, const ArrayInside& array, std::size_t d) {
    if (part.everything || array.stride[d] == 1) return;
    Triplet positions;
    if (!array.numbering[d].find(part.indices, positions)) throw_not_numbered(array, to_string(part.indices), d);
    part.indices = positions;
}

/// By the indices of `array`; null: by positions.
void cut_by(AnySlice& slice, const lapwing_part* parts, const ArrayInside* array) {
    if (parts == nullptr) return;
    const std::size_t count = slice.shape().count;
    std::array<slices::SlicePart, max_dimensions> cut{};
    std::size_t left = 0;
    for (std::size_t d = 0; d < count; ++d) {
        // Strides need the lower bound themselves.
        cut[d] = part_of(parts[d], array != nullptr && array->stride[d] == 1 ? array->lower[d] : 0, d);
        if (array != nullptr) number_part(cut[d], *array, d);
        if (!cut[d].left_out) ++left;
    }
    if (left == 0)
        throw UsageError{"the slice has no dimensions; read a single element with lapwing_array_get_element()"};
    slice.cut({cut.data(), count});
}

/// Throws RangeError where the elements of a buffer with these strides are further apart than any memory is long.
void check_span(const lapwing_slice& slice, std::span<const std::int64_t> strides) {
    std::uint64_t span = 1;
    for (std::size_t d = strides.size(); d-- > 0;)
        span = span_with(span, d, slice.slice.shape().dimensions[d].indices.size(), strides[d]);
    (void)checked_bytes(span, size_of(slice.type), "buffer");
}

std::vector<std::int64_t> strides_of(const lapwing_slice& slice, const std::int64_t* strides) {
    const std::size_t count = slice.slice.shape().count;
    if (strides != nullptr) {
        check_span(slice, {strides, count});
        return {strides, strides + count};
    }
    const auto dense = slice.slice.dense_strides();
    return {dense.begin(), dense.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// A collective call that assigns once: what `add` throws on one rank is an error on all, if any of the slices is one.
template <class Add>
void assign_once(const lapwing_slice* target, std::span<const lapwing_slice* const> sources, const Add& add) {
    const auto slice_of = [](const lapwing_slice* slice) -> const slices::SliceBase* {
        return is_live(slice) ? &slice->slice : nullptr;
    };
    std::vector<const slices::SliceBase*> all{slice_of(target)};
    for (const lapwing_slice* source : sources) { // of a count that is wrong, no further than there are some
        if (!is_live(source)) break;
        all.push_back(slice_of(source));
    }
    Assignment::once(all, add);
}

void add_to(Assignment& assignment, const lapwing_slice* target, const lapwing_slice* source, int operation) {
    const lapwing_slice& to = use(target);
    const lapwing_slice& from = use(source);
    assignment.add_untyped(to.slice, from.slice, conversion(to.type, from.type, operation));
}

void add_function_to(Assignment& assignment, const lapwing_slice* target, const lapwing_slice* source,
                     lapwing_apply_function apply, void* context) {
    const lapwing_slice& to = use(target);
    const lapwing_slice& from = use(source);
    require_pointer(reinterpret_cast<const void*>(apply), "apply");
    const std::uint64_t target_bytes = size_of(to.type);
    const std::uint64_t source_bytes = size_of(from.type);
    assignment.add_untyped(to.slice, from.slice, [=](const slices::ElementRun& run) {
        const std::byte* value = run.values;
        for (std::uint64_t b = 0; b < run.blocks; ++b) {
            std::byte* const block = run.target + static_cast<std::int64_t>(b) * run.stride;
            for (std::uint64_t k = 0; k < run.block; ++k, value += source_bytes)
                apply(context, block + k * target_bytes, value);
        }
    });
}

void add_computed_to(Assignment& assignment, const lapwing_slice* target, int count,
                     const lapwing_slice* const* sources, lapwing_compute_function compute, void* context) {
    const lapwing_slice& to = use(target);
    if (count < 1) throw RangeError{fmt::format("the argument 'count' is {}; pass one source or more", count)};
    require_pointer(sources, "sources");
    require_pointer(reinterpret_cast<const void*>(compute), "compute");
    std::vector<const slices::SliceBase*> from;
    std::vector<std::uint64_t> bytes;
    for (int k = 0; k < count; ++k) {
        from.push_back(&use(sources[k]).slice);
        bytes.push_back(size_of(sources[k]->type));
    }
    const std::uint64_t target_bytes = size_of(to.type);
    assignment.add_untyped_sources(
        to.slice, from,
        [=, next = std::vector<const void*>(from.size())](const slices::ElementRun& run,
                                                          std::span<const std::byte* const> values) mutable {
            std::ranges::copy(values, next.begin());
            for (std::uint64_t b = 0; b < run.blocks; ++b) {
                std::byte* const block = run.target + static_cast<std::int64_t>(b) * run.stride;
                for (std::uint64_t k = 0; k < run.block; ++k) {
                    compute(context, block + k * target_bytes, next.data());
                    for (std::size_t s = 0; s < next.size(); ++s)
                        next[s] = static_cast<const std::byte*>(next[s]) + bytes[s];
                }
            }
        });
}

void add_fill_to(Assignment& assignment, const lapwing_slice* target, const void* value) {
    const lapwing_slice& to = use(target);
    require_pointer(value, "value");
    assignment.add_untyped_fill(to.slice, value);
}

/// Collective. Throws on all ranks where one has a null pointer.
void require_path(const lapwing_slice& slice, const char* path) {
    Team& team = *slices::open_array(slice.slice, ".save or .load")->team;
    before_collective(team, [&] { require_pointer(path, "path"); });
}

CheckpointOptions checkpoint_options(lapwing_progress_function progress, void* context) {
    CheckpointOptions options;
    if (progress != nullptr)
        options.progress = [=](std::uint64_t done, std::uint64_t all) {
            if (const int code = progress(context, done, all); code != 0)
                throw CallbackError{"the function 'progress'", code};
        };
    return options;
}

} // namespace
} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

int lapwing_slice_create(const lapwing_array* array, const lapwing_part* parts, lapwing_slice** slice) {
    return guarded("lapwing_slice_create", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(slice, "slice");
        AnySlice made = inside.array.slice();
        cut_by(made, parts, &inside);
        *slice = Handles<lapwing_slice>::make(std::move(made), inside.array.type());
    });
}

int lapwing_slice_cut(const lapwing_slice* slice, const lapwing_part* parts, lapwing_slice** part) {
    return guarded("lapwing_slice_cut", [&] {
        const lapwing_slice& one = use(slice);
        require_pointer(parts, "parts");
        require_pointer(part, "part");
        AnySlice made = one.slice;
        cut_by(made, parts, nullptr);
        *part = Handles<lapwing_slice>::make(std::move(made), one.type);
    });
}

int lapwing_slice_permute(const lapwing_slice* slice, const int* order, lapwing_slice** permuted) {
    return guarded("lapwing_slice_permute", [&] {
        const lapwing_slice& one = use(slice);
        require_pointer(permuted, "permuted");
        AnySlice made = one.slice;
        const std::size_t count = made.shape().count;
        std::array<std::size_t, lapwing::max_dimensions> wanted{};
        for (std::size_t d = 0; d < count; ++d)
            wanted[d] = order != nullptr ? static_cast<std::size_t>(order[d]) : count - 1 - d;
        made.permute({wanted.data(), count});
        *permuted = Handles<lapwing_slice>::make(std::move(made), one.type);
    });
}

int lapwing_slice_free(lapwing_slice** slice) {
    return guarded("lapwing_slice_free", [&] {
        require_pointer(slice, "slice");
        if (*slice == nullptr) return;
        (void)use(*slice);
        end_handle(slice);
    });
}

int lapwing_slice_shape(const lapwing_slice* slice, int* dimensions, int64_t* extents) {
    return guarded("lapwing_slice_shape", [&] {
        const lapwing::detail::slices::SliceShape& shape = use(slice).slice.shape();
        if (dimensions != nullptr) *dimensions = static_cast<int>(shape.count);
        if (extents == nullptr) return;
        for (std::size_t d = 0; d < shape.count; ++d)
            extents[d] = static_cast<std::int64_t>(shape.dimensions[d].indices.size());
    });
}

int lapwing_slice_get(const lapwing_slice* slice, void* buffer, const int64_t* strides) {
    return guarded("lapwing_slice_get", [&] {
        const AnySlice& one = use(slice).slice;
        require_memory(buffer, one.empty() ? 0 : 1, "buffer");
        one.get(static_cast<std::byte*>(buffer), strides_of(*slice, strides));
    });
}

int lapwing_slice_put(const lapwing_slice* slice, const void* buffer, const int64_t* strides) {
    return guarded("lapwing_slice_put", [&] {
        const AnySlice& one = use(slice).slice;
        require_memory(buffer, one.empty() ? 0 : 1, "buffer");
        one.put(static_cast<const std::byte*>(buffer), strides_of(*slice, strides));
    });
}

int lapwing_slice_start_get(const lapwing_slice* slice, void* buffer, const int64_t* strides,
                            lapwing_completion** completion) {
    return guarded("lapwing_slice_start_get", [&] {
        const AnySlice& one = use(slice).slice;
        require_memory(buffer, one.empty() ? 0 : 1, "buffer");
        require_pointer(completion, "completion");
        give(one.start_get(static_cast<std::byte*>(buffer), strides_of(*slice, strides)), completion);
    });
}

int lapwing_slice_start_put(const lapwing_slice* slice, const void* buffer, const int64_t* strides,
                            lapwing_completion** completion) {
    return guarded("lapwing_slice_start_put", [&] {
        const AnySlice& one = use(slice).slice;
        require_memory(buffer, one.empty() ? 0 : 1, "buffer");
        require_pointer(completion, "completion");
        give(one.start_put(static_cast<const std::byte*>(buffer), strides_of(*slice, strides)), completion);
    });
}

int lapwing_slice_copy(const lapwing_slice* target, const lapwing_slice* source) {
    return guarded("lapwing_slice_copy", [&] {
        const lapwing_slice& to = use(target);
        const lapwing_slice& from = use(source);
        if (to.type != from.type)
            throw lapwing::UsageError{fmt::format(
                "the elements of the target are of type {}, and those of the source of {}; lapwing_slice_assign() "
                "converts numbers",
                text_of(to.type), text_of(from.type))};
        to.slice.put_slice(from.slice);
    });
}

int lapwing_slice_assign(const lapwing_slice* target, const lapwing_slice* source, int operation) {
    return guarded("lapwing_slice_assign", [&] {
        assign_once(target, {&source, 1}, [&](auto& assignment) { add_to(assignment, target, source, operation); });
    });
}

int lapwing_slice_apply(const lapwing_slice* target, const lapwing_slice* source, lapwing_apply_function apply,
                        void* context) {
    return guarded("lapwing_slice_apply", [&] {
        assign_once(target, {&source, 1},
                    [&](auto& assignment) { add_function_to(assignment, target, source, apply, context); });
    });
}

int lapwing_slice_compute(const lapwing_slice* target, int count, const lapwing_slice* const* sources,
                          lapwing_compute_function compute, void* context) {
    return guarded("lapwing_slice_compute", [&] {
        const bool any = sources != nullptr && count > 0;
        assign_once(target, {sources, any ? static_cast<std::size_t>(count) : 0},
                    [&](auto& assignment) { add_computed_to(assignment, target, count, sources, compute, context); });
    });
}

int lapwing_slice_fill(const lapwing_slice* target, const void* value) {
    return guarded("lapwing_slice_fill",
                   [&] { assign_once(target, {}, [&](auto& assignment) { add_fill_to(assignment, target, value); }); });
}

int lapwing_assignment_create(lapwing_assignment** assignment) {
    return guarded("lapwing_assignment_create", [&] {
        require_pointer(assignment, "assignment");
        *assignment = Handles<lapwing_assignment>::make();
    });
}

int lapwing_assignment_free(lapwing_assignment** assignment) {
    return guarded("lapwing_assignment_free", [&] {
        require_pointer(assignment, "assignment");
        if (*assignment == nullptr) return;
        (void)use(*assignment);
        end_handle(assignment);
    });
}

int lapwing_assignment_add(lapwing_assignment* assignment, const lapwing_slice* target, const lapwing_slice* source,
                           int operation) {
    return guarded("lapwing_assignment_add", [&] { add_to(use(assignment).assignment, target, source, operation); });
}

int lapwing_assignment_add_apply(lapwing_assignment* assignment, const lapwing_slice* target,
                                 const lapwing_slice* source, lapwing_apply_function apply, void* context) {
    return guarded("lapwing_assignment_add_apply",
                   [&] { add_function_to(use(assignment).assignment, target, source, apply, context); });
}

int lapwing_assignment_add_compute(lapwing_assignment* assignment, const lapwing_slice* target, int count,
                                   const lapwing_slice* const* sources, lapwing_compute_function compute,
                                   void* context) {
    return guarded("lapwing_assignment_add_compute",
                   [&] { add_computed_to(use(assignment).assignment, target, count, sources, compute, context); });
}

int lapwing_assignment_add_fill(lapwing_assignment* assignment, const lapwing_slice* target, const void* value) {
    return guarded("lapwing_assignment_add_fill", [&] { add_fill_to(use(assignment).assignment, target, value); });
}

int lapwing_assignment_execute(lapwing_assignment* assignment, int compare) {
    return guarded("lapwing_assignment_execute", [&] { use(assignment).assignment.execute(compare != 0); });
}

int lapwing_assignment_start(lapwing_assignment* assignment, int compare, lapwing_completion** completion) {
    return guarded("lapwing_assignment_start", [&] {
        lapwing::Assignment& one = use(assignment).assignment;
        try {
            require_pointer(completion, "completion");
        } catch (...) {
            one.refuse(std::current_exception());
        }
        give(one.start(compare != 0), completion);
    });
}

int lapwing_assignment_transfers(const lapwing_assignment* assignment, uint64_t* transfers, uint64_t* bytes) {
    return guarded("lapwing_assignment_transfers", [&] {
        const lapwing::Assignment& one = use(assignment).assignment;
        if (transfers != nullptr) *transfers = one.transfers();
        if (bytes != nullptr) *bytes = one.bytes();
    });
}

int lapwing_assignment_explain(const lapwing_assignment* assignment, const char** text) {
    return guarded("lapwing_assignment_explain", [&] {
        require_pointer(text, "text");
        *text = kept_text(use(assignment).assignment.explain());
    });
}

int lapwing_array_save(const lapwing_array* array, const char* path, lapwing_progress_function progress,
                       void* context) {
    return guarded("lapwing_array_save", [&] {
        const AnyArray& one = array_of(array);
        before_collective(one.team(), [&] { require_pointer(path, "path"); });
        lapwing::detail::slices::save(one.slice(), element_kind_of(one.type()), path,
                                      checkpoint_options(progress, context));
    });
}

int lapwing_array_load(lapwing_array* array, const char* path, lapwing_progress_function progress, void* context) {
    return guarded("lapwing_array_load", [&] {
        const AnyArray& one = array_of(array);
        before_collective(one.team(), [&] { require_pointer(path, "path"); });
        lapwing::detail::slices::load(one.slice(), element_kind_of(one.type()), path,
                                      checkpoint_options(progress, context));
    });
}

int lapwing_slice_save(const lapwing_slice* slice, const char* path, lapwing_progress_function progress,
                       void* context) {
    return guarded("lapwing_slice_save", [&] {
        const lapwing_slice& one = use(slice);
        require_path(one, path);
        lapwing::detail::slices::save(one.slice, element_kind_of(one.type), path,
                                      checkpoint_options(progress, context));
    });
}

int lapwing_slice_load(const lapwing_slice* slice, const char* path, lapwing_progress_function progress,
                       void* context) {
    return guarded("lapwing_slice_load", [&] {
        const lapwing_slice& one = use(slice);
        require_path(one, path);
        lapwing::detail::slices::load(one.slice, element_kind_of(one.type), path,
                                      checkpoint_options(progress, context));
    });
}

int lapwing_checkpoint_extents(lapwing_runtime* runtime, const char* path, lapwing_type type, int dimensions,
                               int64_t* extents) {
    return guarded("lapwing_checkpoint_extents", [&] {
        lapwing::Team& team = team_of(runtime);
        before_collective(team, [&] {
            require_pointer(path, "path");
            require_type(type);
            require_dimensions(dimensions);
            require_pointer(extents, "extents");
        });
        lapwing::detail::slices::read_extents(team, path, element_kind_of(type), size_of(type),
                                              static_cast<std::size_t>(dimensions), extents);
    });
}

} // extern "C"
