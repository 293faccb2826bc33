// Prefetch by patterns, and prefetched parts of windows.
#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/completion.hpp"
#include "bindings/c/layout.hpp"
#include "bindings/c/pattern.hpp"
#include "bindings/c/window.hpp"

#include <lapwing/c/prefetch.h>
#include <lapwing/error.hpp>
#include <lapwing/prefetch.hpp>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

struct lapwing_prefetch : lapwing::detail::bindings::Object<lapwing_prefetch> {
    static constexpr const char* object_name = "prefetch";

    lapwing_prefetch(lapwing::Window& of, const lapwing::PrefetchOptions& options)
        : window{&of}, prefetch{of, options} {}

    lapwing::Window* window; ///< for sizes when something is requested
    lapwing::Prefetch prefetch;
    std::vector<lapwing::PrefetchedSlice> slices = {}; ///< those since the last evict
    std::uint64_t evicted = 0;                         ///< how many there were before
};

namespace lapwing::detail::bindings {
namespace {

PrefetchOptions options_of(const lapwing_prefetch_options* given) {
    if (given == nullptr) return {};
    require_constant(given->storage, 3, "options.storage",
                     "LAPWING_STORE_BY_INDEX, LAPWING_STORE_BY_OWNER or LAPWING_STORE_IN_HALO");
    static constexpr std::array storages{PrefetchStorage::by_index, PrefetchStorage::by_owner, PrefetchStorage::halo};
    return {.consistent = given->consistent != 0,
            .static_domain = given->static_domain != 0,
            .storage = storages[static_cast<std::size_t>(given->storage)]};
}

/// Strides and indices of a block of memory; null pointers are left out.
void describe_box(const ArrayInside& inside, const arrays::DenseBox<padded>& box, std::int64_t* strides,
                  lapwing_range* ranges) {
    const std::size_t front = padded - inside.array.dimensions();
    for (std::size_t d = 0; d < inside.array.dimensions(); ++d) {
        const std::uint64_t size = box.extent(front + d);
        if (ranges != nullptr)
            ranges[d] = inside.indices(d, Range::strided(size == 0 ? 0 : box.first()[front + d], size, 1));
        if (strides == nullptr) continue;
        PaddedIndex neighbour = box.first();
        ++neighbour[front + d];
        strides[d] = size < 2 ? 1 : static_cast<std::int64_t>(box.offset(neighbour));
    }
}

PrefetchedSlice& slice_of(lapwing_prefetch& prefetch, std::uint64_t number) {
    if (number < prefetch.evicted) throw UsageError{fmt::format("slice {} was evicted; request it again", number)};
    if (number - prefetch.evicted >= prefetch.slices.size())
        throw RangeError{fmt::format("slice {} was not requested: {} were, from {} on", number, prefetch.slices.size(),
                                     prefetch.evicted)};
    return prefetch.slices[static_cast<std::size_t>(number - prefetch.evicted)];
}

template <std::size_t Bytes>
void read_value(lapwing_prefetch& one, const PrefetchedSlice& slice, std::uint64_t k, void* value) {
    const auto read = one.prefetch.read<std::array<std::byte, Bytes>>(slice, k);
    std::memcpy(value, read.data(), Bytes);
}

} // namespace
} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace
using lapwing::Rank;

extern "C" {

lapwing_prefetch_options lapwing_prefetch_options_default(void) { return {1, 0, LAPWING_STORE_BY_INDEX}; }

int lapwing_array_prefetch(lapwing_array* array, const lapwing_pattern* pattern,
                           const lapwing_prefetch_options* options) {
    return guarded("lapwing_array_prefetch", [&] {
        ArrayInside& inside = inside_of(array);
        auto [kept, how] = before_collective(
            inside.array.team(), [&] { return std::pair{pattern_of(inside, pattern), options_of(options)}; });
        inside.array.prefetch_by(std::move(kept), how);
    });
}

int lapwing_array_evict(lapwing_array* array) {
    return guarded("lapwing_array_evict", [&] { array_of(array).drop_copies(); });
}

int lapwing_array_update_copies(lapwing_array* array) {
    return guarded("lapwing_array_update_copies", [&] { array_of(array).update(); });
}

int lapwing_array_start_update_copies(lapwing_array* array, lapwing_completion** completion) {
    return guarded("lapwing_array_start_update_copies", [&] {
        AnyArray& one = array_of(array);
        require_pointer(completion, "completion");
        give(one.update_async(), completion);
    });
}

int lapwing_array_is_prefetched(const lapwing_array* array, const int64_t* index, int* prefetched) {
    return guarded("lapwing_array_is_prefetched", [&] {
        ArrayInside& inside = inside_of(array);
        require_pointer(prefetched, "prefetched");
        *prefetched = inside.array.is_prefetched(position_of(inside, index)) ? 1 : 0;
    });
}

int lapwing_array_block_at(lapwing_array* array, const int64_t* index, const void** memory, int64_t* strides,
                           lapwing_range* ranges) {
    return guarded("lapwing_array_block_at", [&] {
        ArrayInside& inside = inside_of(array);
        require_pointer(memory, "memory");
        const PaddedIndex position = position_of(inside, index);
        const auto [box, first] = inside.array.block_at(position);
        *memory = first;
        describe_box(inside, box, strides, ranges);
    });
}

int lapwing_array_halo_view(lapwing_array* array, const void** memory, int64_t* strides, lapwing_range* ranges) {
    return guarded("lapwing_array_halo_view", [&] {
        ArrayInside& inside = inside_of(array);
        require_pointer(memory, "memory");
        const auto [box, first] = inside.array.box_with_halo();
        *memory = first;
        describe_box(inside, box, strides, ranges);
    });
}

int lapwing_prefetch_create(lapwing_window* window, const lapwing_prefetch_options* options,
                            lapwing_prefetch** prefetch) {
    return guarded("lapwing_prefetch_create", [&] {
        lapwing::Window& one = window_of(window);
        require_pointer(prefetch, "prefetch");
        *prefetch = Handles<lapwing_prefetch>::make(one, options_of(options));
    });
}

int lapwing_prefetch_free(lapwing_prefetch** prefetch) {
    return guarded("lapwing_prefetch_free", [&] {
        require_pointer(prefetch, "prefetch");
        if (*prefetch == nullptr) return;
        (void)use(*prefetch);
        end_handle(prefetch);
    });
}

int lapwing_prefetch_request(lapwing_prefetch* prefetch, int rank, uint64_t offset, const lapwing_layout* part,
                             uint64_t* slice) {
    return guarded("lapwing_prefetch_request", [&] {
        lapwing_prefetch& one = use(prefetch);
        require_pointer(slice, "slice");
        // The object is asked for the whole segment, since it knows whether the window still exists.
        if (part != nullptr)
            one.slices.push_back(one.prefetch.request(Rank{rank}, lapwing::Offset{offset}, layout_of(part)));
        else if (offset == 0) one.slices.push_back(one.prefetch.request(Rank{rank}));
        else throw lapwing::UsageError{"without a layout the whole segment is meant, and the offset is not 0"};
        *slice = one.evicted + one.slices.size() - 1;
    });
}

int lapwing_prefetch_access(lapwing_prefetch* prefetch, uint64_t slice, const void** memory, uint64_t* bytes) {
    return guarded("lapwing_prefetch_access", [&] {
        lapwing_prefetch& one = use(prefetch);
        require_pointer(memory, "memory");
        const std::span<const std::byte> copy = one.prefetch.access(slice_of(one, slice));
        *memory = copy.data();
        if (bytes != nullptr) *bytes = copy.size();
    });
}

int lapwing_prefetch_read(lapwing_prefetch* prefetch, uint64_t slice, lapwing_type type, uint64_t k, void* value) {
    return guarded("lapwing_prefetch_read", [&] {
        lapwing_prefetch& one = use(prefetch);
        require_type(type);
        require_pointer(value, "value");
        const lapwing::PrefetchedSlice& part = slice_of(one, slice);
        switch (size_of(type)) {
        case 1: return read_value<1>(one, part, k, value);
        case 2: return read_value<2>(one, part, k, value);
        case 4: return read_value<4>(one, part, k, value);
        case 8: return read_value<8>(one, part, k, value);
        case 16: return read_value<16>(one, part, k, value);
        default:
            throw lapwing::UsageError{fmt::format("values of {} bytes cannot be read one by one, but those of 1, 2, 4, "
                                                  "8 or 16; use lapwing_prefetch_access()",
                                                  size_of(type))};
        }
    });
}

int lapwing_prefetch_update(lapwing_prefetch* prefetch) {
    return guarded("lapwing_prefetch_update", [&] { use(prefetch).prefetch.update(); });
}

int lapwing_prefetch_start_update(lapwing_prefetch* prefetch, lapwing_completion** completion) {
    return guarded("lapwing_prefetch_start_update", [&] {
        lapwing_prefetch& one = use(prefetch);
        require_pointer(completion, "completion");
        give(one.prefetch.update_async(), completion);
    });
}

int lapwing_prefetch_evict(lapwing_prefetch* prefetch) {
    return guarded("lapwing_prefetch_evict", [&] {
        lapwing_prefetch& one = use(prefetch);
        one.prefetch.evict();
        one.evicted += one.slices.size();
        one.slices.clear();
    });
}

int lapwing_prefetch_memory(const lapwing_prefetch* prefetch, uint64_t* bytes) {
    return guarded("lapwing_prefetch_memory", [&] {
        const lapwing_prefetch& one = use(prefetch);
        require_pointer(bytes, "bytes");
        *bytes = one.prefetch.memory();
    });
}

} // extern "C"
