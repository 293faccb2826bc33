#include "bindings/c/layout.hpp"

#include "bindings/c/call.hpp"

#include <lapwing/error.hpp>
#include <lapwing/extents.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lapwing::detail::bindings {

void require_dimensions(int dimensions) {
    if (dimensions < 1 || static_cast<std::size_t>(dimensions) > max_dimensions)
        throw RangeError{fmt::format("the argument 'dimensions' is {}; arrays and domains have from 1 to {}",
                                     dimensions, max_dimensions)};
}

void throw_bad_range(const lapwing_range& range, int dimension) {
    throw RangeError{fmt::format("the range of dimension {} is {{first = {}, size = {}, stride = {}}}; its stride "
                                 "must be at least 1, and its "
                                 "last index within 64 bits",
                                 dimension, range.first, range.size, range.stride)};
}

Range range_of(const lapwing_range& range, int dimension) {
    require_range(range, dimension);
    return Range::strided(range.first, range.size, range.size < 2 ? 1 : range.stride);
}

} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace
using lapwing::Layout;

namespace {

/// A call that makes a layout, of what `make` gives; `name` is the argument's.
template <class Make>
int make_layout(const char* call, lapwing_layout** layout, Make make, const char* name = "layout") {
    return guarded(call, [&] {
        require_pointer(layout, name);
        *layout = Handles<lapwing_layout>::make(make());
    });
}

} // namespace

extern "C" {

int lapwing_layout_create_contiguous(uint64_t bytes, int64_t offset, lapwing_layout** layout) {
    return make_layout("lapwing_layout_create_contiguous", layout, [&] { return Layout::contiguous(bytes, offset); });
}

int lapwing_layout_create_strided(uint64_t count, uint64_t block_bytes, int64_t stride, int64_t offset,
                                  lapwing_layout** layout) {
    return make_layout("lapwing_layout_create_strided", layout,
                       [&] { return Layout::strided(count, block_bytes, stride, offset); });
}

int lapwing_layout_create_nested(size_t levels, const lapwing_level* level, uint64_t block_bytes, int64_t offset,
                                 lapwing_layout** layout) {
    return make_layout("lapwing_layout_create_nested", layout, [&] {
        require_memory(level, levels, "level", sizeof *level);
        std::vector<Layout::Dimension> nest;
        for (size_t k = 0; k < levels; ++k) nest.push_back({level[k].count, level[k].stride});
        return Layout::strided(nest, block_bytes, offset);
    });
}

int lapwing_layout_create_indexed(size_t count, const int64_t* offsets, uint64_t block_bytes, lapwing_layout** layout) {
    return make_layout("lapwing_layout_create_indexed", layout, [&] {
        require_memory(offsets, count, "offsets", sizeof *offsets);
        return Layout::indexed(Layout::Offsets(offsets, offsets + count), block_bytes);
    });
}

int lapwing_layout_create_list(size_t count, const lapwing_block* blocks, lapwing_layout** layout) {
    return make_layout("lapwing_layout_create_list", layout, [&] {
        require_memory(blocks, count, "blocks", sizeof *blocks);
        std::vector<lapwing::ByteBlock> list;
        for (size_t k = 0; k < count; ++k) list.push_back({blocks[k].offset, blocks[k].bytes});
        return Layout::list(list);
    });
}

int lapwing_layout_create_concatenated(size_t count, const lapwing_layout* const* parts, lapwing_layout** layout) {
    return make_layout("lapwing_layout_create_concatenated", layout, [&] {
        require_memory(parts, count, "parts", sizeof *parts);
        std::vector<Layout> list;
        for (size_t k = 0; k < count; ++k) list.push_back(layout_of(parts[k]));
        return Layout::concatenate(list);
    });
}

int lapwing_layout_create_patch(int dimensions, const lapwing_range* ranges, const int64_t* extents,
                                uint64_t element_bytes, lapwing_layout** layout) {
    return make_layout("lapwing_layout_create_patch", layout, [&] {
        require_dimensions(dimensions);
        require_pointer(ranges, "ranges");
        require_pointer(extents, "extents");
        // Dimensions of extent 1 in front change nothing: one number of dimensions serves all.
        constexpr std::size_t most = lapwing::max_dimensions;
        std::array<lapwing::Range, most> all;
        lapwing::Index<most> sizes;
        all.fill(lapwing::Range::strided(0, 1, 1));
        sizes.fill(1);
        const std::size_t front = most - static_cast<std::size_t>(dimensions);
        for (int d = 0; d < dimensions; ++d) {
            const lapwing::Range range = range_of(ranges[d], d);
            if (extents[d] < 0 || (!range.empty() && (range.first() < 0 || range.last() >= extents[d])))
                throw lapwing::RangeError{fmt::format("{} of dimension {} leaves [0, {}); a patch is within its array",
                                                      to_string(range), d, extents[d])};
            all[front + static_cast<std::size_t>(d)] = range;
            sizes[front + static_cast<std::size_t>(d)] = extents[d];
        }
        return Layout::of(lapwing::Domain<most>{all}, lapwing::Extents<most>{sizes}, element_bytes);
    });
}

int lapwing_layout_create_mpi(MPI_Datatype type, uint64_t count, lapwing_layout** layout) {
    return make_layout("lapwing_layout_create_mpi", layout,
                       [&] { return Layout::from_mpi(type, static_cast<std::int64_t>(count)); });
}

int lapwing_layout_free(lapwing_layout** layout) {
    return guarded("lapwing_layout_free", [&] {
        require_pointer(layout, "layout");
        if (*layout == nullptr) return;
        (void)use(*layout);
        end_handle(layout);
    });
}

int lapwing_layout_to_mpi(const lapwing_layout* layout, MPI_Datatype* type) {
    return guarded("lapwing_layout_to_mpi", [&] {
        require_pointer(type, "type");
        *type = layout_of(layout).to_mpi().release();
    });
}

int lapwing_layout_slice(const lapwing_layout* layout, uint64_t begin, uint64_t end, lapwing_layout** slice) {
    return make_layout("lapwing_layout_slice", slice, [&] { return layout_of(layout).slice(begin, end); }, "slice");
}

int lapwing_layout_shift(const lapwing_layout* layout, int64_t distance, lapwing_layout** shifted) {
    return make_layout("lapwing_layout_shift", shifted, [&] { return layout_of(layout).shift(distance); }, "shifted");
}

int lapwing_layout_repeat(const lapwing_layout* layout, uint64_t count, int64_t stride, lapwing_layout** repeated) {
    return make_layout(
        "lapwing_layout_repeat", repeated, [&] { return layout_of(layout).repeat(count, stride); }, "repeated");
}

int lapwing_layout_repeat_at(const lapwing_layout* layout, size_t count, const int64_t* offsets,
                             lapwing_layout** repeated) {
    return make_layout(
        "lapwing_layout_repeat_at", repeated,
        [&] {
            require_memory(offsets, count, "offsets", sizeof *offsets);
            return layout_of(layout).repeat_at(Layout::Offsets(offsets, offsets + count));
        },
        "repeated");
}

int lapwing_layout_intersect(const lapwing_layout* layout, int64_t lower, int64_t upper, lapwing_layout** part) {
    return make_layout(
        "lapwing_layout_intersect", part, [&] { return layout_of(layout).intersect(lower, upper); }, "part");
}

int lapwing_layout_query(const lapwing_layout* layout, lapwing_layout_info* info) {
    return guarded("lapwing_layout_query", [&] {
        require_pointer(info, "info");
        const Layout& one = layout_of(layout);
        *info = {one.bytes(),         one.block_count(), one.lower(),
                 one.upper(),         one.density(),     one.list_memory(),
                 one.uniform_block(), one.level_count(), one.is_ascending() ? 1 : 0};
    });
}

int lapwing_layout_overlaps(const lapwing_layout* layout, int* overlaps) {
    return guarded("lapwing_layout_overlaps", [&] {
        require_pointer(overlaps, "overlaps");
        *overlaps = layout_of(layout).overlaps() ? 1 : 0;
    });
}

int lapwing_layout_equal(const lapwing_layout* a, const lapwing_layout* b, int* equal) {
    return guarded("lapwing_layout_equal", [&] {
        require_pointer(equal, "equal");
        *equal = layout_of(a) == layout_of(b) ? 1 : 0;
    });
}

int lapwing_layout_text(const lapwing_layout* layout, const char** text) {
    return guarded("lapwing_layout_text", [&] {
        require_pointer(text, "text");
        *text = kept_text(to_string(layout_of(layout)));
    });
}

} // extern "C"
