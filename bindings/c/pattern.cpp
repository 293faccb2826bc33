#include "bindings/c/pattern.hpp"

#include "bindings/c/call.hpp"
#include "bindings/c/layout.hpp"

#include <lapwing/detail/numbering.hpp>
#include <lapwing/patterns.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace lapwing::detail::bindings {
namespace {

using Domains = std::vector<PaddedDomain>;
using Site = prefetching::PatternSite<padded>;

Domains transposed(const PaddedDomain& own, std::size_t dimensions) {
    std::array<Range, padded> ranges = own.ranges();
    std::reverse(ranges.end() - static_cast<std::ptrdiff_t>(dimensions), ranges.end());
    return {PaddedDomain{ranges}};
}

Domains with_all_of(const PaddedDomain& own, const Site& site, std::size_t d) {
    if (own.empty()) return {};
    std::array<Range, padded> ranges = own.ranges();
    ranges[d] = site.whole.range(d);
    return {PaddedDomain{ranges}};
}

/// The positions of an array's indices, as patterns need them; asked again after a resize.
struct PatternNumbers {
    std::size_t dimensions;
    std::array<std::int64_t, max_dimensions> lower;
    std::array<std::int64_t, max_dimensions> stride;

    /// The part of these indices, a range for each dimension, that the array has, as positions. Throws RangeError.
    [[nodiscard]] PaddedDomain positions(const lapwing_range* indices, const Site& site) const {
        std::array<Range, padded> ranges = site.whole.ranges();
        for (std::size_t d = 0; d < dimensions; ++d) {
            Range& positions = ranges[padded - dimensions + d];
            const Range all = Range::strided(lower[d], positions.size(), stride[d]);
            positions = arrays::Numbering{all}.positions(range_of(indices[d], static_cast<int>(d)).intersect(all));
        }
        return PaddedDomain{ranges};
    }
};

/// A list of domains; only those that are valid ranges are kept. Throws RangeError.
AnyArray::KeptPattern listed(const PatternNumbers& numbers, const lapwing_pattern& pattern) {
    const std::size_t dimensions = numbers.dimensions;
    require_memory(pattern.domains, pattern.count, "pattern.domains", dimensions * sizeof *pattern.domains);
    std::vector<lapwing_range> ranges(pattern.domains, pattern.domains + pattern.count * dimensions);
    for (std::size_t k = 0; k < ranges.size(); ++k) (void)range_of(ranges[k], static_cast<int>(k % dimensions));
    return [numbers, ranges = std::move(ranges)](const PaddedDomain&, const Site& site) {
        Domains domains;
        for (std::size_t k = 0; k < ranges.size(); k += numbers.dimensions)
            domains.push_back(numbers.positions(&ranges[k], site));
        return domains;
    };
}

} // namespace
} // namespace lapwing::detail::bindings

/// Exists while a function is called.
struct lapwing_needed : lapwing::detail::bindings::Object<lapwing_needed> {
    static constexpr const char* object_name = "list of needed domains";

    const lapwing::detail::bindings::PatternNumbers& numbers;
    const lapwing::detail::bindings::Site& site;
    lapwing::detail::bindings::Domains domains = {};
};

namespace lapwing::detail::bindings {
namespace {

AnyArray::KeptPattern named_by_function(const PatternNumbers& numbers, const lapwing_pattern& pattern) {
    require_pointer(reinterpret_cast<const void*>(pattern.function), "pattern.function");
    return
        [numbers, function = pattern.function, context = pattern.context](const PaddedDomain& own, const Site& site) {
            std::array<lapwing_range, max_dimensions> indices{};
            for (std::size_t d = 0; d < numbers.dimensions; ++d) {
                const Range& range = own.range(padded - numbers.dimensions + d);
                indices[d] = {range.empty() ? numbers.lower[d] : numbers.lower[d] + range.first() * numbers.stride[d],
                              range.size(), range.stride() * numbers.stride[d]};
            }
            lapwing_needed needed{{}, numbers, site};
            if (const int code = function(context, indices.data(), &needed); code != 0)
                throw CallbackError{"the function of the pattern", code};
            return std::move(needed.domains);
        };
}

} // namespace

AnyArray::KeptPattern pattern_of(const ArrayInside& inside, const lapwing_pattern* given) {
    require_pointer(given, "pattern");
    require_constant(given->kind, 7, "pattern.kind", "LAPWING_PATTERN_STENCIL to LAPWING_PATTERN_FUNCTION");
    const std::size_t dimensions = inside.array.dimensions();
    switch (given->kind) {
    case LAPWING_PATTERN_STENCIL: {
        Stencil stencil{.depth = given->depth, .corners = given->corners != 0};
        if (given->periodic != nullptr)
            for (std::size_t d = 0; d < dimensions; ++d)
                stencil.periodic[padded - dimensions + d] = given->periodic[d] != 0;
        return [stencil](const PaddedDomain& own, const Site& site) {
            return own.empty() ? Domains{} : stencil.domains(own, site);
        };
    }
    case LAPWING_PATTERN_ROW_WISE:
        return [](const PaddedDomain& own, const Site& site) { return with_all_of(own, site, padded - 1); };
    case LAPWING_PATTERN_COLUMN_WISE:
        return [dimensions](const PaddedDomain& own, const Site& site) {
            return with_all_of(own, site, padded - dimensions);
        };
    case LAPWING_PATTERN_TRANSPOSE:
        return [dimensions](const PaddedDomain& own, const Site&) { return transposed(own, dimensions); };
    case LAPWING_PATTERN_ALL: return [](const PaddedDomain&, const Site& site) { return Domains{site.whole}; };
    case LAPWING_PATTERN_DOMAINS: return listed({dimensions, inside.lower, inside.stride}, *given);
    default: return named_by_function({dimensions, inside.lower, inside.stride}, *given);
    }
}

} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the function below is in the global namespace

extern "C" {

int lapwing_needed_add(lapwing_needed* needed, const lapwing_range* ranges) {
    return guarded("lapwing_needed_add", [&] {
        lapwing_needed& one = use(needed);
        require_pointer(ranges, "ranges");
        one.domains.push_back(one.numbers.positions(ranges, one.site));
    });
}

} // extern "C"
