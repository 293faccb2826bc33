// Mapped arrays.
#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/completion.hpp"
#include "bindings/c/layout.hpp"
#include "bindings/c/pattern.hpp"

#include <lapwing/c/mapped.h>
#include <lapwing/detail/mapped_elements.hpp>
#include <lapwing/detail/numbering.hpp>
#include <lapwing/error.hpp>
#include <lapwing/triplet.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

struct lapwing_mapped : lapwing::detail::bindings::Object<lapwing_mapped> {
    static constexpr const char* object_name = "mapped array";

    lapwing_mapped(const lapwing::detail::bindings::ArrayInside& array, lapwing::detail::arrays::MappedElements of)
        : elements{std::move(of)} {
        for (std::size_t d = 0; d < array.array.dimensions(); ++d)
            ranges.push_back(array.indices(d, lapwing::Range{std::int64_t{0}, array.array.extents()[d]}));
    }

    lapwing::detail::arrays::MappedElements elements;
    std::vector<lapwing_range> ranges; ///< the array's indices as they were
};

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

int lapwing_mapped_create(const lapwing_array* array, const lapwing_pattern* pattern, lapwing_mapped** mapped) {
    return guarded("lapwing_mapped_create", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(mapped, "mapped");
        const AnyArray& one = inside.array;
        *mapped =
            Handles<lapwing_mapped>::make(inside, pattern == nullptr ? one.map_elements(std::vector{one.whole()})
                                                                     : one.map_elements(pattern_of(inside, pattern)));
    });
}

int lapwing_mapped_create_domain(const lapwing_array* array, const lapwing_range* ranges, lapwing_mapped** mapped) {
    return guarded("lapwing_mapped_create_domain", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(mapped, "mapped");
        const std::vector domain{positions_of(inside, ranges)};
        *mapped = Handles<lapwing_mapped>::make(inside, inside.array.map_elements(domain));
    });
}

int lapwing_mapped_create_on_demand(const lapwing_array* array, lapwing_mapped** mapped) {
    return guarded("lapwing_mapped_create_on_demand", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(mapped, "mapped");
        *mapped = Handles<lapwing_mapped>::make(inside, inside.array.map_elements({}, true));
    });
}

int lapwing_mapped_pin(const lapwing_mapped* mapped, const lapwing_range* ranges) {
    return guarded("lapwing_mapped_pin", [&] {
        const lapwing_mapped& one = use(mapped);
        require_pointer(ranges, "ranges");
        std::vector<lapwing::Range> positions;
        for (std::size_t d = 0; d < one.ranges.size(); ++d) {
            const lapwing::Range all = range_of(one.ranges[d], static_cast<int>(d));
            const lapwing::Range indices = range_of(ranges[d], static_cast<int>(d));
            lapwing::Triplet places;
            if (!lapwing::detail::arrays::Numbering{all}.find(indices, places))
                throw lapwing::RangeError{fmt::format("{} of dimension {} is not within the array's {}; cut the domain "
                                                      "to the array",
                                                      to_string(indices), d, to_string(all))};
            positions.push_back(places.range());
        }
        one.elements.pin(positions);
    });
}

int lapwing_mapped_free(lapwing_mapped** mapped) {
    return guarded("lapwing_mapped_free", [&] {
        require_pointer(mapped, "mapped");
        if (*mapped == nullptr) return;
        (void)use(*mapped);
        end_handle(mapped);
    });
}

int lapwing_mapped_view(const lapwing_mapped* mapped, const void** memory, int64_t* strides, lapwing_range* ranges) {
    return guarded("lapwing_mapped_view", [&] {
        const lapwing_mapped& one = use(mapped);
        if (memory != nullptr) *memory = one.elements.origin();
        std::uint64_t stride = 1; // of an empty array it may wrap around
        for (std::size_t d = one.ranges.size(); d-- > 0;) {
            if (strides != nullptr) strides[d] = static_cast<std::int64_t>(stride);
            if (ranges != nullptr) ranges[d] = one.ranges[d];
            stride *= one.ranges[d].size;
        }
    });
}

int lapwing_mapped_refresh(lapwing_mapped* mapped) {
    return guarded("lapwing_mapped_refresh", [&] { use(mapped).elements.refresh(); });
}

int lapwing_mapped_start_refresh(lapwing_mapped* mapped, lapwing_completion** completion) {
    return guarded("lapwing_mapped_start_refresh", [&] {
        lapwing_mapped& one = use(mapped);
        require_pointer(completion, "completion");
        give(one.elements.start_refresh(), completion);
    });
}

int lapwing_mapped_memory(const lapwing_mapped* mapped, uint64_t* bytes) {
    return guarded("lapwing_mapped_memory", [&] {
        const lapwing_mapped& one = use(mapped);
        require_pointer(bytes, "bytes");
        *bytes = one.elements.memory();
    });
}

} // extern "C"
