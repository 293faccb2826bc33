// Making arrays, and their local parts.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include "bindings/c/array.hpp"
#include "bindings/c/type.hpp"

#include "src/support/mutex.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <vector>

using lapwing::RangeError;
using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;

namespace {

using Numbers = std::vector<std::int64_t>;
using PerDimension = std::array<std::int64_t, LAPWING_MAX_DIMENSIONS>;

Numbers reversed(const std::int64_t* values, std::int64_t count) {
    if (values == nullptr) return {};
    return {std::reverse_iterator{values + count}, std::reverse_iterator{values}};
}

void require_dimensions(std::int64_t count, std::int64_t dimensions, const char* name) {
    if (count != dimensions)
        throw RangeError{fmt::format("the argument '{}' has {} numbers; pass one for each of the {} dimensions", name,
                                     count, dimensions)};
}

/// What all calls that take a distribution ask of an array.
struct Distribution {
    std::vector<int> grid;
    Numbers block;
    lapwing_distribution given{};

    Distribution(int kind, std::int64_t dimensions, const std::int64_t* grid_values, std::int64_t grid_count,
                 const std::int64_t* block_values, std::int64_t block_count) {
        given.kind = kind;
        if (grid_values != nullptr) {
            require_dimensions(grid_count, dimensions, "grid");
            for (const std::int64_t value : reversed(grid_values, grid_count)) grid.push_back(static_cast<int>(value));
            given.grid = grid.data();
        }
        if (block_values == nullptr) return;
        if (kind == LAPWING_BLOCKS) {
            take_lengths({block_values, static_cast<std::size_t>(block_count)}, {grid_values, grid.size()});
        } else {
            require_dimensions(block_count, dimensions, "block");
            block = reversed(block_values, block_count);
        }
        given.block = block.data();
        given.block_count = static_cast<std::int64_t>(block.size());
    }

private:
    /// The lengths of a dimension stay in their order; the dimensions are reversed. A grid that has another number of
    /// lengths is refused by C.
    void take_lengths(std::span<const std::int64_t> lengths, std::span<const std::int64_t> counts) {
        block.assign(lengths.begin(), lengths.end());
        auto end = block.end();
        for (const std::int64_t count : counts) {
            if (count < 0 || static_cast<std::size_t>(count) > lengths.size()) return;
            if (count > end - block.begin()) return;
            std::copy_n(lengths.begin(), count, end - count);
            lengths = lengths.subspan(static_cast<std::size_t>(count));
            end -= count;
        }
    }
};

// --- a program's own distribution
// -------------------------------------------------------------------------------------

bool same(const lapwing_distribution_procedures& a, const lapwing_distribution_procedures& b) {
    return a.locate == b.locate && a.capacity == b.capacity && a.domain_count == b.domain_count &&
           a.domain == b.domain && a.context == b.context && a.replicated == b.replicated;
}

/// A copy that arrays can keep for any time: there are never more than different ones in the program.
lapwing_distribution_procedures* kept(const lapwing_distribution_procedures& functions) {
    static auto& all = *new std::deque<lapwing_distribution_procedures>;
    static auto& mutex = *new lapwing::detail::support::Mutex{lapwing::detail::support::LockRank::leaf};
    const std::lock_guard lock{mutex};
    const auto found = std::ranges::find_if(all, [&](const auto& one) { return same(one, functions); });
    if (found != all.end()) return &*found;
    return &all.emplace_back(functions);
}

PerDimension reversed_extents(const lapwing_shape* shape) {
    PerDimension extents{};
    std::reverse_copy(shape->extents, shape->extents + shape->dimensions, extents.begin());
    return extents;
}

void own_locate(void* context, const lapwing_shape* shape, const std::int64_t* index, lapwing_place* place) {
    const auto& own = *static_cast<const lapwing_distribution_procedures*>(context);
    const PerDimension extents = reversed_extents(shape);
    PerDimension from_one{};
    for (int d = 0; d < shape->dimensions; ++d)
        from_one[static_cast<std::size_t>(d)] = index[shape->dimensions - 1 - d] + 1;
    std::int64_t offset = 0;
    std::int64_t contiguous = 1;
    own.locate(own.context, shape->dimensions, shape->ranks, extents.data(), from_one.data(), &place->owner, &offset,
               &contiguous);
    place->offset = static_cast<std::uint64_t>(offset);
    place->contiguous = static_cast<std::uint64_t>(contiguous);
}

std::uint64_t own_capacity(void* context, const lapwing_shape* shape) {
    const auto& own = *static_cast<const lapwing_distribution_procedures*>(context);
    const PerDimension extents = reversed_extents(shape);
    return static_cast<std::uint64_t>(own.capacity(own.context, shape->dimensions, shape->ranks, extents.data()));
}

std::uint64_t own_domain_count(void* context, const lapwing_shape* shape, int rank) {
    const auto& own = *static_cast<const lapwing_distribution_procedures*>(context);
    const PerDimension extents = reversed_extents(shape);
    return static_cast<std::uint64_t>(
        own.domain_count(own.context, shape->dimensions, shape->ranks, extents.data(), rank));
}

void own_domain(void* context, const lapwing_shape* shape, int rank, std::uint64_t k, lapwing_range* ranges) {
    const auto& own = *static_cast<const lapwing_distribution_procedures*>(context);
    const PerDimension extents = reversed_extents(shape);
    PerDimension lower{};
    PerDimension upper{};
    PerDimension stride{};
    stride.fill(1);
    own.domain(own.context, shape->dimensions, shape->ranks, extents.data(), rank, static_cast<std::int64_t>(k),
               lower.data(), upper.data(), stride.data());
    for (int d = 0; d < shape->dimensions; ++d) {
        const auto f = static_cast<std::size_t>(d);
        const std::int64_t step = std::max<std::int64_t>(stride[f], 1);
        const std::int64_t size = upper[f] < lower[f] ? 0 : (upper[f] - lower[f]) / step + 1;
        ranges[shape->dimensions - 1 - d] = {lower[f] - 1, static_cast<std::uint64_t>(size), step};
    }
}

struct OwnDistribution {
    lapwing_distribution_functions functions{own_locate, own_capacity, own_domain_count, own_domain, 0};
    lapwing_distribution given{};

    explicit OwnDistribution(const lapwing_distribution_procedures& own) {
        if (own.locate == nullptr || own.capacity == nullptr || own.domain_count == nullptr || own.domain == nullptr)
            throw lapwing::UsageError{
                "a distribution of the program's own needs the procedures locate, capacity, domain_count and domain"};
        functions.replicated = own.replicated;
        given.kind = LAPWING_OWN_DISTRIBUTION;
        given.functions = &functions;
        given.context = kept(own);
    }
};

/// The ranks that are to have elements, if not all.
class Chosen {
public:
    Chosen(const std::int64_t* ranks, std::int64_t count) : given_{ranks != nullptr} {
        for (std::int64_t k = 0; given_ && k < count; ++k) ranks_.push_back(static_cast<int>(ranks[k]));
    }
    /// The distribution over these ranks, if there are any named. It points to `whole`.
    [[nodiscard]] lapwing_distribution over(const lapwing_distribution& whole) const {
        if (!given_) return whole;
        lapwing_distribution some{};
        some.kind = LAPWING_ON_RANKS;
        some.whole = &whole;
        some.ranks = ranks_.data();
        some.rank_count = static_cast<int>(ranks_.size());
        return some;
    }

private:
    bool given_;
    std::vector<int> ranks_;
};

/// The space that an array is part of, if one is given.
class Space {
public:
    Space(std::int64_t dimensions, const std::int64_t* lower, std::int64_t lower_count, const std::int64_t* upper,
          std::int64_t upper_count) {
        if (lower == nullptr && upper == nullptr) return;
        require_dimensions(lower == nullptr ? 0 : lower_count, dimensions, "space_lower");
        require_dimensions(upper == nullptr ? 0 : upper_count, dimensions, "space_upper");
        for (std::int64_t d = dimensions; d-- > 0;)
            ranges_.push_back(
                {lower[d], upper[d] < lower[d] ? 0 : static_cast<std::uint64_t>(upper[d] - lower[d]) + 1, 1});
    }
    /// As part of the space, if there is one. It points to `whole`.
    [[nodiscard]] lapwing_distribution part(const lapwing_distribution& whole) const {
        if (ranges_.empty()) return whole;
        lapwing_distribution aligned{};
        aligned.kind = LAPWING_ALIGNED;
        aligned.space = ranges_.data();
        aligned.whole = &whole;
        return aligned;
    }

private:
    std::vector<lapwing_range> ranges_;
};

/// Extents, lower bounds and options in the order of C. Lower bounds are 1 where none are given.
struct Shape {
    Numbers extents;
    Numbers lower;
    Numbers stride;
    lapwing_array_options options = lapwing_array_options_default();

    Shape(std::int64_t dimensions, const std::int64_t* extents_given, const std::int64_t* lower_given,
          std::int64_t lower_count, const void* name, const lapwing_cache_options* cache,
          const std::int64_t* stride_given, std::int64_t stride_count)
        : extents{reversed(extents_given, dimensions)}, lower(static_cast<std::size_t>(dimensions), 1) {
        if (lower_given != nullptr) {
            require_dimensions(lower_count, dimensions, "lower");
            lower = reversed(lower_given, lower_count);
        }
        options.name = static_cast<const char*>(name);
        options.lower = lower.data();
        if (stride_given != nullptr) {
            require_dimensions(stride_count, dimensions, "stride");
            stride = reversed(stride_given, stride_count);
            options.stride = stride.data();
        }
        if (cache != nullptr) options.cache = *cache;
    }
};

struct Known {
    lapwing_type type = 0;
    int dimensions = 0;
    PerDimension extents{};
    PerDimension lower{};
    PerDimension stride{};

    int ask(const lapwing_array* array) {
        const int code = lapwing_array_shape(array, &type, &dimensions, extents.data(), lower.data());
        return code != LAPWING_SUCCESS ? code : lapwing_array_stride(array, stride.data());
    }
};

/// A distribution as Fortran passes it.
struct GivenDistribution {
    int kind = 0;
    const std::int64_t* grid = nullptr;
    std::int64_t grid_count = 0;
    const std::int64_t* block = nullptr;
    std::int64_t block_count = 0;
    const std::int64_t* ranks = nullptr;
    std::int64_t rank_count = 0;
};

/// `call(distribution)` for an array of so many dimensions; `name` is the call's in messages.
template <class Call>
int with_distribution(const char* name, const lapwing_array* array, const GivenDistribution& given, Call&& call) {
    Known known;
    int code = known.ask(array);
    if (code != LAPWING_SUCCESS) return code;
    const int outcome = guarded(name, [&] {
        const Distribution how{given.kind,       known.dimensions, given.grid,
                               given.grid_count, given.block,      given.block_count};
        const Chosen chosen{given.ranks, given.rank_count};
        const lapwing_distribution over = chosen.over(how.given);
        code = call(&over);
    });
    return outcome != LAPWING_SUCCESS ? outcome : code;
}

int give(const Known& known, const PerDimension& values, std::int64_t* results, std::int64_t* count) {
    std::reverse_copy(values.begin(), values.begin() + known.dimensions, results);
    *count = known.dimensions;
    return LAPWING_SUCCESS;
}

bool are_same_to_fortran(lapwing_type own, lapwing_type asked) {
    using lapwing::detail::bindings::is_number;
    using lapwing::detail::bindings::kind_of;
    using lapwing::detail::bindings::size_of;
    if (asked == 0 || own == asked) return true; // 0: an address, whatever is there
    if (size_of(own) != size_of(asked)) return false;
    return !is_number(own) || (kind_of(own) == LAPWING_KIND_UNSIGNED && kind_of(asked) == LAPWING_KIND_SIGNED);
}

void require_pointer_fits(lapwing_type own, int dimensions, lapwing_type asked, int rank) {
    if (rank != dimensions)
        throw RangeError{fmt::format("the pointer has {} dimensions, and the array {}", rank, dimensions)};
    if (!are_same_to_fortran(own, asked))
        throw lapwing::UsageError{
            fmt::format("the pointer is to elements of type {}, and the array has {}; declare it with the array's type",
                        lapwing::detail::bindings::text_of(asked), lapwing::detail::bindings::text_of(own))};
}

/// An array whose elements a Fortran pointer of this type and rank is to show.
int ask_for_pointer(Known& known, const lapwing_array* array, const char* call, lapwing_type type, int rank) {
    if (const int code = known.ask(array)) return code;
    return guarded(call, [&] { require_pointer_fits(known.type, known.dimensions, type, rank); });
}

/// The first index of the local part if its indices are consecutive, or 1.
int first_indices(const lapwing_array* array, const Known& known, const PerDimension& extents, PerDimension& lower) {
    lower.fill(1);
    // For a pointer, indices with strides are positions.
    if (std::any_of(known.stride.begin(), known.stride.begin() + known.dimensions,
                    [](std::int64_t stride) { return stride != 1; }))
        return LAPWING_SUCCESS;
    if (std::equal(extents.begin(), extents.begin() + known.dimensions, known.extents.begin())) {
        lower = known.lower;
        return LAPWING_SUCCESS;
    }
    const int rank = lapwing::detail::bindings::array_of(array).team().rank().value;
    std::uint64_t domains = 0;
    std::array<lapwing_range, LAPWING_MAX_DIMENSIONS> own{};
    if (const int code = lapwing_array_domain_count(array, rank, &domains)) return code;
    if (domains != 1) return LAPWING_SUCCESS;
    if (const int code = lapwing_array_domain(array, rank, 0, own.data())) return code;
    for (int d = 0; d < known.dimensions; ++d) {
        const lapwing_range& range = own[static_cast<std::size_t>(d)];
        if ((range.size > 1 && range.stride != 1) ||
            range.size != static_cast<std::uint64_t>(extents[static_cast<std::size_t>(d)]))
            return LAPWING_SUCCESS;
    }
    for (int d = 0; d < known.dimensions; ++d)
        lower[static_cast<std::size_t>(d)] = own[static_cast<std::size_t>(d)].first;
    return LAPWING_SUCCESS;
}

/// Sizes and first indices of ranges; without indices that follow each other the first one is 1.
void take_indices(const std::array<lapwing_range, LAPWING_MAX_DIMENSIONS>& ranges, PerDimension& sizes,
                  PerDimension& first) {
    const bool strided = std::ranges::any_of(ranges, [](const lapwing_range& one) { return one.stride > 1; });
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        sizes[d] = static_cast<std::int64_t>(ranges[d].size);
        first[d] = strided ? 1 : ranges[d].first;
    }
}

/// Reverses C's description of memory, and finds the extents of the memory around it. Null and zeros if there is none.
void describe(int dimensions, const PerDimension& extents, const PerDimension& strides, const PerDimension& lower,
              void** memory, std::int64_t* extents_out, std::int64_t* allocated, std::int64_t* lower_out) {
    const bool empty =
        std::any_of(extents.begin(), extents.begin() + dimensions, [](std::int64_t extent) { return extent == 0; });
    if (empty) *memory = nullptr;
    std::int64_t within = 1; // the stride that the dimension has for Fortran
    for (int f = 0; f < dimensions; ++f) {
        const auto c = static_cast<std::size_t>(dimensions - 1 - f);
        extents_out[f] = empty ? 0 : extents[c];
        lower_out[f] = lower[c];
        // How far it is to the next step of the dimension after this one, in steps of this one.
        std::int64_t room = extents[c];
        if (c > 0 && extents[c - 1] > 1 && strides[c - 1] > 0) {
            room = strides[c - 1] / within;
            if (strides[c - 1] % within != 0 || room < extents[c])
                throw RangeError{fmt::format(
                    "the local part has strides that no pointer of Fortran's has ({} after {} in dimension {}); use "
                    "patches",
                    strides[c - 1], within, f + 2)};
        }
        allocated[f] = empty ? 0 : room;
        within *= room;
    }
}

} // namespace

extern "C" {

int lapwing_fortran_array_create(lapwing_runtime* runtime, lapwing_type type, int64_t dimensions,
                                 const int64_t* extents, const int64_t* lower, int64_t lower_count, int distribution,
                                 const int64_t* grid, int64_t grid_count, const int64_t* block, int64_t block_count,
                                 int64_t halo, void* name, const lapwing_cache_options* cache, const int64_t* stride,
                                 int64_t stride_count, const int64_t* space_lower, int64_t space_lower_count,
                                 const int64_t* space_upper, int64_t space_upper_count, const int64_t* ranks,
                                 int64_t rank_count, lapwing_array** array) {
    int code = LAPWING_SUCCESS;
    const int outcome = guarded("lapwing_array_create", [&] {
        Shape shape{dimensions, extents, lower, lower_count, name, cache, stride, stride_count};
        const Space space{dimensions, space_lower, space_lower_count, space_upper, space_upper_count};
        shape.options.halo = halo;
        const Distribution how{distribution, dimensions, grid, grid_count, block, block_count};
        const Chosen chosen{ranks, rank_count};
        const lapwing_distribution over = chosen.over(how.given);
        const lapwing_distribution part = space.part(over);
        code = lapwing_array_create(runtime, type, static_cast<int>(dimensions), shape.extents.data(), &part,
                                    &shape.options, array);
    });
    return outcome != LAPWING_SUCCESS ? outcome : code;
}

int lapwing_fortran_array_create_own(lapwing_runtime* runtime, lapwing_type type, int64_t dimensions,
                                     const int64_t* extents, const int64_t* lower, int64_t lower_count,
                                     const lapwing_distribution_procedures* functions, void* name,
                                     const lapwing_cache_options* cache, const int64_t* stride, int64_t stride_count,
                                     const int64_t* space_lower, int64_t space_lower_count, const int64_t* space_upper,
                                     int64_t space_upper_count, const int64_t* ranks, int64_t rank_count,
                                     lapwing_array** array) {
    int code = LAPWING_SUCCESS;
    const int outcome = guarded("lapwing_array_create", [&] {
        const Shape shape{dimensions, extents, lower, lower_count, name, cache, stride, stride_count};
        const Space space{dimensions, space_lower, space_lower_count, space_upper, space_upper_count};
        const OwnDistribution how{*functions};
        const Chosen chosen{ranks, rank_count};
        const lapwing_distribution over = chosen.over(how.given);
        const lapwing_distribution part = space.part(over);
        code = lapwing_array_create(runtime, type, static_cast<int>(dimensions), shape.extents.data(), &part,
                                    &shape.options, array);
    });
    return outcome != LAPWING_SUCCESS ? outcome : code;
}

int lapwing_fortran_array_redistribute(lapwing_array* array, int distribution, const int64_t* grid, int64_t grid_count,
                                       const int64_t* block, int64_t block_count, const int64_t* ranks,
                                       int64_t rank_count) {
    return with_distribution("lapwing_array_redistribute", array,
                             {distribution, grid, grid_count, block, block_count, ranks, rank_count},
                             [&](const lapwing_distribution* how) { return lapwing_array_redistribute(array, how); });
}

int lapwing_fortran_array_redistribute_own(lapwing_array* array, const lapwing_distribution_procedures* functions,
                                           const int64_t* ranks, int64_t rank_count) {
    int code = LAPWING_SUCCESS;
    const int outcome = guarded("lapwing_array_redistribute", [&] {
        const OwnDistribution how{*functions};
        const Chosen chosen{ranks, rank_count};
        const lapwing_distribution over = chosen.over(how.given);
        code = lapwing_array_redistribute(array, &over);
    });
    return outcome != LAPWING_SUCCESS ? outcome : code;
}

int lapwing_fortran_array_extents(const lapwing_array* array, int64_t* extents, int64_t* count) {
    Known known;
    if (const int code = known.ask(array)) return code;
    return give(known, known.extents, extents, count);
}
int lapwing_fortran_array_lower(const lapwing_array* array, int64_t* lower, int64_t* count) {
    Known known;
    if (const int code = known.ask(array)) return code;
    return give(known, known.lower, lower, count);
}
int lapwing_fortran_array_upper(const lapwing_array* array, int64_t* upper, int64_t* count) {
    Known known;
    if (const int code = known.ask(array)) return code;
    for (std::size_t d = 0; d < known.extents.size(); ++d) known.lower[d] += (known.extents[d] - 1) * known.stride[d];
    return give(known, known.lower, upper, count);
}
int lapwing_fortran_array_stride(const lapwing_array* array, int64_t* strides, int64_t* count) {
    Known known;
    if (const int code = known.ask(array)) return code;
    return give(known, known.stride, strides, count);
}
int lapwing_fortran_array_dimensions(const lapwing_array* array, int* dimensions) {
    return lapwing_array_shape(array, nullptr, dimensions, nullptr, nullptr);
}
int lapwing_fortran_array_type(const lapwing_array* array, int64_t* type) {
    lapwing_type found = 0;
    const int code = lapwing_array_shape(array, &found, nullptr, nullptr, nullptr);
    *type = static_cast<std::int64_t>(found);
    return code;
}
int lapwing_fortran_array_halo_depth(const lapwing_array* array, int64_t* depth) {
    return lapwing_array_halo(array, depth);
}

int lapwing_fortran_array_domain(const lapwing_array* array, int rank, int64_t k, int64_t* lower, int64_t* upper,
                                 int64_t* strides) {
    std::array<lapwing_range, LAPWING_MAX_DIMENSIONS> ranges{};
    if (const int code = lapwing_array_domain(array, rank, static_cast<std::uint64_t>(k), ranges.data())) return code;
    Known known;
    if (const int code = known.ask(array)) return code;
    for (std::size_t d = 0; d < static_cast<std::size_t>(known.dimensions); ++d) {
        lower[d] = ranges[d].first;
        upper[d] = ranges[d].first + (static_cast<std::int64_t>(ranges[d].size) - 1) * ranges[d].stride;
        strides[d] = ranges[d].stride;
    }
    return LAPWING_SUCCESS;
}

int lapwing_fortran_array_local(const lapwing_array* array, lapwing_type type, int rank, void** memory,
                                int64_t* extents, int64_t* allocated, int64_t* lower) {
    Known known;
    PerDimension own_extents{};
    PerDimension strides{};
    PerDimension first{};
    if (const int code = ask_for_pointer(known, array, "lapwing_array_local", type, rank)) return code;
    if (const int code =
            lapwing_array_local(const_cast<lapwing_array*>(array), memory, own_extents.data(), strides.data()))
        return code;
    if (const int code = first_indices(array, known, own_extents, first)) return code;
    return guarded("lapwing_array_local",
                   [&] { describe(known.dimensions, own_extents, strides, first, memory, extents, allocated, lower); });
}

int lapwing_fortran_array_halo_view(const lapwing_array* array, lapwing_type type, int rank, void** memory,
                                    int64_t* extents, int64_t* allocated, int64_t* lower) {
    Known known;
    PerDimension sizes{};
    PerDimension strides{};
    PerDimension first{};
    const void* view = nullptr;
    std::array<lapwing_range, LAPWING_MAX_DIMENSIONS> ranges{};
    if (const int code = ask_for_pointer(known, array, "lapwing_array_halo_view", type, rank)) return code;
    if (const int code =
            lapwing_array_halo_view(const_cast<lapwing_array*>(array), &view, strides.data(), ranges.data()))
        return code;
    *memory = const_cast<void*>(view);
    return guarded("lapwing_array_halo_view", [&] {
        take_indices(ranges, sizes, first);
        describe(known.dimensions, sizes, strides, first, memory, extents, allocated, lower);
    });
}

int lapwing_fortran_array_redistribute_ordered(lapwing_array* array, int distribution, const int64_t* grid,
                                               int64_t grid_count, const int64_t* block, int64_t block_count,
                                               const int64_t* ranks, int64_t rank_count, lapwing_relabelling* order) {
    return with_distribution(
        "lapwing_array_redistribute_ordered", array,
        {distribution, grid, grid_count, block, block_count, ranks, rank_count},
        [&](const lapwing_distribution* how) { return lapwing_array_redistribute_ordered(array, how, order); });
}

int lapwing_fortran_relabelling_create(lapwing_array* array, int distribution, const int64_t* grid, int64_t grid_count,
                                       const int64_t* block, int64_t block_count, const int64_t* ranks,
                                       int64_t rank_count, lapwing_relabelling** relabelling) {
    return with_distribution(
        "lapwing_relabelling_create", array, {distribution, grid, grid_count, block, block_count, ranks, rank_count},
        [&](const lapwing_distribution* how) { return lapwing_relabelling_create(array, how, relabelling); });
}

int lapwing_fortran_halo_create(lapwing_array* array, int64_t depth, const int* periodic, int64_t count,
                                lapwing_halo** halo) {
    Known known;
    if (const int code = known.ask(array)) return code;
    std::vector<int> flags;
    if (periodic != nullptr) {
        if (const int code =
                guarded("lapwing_halo_create", [&] { require_dimensions(count, known.dimensions, "periodic"); }))
            return code;
        flags.assign(std::reverse_iterator{periodic + count}, std::reverse_iterator{periodic});
    }
    return lapwing_halo_create(array, depth, flags.empty() ? nullptr : flags.data(), halo);
}

int lapwing_fortran_halo_local(const lapwing_halo* halo, int dimensions, lapwing_type own_type, lapwing_type type,
                               int rank, void** memory, int64_t* extents, int64_t* allocated, int64_t* lower) {
    PerDimension sizes{};
    PerDimension strides{};
    PerDimension first{};
    std::array<lapwing_range, LAPWING_MAX_DIMENSIONS> ranges{};
    if (const int code = lapwing_halo_memory(halo, memory, strides.data(), ranges.data())) return code;
    return guarded("lapwing_halo_local", [&] {
        require_pointer_fits(own_type, dimensions, type, rank);
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            sizes[d] = static_cast<std::int64_t>(ranges[d].size);
            first[d] = ranges[d].first;
        }
        describe(dimensions, sizes, strides, first, memory, extents, allocated, lower);
    });
}

int lapwing_fortran_mapped_view(const lapwing_mapped* mapped, int dimensions, lapwing_type own_type, lapwing_type type,
                                int rank, void** memory, int64_t* extents, int64_t* allocated, int64_t* lower) {
    PerDimension sizes{};
    PerDimension strides{};
    PerDimension first{};
    const void* view = nullptr;
    std::array<lapwing_range, LAPWING_MAX_DIMENSIONS> ranges{};
    if (const int code = lapwing_mapped_view(mapped, &view, strides.data(), ranges.data())) return code;
    *memory = const_cast<void*>(view);
    return guarded("lapwing_mapped_view", [&] {
        require_pointer_fits(own_type, dimensions, type, rank);
        take_indices(ranges, sizes, first);
        describe(dimensions, sizes, strides, first, memory, extents, allocated, lower);
    });
}

} // extern "C"
