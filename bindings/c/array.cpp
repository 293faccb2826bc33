// Making arrays, and their properties.
#include "bindings/c/array.hpp"

#include "bindings/c/call.hpp"
#include "bindings/c/layout.hpp"

#include <lapwing/detail/trace.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace lapwing::detail::bindings {

std::string text_of(const AnyArray& array) {
    return array.name().empty() ? std::string{"the array"} : fmt::format("array \"{}\"", array.name());
}

void throw_not_numbered(const ArrayInside& inside, const std::string& indices, std::size_t d) {
    throw RangeError{fmt::format("{}: {}: {} of dimension {} is not among the array's indices, {}",
                                 inside.array.team().who(), text_of(inside.array), indices, d,
                                 to_string(inside.indices(d)))};
}

namespace {

[[noreturn]] void throw_outside_of(const ArrayInside& inside, const std::int64_t* index, std::size_t d) {
    const AnyArray& array = inside.array;
    throw RangeError{fmt::format("{}: {}: index {} of dimension {} of ({}) is outside [{}, {})", array.team().who(),
                                 text_of(array), index[d], d, fmt::join(std::span{index, array.dimensions()}, ", "),
                                 inside.lower[d], inside.lower[d] + array.extents()[d])};
}

} // namespace

PaddedIndex position_of(const ArrayInside& inside, const std::int64_t* index) {
    require_pointer(index, "index");
    const AnyArray& array = inside.array;
    const std::size_t front = padded - array.dimensions();
    PaddedIndex position{};
    for (std::size_t d = 0; d < array.dimensions(); ++d) {
        // Below the lower bound the difference wraps around to more than any extent.
        const std::uint64_t place = inside.numbering[d].position(index[d]);
        if (place >= static_cast<std::uint64_t>(array.extents()[d])) [[unlikely]] {
            if (inside.stride[d] != 1) throw_not_numbered(inside, fmt::format("index {}", index[d]), d);
            throw_outside_of(inside, index, d);
        }
        position[front + d] = static_cast<std::int64_t>(place);
    }
    return position;
}

PaddedDomain positions_of(const ArrayInside& inside, const lapwing_range* ranges) {
    require_pointer(ranges, "ranges");
    const AnyArray& array = inside.array;
    const std::size_t front = padded - array.dimensions();
    const std::span<const lapwing_range> given{ranges, array.dimensions()};
    for (std::size_t d = 0; d < given.size(); ++d) require_range(given[d], static_cast<int>(d));
    if (std::ranges::any_of(given, [](const lapwing_range& range) { return range.size == 0; })) return {};
    std::array<Range, padded> positions;
    for (std::size_t d = 0; d < front; ++d) positions[d] = Range::strided(0, 1, 1);
    for (std::size_t d = 0; d < given.size(); ++d) {
        const auto [first, size, stride] = given[d];
        if (inside.stride[d] != 1) {
            const Range indices = range_of(given[d], static_cast<int>(d));
            Triplet places;
            if (!inside.numbering[d].find(indices, places)) throw_not_numbered(inside, to_string(indices), d);
            positions[front + d] = Range::strided(places.first(), places.size(), places.stride());
            continue;
        }
        const std::int64_t lower = inside.lower[d];
        const std::int64_t end = lower + array.extents()[d];
        const std::int64_t last = size == 1 ? first : first + static_cast<std::int64_t>(size - 1) * stride;
        if (first < lower || last >= end) [[unlikely]]
            throw RangeError{fmt::format("{}: {}: {} of dimension {} leaves [{}, {}); cut the patch to the array",
                                         array.team().who(), text_of(array),
                                         to_string(range_of(given[d], static_cast<int>(d))), d, lower, end)};
        positions[front + d] = Range::strided(first - lower, size, stride);
    }
    return PaddedDomain{positions};
}

void copy_index(const ArrayInside& inside, const PaddedIndex& position, std::int64_t* index) {
    const std::size_t front = padded - inside.array.dimensions();
    for (std::size_t d = 0; d < inside.array.dimensions(); ++d)
        index[d] = inside.numbering[d].index(position[front + d]);
}

void ArrayInside::renew() {
    for (std::size_t d = 0; d < array.dimensions(); ++d) numbering[d] = arrays::Numbering{indices(d)};
    own_box = array.own_box();
    near.attach(array.window(), [](window::NearBinding& binding) noexcept {
        if (lapwing_array* const handle = static_cast<HandleBinding&>(binding).handle) handle->bind();
    });
}

lapwing_range ArrayInside::indices(std::size_t d, const Range& positions) const noexcept {
    if (positions.empty()) return {lower[d], 0, 1};
    return {lower[d] + positions.first() * stride[d], positions.size(),
            positions.size() == 1 ? 1 : positions.stride() * stride[d]};
}

KeptDistribution distribution_of(const ArrayInside& inside, const lapwing_distribution* distribution) {
    std::vector<Range> indices;
    for (std::size_t d = 0; d < inside.array.dimensions(); ++d) indices.push_back(inside.indices(d));
    return KeptDistribution::of(distribution, indices);
}

namespace {

/// The indices of an array, all of which must be within 64 bits. Null pointers mean 0 or 1; extents that no array can
/// have are left to its constructor.
std::vector<Range> indices_of(const std::int64_t* lower, const std::int64_t* stride, const std::int64_t* extents,
                              std::size_t dimensions) {
    std::vector<Range> indices;
    for (std::size_t d = 0; d < dimensions; ++d) {
        const std::int64_t first = lower != nullptr ? lower[d] : 0;
        const std::int64_t step = stride != nullptr ? stride[d] : 1;
        if (step < 1)
            throw RangeError{
                fmt::format("the stride {} of dimension {} is below 1; indices of an array rise", step, d)};
        const std::int64_t extent = std::max<std::int64_t>(extents[d], 0);
        std::int64_t length = 0;
        std::int64_t end = 0;
        if (__builtin_mul_overflow(extent, step, &length) || __builtin_add_overflow(first, length, &end))
            throw RangeError{fmt::format("the lower bound {} and the extent {} of dimension {}{} leave 64 bits", first,
                                         extent, d, step == 1 ? std::string{} : fmt::format(" with stride {}", step))};
        indices.push_back(Range::strided(first, static_cast<std::uint64_t>(extent), step));
    }
    return indices;
}

} // namespace

void bind_again(lapwing_array& array) {
    array.inside->renew();
    if (array.inside->window != nullptr) Handles<lapwing_window>::end(std::exchange(array.inside->window, nullptr));
    array.bind();
}

} // namespace lapwing::detail::bindings

using lapwing::Rank;
using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

void lapwing_array::bind() noexcept {
    const AnyArray& array = inside->array;
    const std::size_t front = padded - array.dimensions();
    // Accesses that are recorded all go through the window, and so do those to elements of the node that have copies.
    lapwing::detail::arrays::PlacedBox<padded> near;
    if (!lapwing::detail::trace::on()) {
        if (inside->near.reaches_node()) std::tie(near.box, near.first) = array.node().dense(array.element_bytes());
        if (near.box.empty()) near = inside->own_box;
    }
    head.type = array.type();
    head.dimensions = static_cast<int>(array.dimensions());
    head.writable = array.replicated() ? 0 : 1;
    head.base = reinterpret_cast<unsigned char*>(near.first);
    // Positions of strided indices are divisions, which the inline functions leave to the library.
    const bool strided = std::ranges::any_of(std::span{inside->stride}.first(array.dimensions()),
                                             [](std::int64_t stride) { return stride != 1; });
    for (std::size_t d = 0; d < lapwing::max_dimensions; ++d) {
        const bool used = d < array.dimensions() && !near.box.empty() && !strided;
        head.lower[d] = used ? near.box.first()[front + d] + inside->lower[d] : 0;
        head.extent[d] = used ? near.box.extent(front + d) : 0;
        head.stride[d] = 0;
        if (!used || head.extent[d] < 2) continue;
        PaddedIndex neighbour = near.box.first();
        ++neighbour[front + d];
        head.stride[d] = near.box.offset(neighbour) * array.element_bytes();
    }
    bind_axes();
}

void lapwing_array::bind_axes() {
    static constexpr lapwing_type inlined[] = {LAPWING_INT32, LAPWING_INT64, LAPWING_FLOAT, LAPWING_DOUBLE};
    const int count = head.dimensions;
    std::ranges::fill(head.axes, lapwing_array_axis{});
    for (int d = 0; d < count && count <= 3; ++d)
        head.axes[count * (count - 1) / 2 + d] = {head.lower[d], head.extent[d], head.stride[d]};
    for (std::size_t k = 0; k < std::size(inlined); ++k) {
        head.reads[k] = head.type == inlined[k] ? head.base : nullptr;
        head.writes[k] = head.writable != 0 ? head.reads[k] : nullptr;
    }
}

extern "C" {

lapwing_array_options lapwing_array_options_default(void) {
    return {nullptr, nullptr, lapwing_cache_options_default(), 0, nullptr};
}

int lapwing_array_create(lapwing_runtime* runtime, lapwing_type type, int dimensions, const int64_t* extents,
                         const lapwing_distribution* distribution, const lapwing_array_options* options,
                         lapwing_array** array) {
    return guarded("lapwing_array_create", [&] {
        lapwing::Team& team = team_of(runtime);
        const auto count = static_cast<std::size_t>(dimensions);
        const lapwing_array_options given = options != nullptr ? *options : lapwing_array_options_default();
        lapwing::GlobalArrayOptions array_options;
        // If one rank's arguments are wrong, all get an error.
        const KeptDistribution dealt = before_collective(team, [&] {
            require_type(type);
            require_dimensions(dimensions);
            require_pointer(extents, "extents");
            require_pointer(array, "array");
            if (given.name != nullptr) array_options.name = given.name;
            array_options.cache = cache_options_of(given.cache);
            array_options.halo = given.halo;
            return KeptDistribution::of(distribution, indices_of(given.lower, given.stride, extents, count));
        });
        auto inside =
            std::make_unique<ArrayInside>(runtime, AnyArray{team, type, {extents, count}, dealt, array_options});
        for (std::size_t d = 0; d < count; ++d) {
            inside->lower[d] = given.lower != nullptr ? given.lower[d] : 0;
            inside->stride[d] = given.stride != nullptr ? given.stride[d] : 1;
        }
        inside->renew();
        *array = Handles<lapwing_array>::make(std::move(inside));
    });
}

int lapwing_array_free(lapwing_array** array) {
    return guarded("lapwing_array_free", [&] {
        require_pointer(array, "array");
        if (*array == nullptr) return;
        array_of(*array).close();
        end_handle(array);
    });
}

int lapwing_array_leave(lapwing_array** array) {
    return guarded("lapwing_array_leave", [&] {
        require_pointer(array, "array");
        if (*array == nullptr) return;
        (void)use(*array);
        leave([&] { end_handle(array); });
    });
}

int lapwing_array_resize(lapwing_array* array, const int64_t* extents) {
    return guarded("lapwing_array_resize", [&] {
        ArrayInside& inside = inside_of(array);
        const auto kept = before_collective(inside.array.team(), [&] {
            require_pointer(extents, "extents");
            (void)indices_of(inside.lower.data(), inside.stride.data(), extents, inside.array.dimensions());
            return std::vector<std::int64_t>{extents, extents + inside.array.dimensions()};
        });
        inside.array.rebuild(".resize", kept, KeptDistribution{inside.array.distribution()});
        bind_again(*array);
    });
}

int lapwing_array_redistribute(lapwing_array* array, const lapwing_distribution* distribution) {
    return guarded("lapwing_array_redistribute", [&] {
        ArrayInside& inside = inside_of(array);
        AnyArray& one = inside.array;
        const std::vector<std::int64_t> extents{one.extents().begin(), one.extents().end()};
        const KeptDistribution dealt =
            before_collective(one.team(), [&] { return distribution_of(inside, distribution); });
        one.rebuild(".redistribute", extents, dealt);
        bind_again(*array);
    });
}

int lapwing_array_shape(const lapwing_array* array, lapwing_type* type, int* dimensions, int64_t* extents,
                        int64_t* lower) {
    return guarded("lapwing_array_shape", [&] {
        const ArrayInside& inside = inside_of(array);
        if (type != nullptr) *type = inside.array.type();
        if (dimensions != nullptr) *dimensions = static_cast<int>(inside.array.dimensions());
        if (extents != nullptr) std::ranges::copy(inside.array.extents(), extents);
        if (lower != nullptr) std::copy_n(inside.lower.begin(), inside.array.dimensions(), lower);
    });
}

int lapwing_array_stride(const lapwing_array* array, int64_t* stride) {
    return guarded("lapwing_array_stride", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(stride, "stride");
        std::copy_n(inside.stride.begin(), inside.array.dimensions(), stride);
    });
}

int lapwing_array_size(const lapwing_array* array, uint64_t* elements) {
    return guarded("lapwing_array_size", [&] {
        require_pointer(elements, "elements");
        *elements = array_of(array).size();
    });
}

int lapwing_array_name(const lapwing_array* array, const char** text) {
    return guarded("lapwing_array_name", [&] {
        require_pointer(text, "text");
        *text = kept_text(std::string{array_of(array).name()});
    });
}

int lapwing_array_halo(const lapwing_array* array, int64_t* depth) {
    return guarded("lapwing_array_halo", [&] {
        require_pointer(depth, "depth");
        *depth = array_of(array).halo();
    });
}

int lapwing_array_window(lapwing_array* array, lapwing_window** window) {
    return guarded("lapwing_array_window", [&] {
        ArrayInside& inside = inside_of(array);
        require_pointer(window, "window");
        if (inside.window == nullptr) {
            inside.window = Handles<lapwing_window>::make(inside.array.window());
        }
        *window = inside.window;
    });
}

int lapwing_array_owner(const lapwing_array* array, const int64_t* index, int* rank) {
    return guarded("lapwing_array_owner", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(rank, "rank");
        *rank = inside.array.stored_location(".owner", position_of(inside, index)).owner.value;
    });
}

int lapwing_array_is_local(const lapwing_array* array, const int64_t* index, int* local) {
    return guarded("lapwing_array_is_local", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(local, "local");
        const Rank owner = inside.array.stored_location(".is_local", position_of(inside, index)).owner;
        *local = owner == inside.array.team().rank() ? 1 : 0;
    });
}

int lapwing_array_domain_count(const lapwing_array* array, int rank, uint64_t* count) {
    return guarded("lapwing_array_domain_count", [&] {
        require_pointer(count, "count");
        *count = array_of(array).domain_count(Rank{rank});
    });
}

int lapwing_array_domain(const lapwing_array* array, int rank, uint64_t k, lapwing_range* ranges) {
    return guarded("lapwing_array_domain", [&] {
        const ArrayInside& inside = inside_of(array);
        require_pointer(ranges, "ranges");
        const std::uint64_t count = inside.array.domain_count(Rank{rank});
        if (k >= count)
            throw lapwing::RangeError{fmt::format("{}: {}: rank {} owns {} domains, and none has the number {}",
                                                  inside.array.team().who(), text_of(inside.array), rank, count, k)};
        const PaddedDomain domain = inside.array.domain_of(Rank{rank}, k);
        const std::size_t front = padded - inside.array.dimensions();
        for (std::size_t d = 0; d < inside.array.dimensions(); ++d)
            ranges[d] = inside.indices(d, domain.range(front + d));
    });
}

int lapwing_array_local(const lapwing_array* array, void** memory, int64_t* extents, int64_t* strides) {
    return guarded("lapwing_array_local", [&] {
        const AnyArray& one = array_of(array);
        const AnyArray::LocalPart part = one.local_part(".local");
        if (memory != nullptr) *memory = part.first;
        if (extents != nullptr) std::ranges::copy(one.shown(part.extents), extents);
        if (strides != nullptr) std::ranges::copy(one.shown(part.strides), strides);
    });
}

int lapwing_array_flush(lapwing_array* array, int rank) {
    return guarded("lapwing_array_flush", [&] { array_of(array).flush(Rank{rank}); });
}
int lapwing_array_flush_all(lapwing_array* array) {
    return guarded("lapwing_array_flush_all", [&] { array_of(array).flush(); });
}
int lapwing_array_release(lapwing_array* array) {
    return guarded("lapwing_array_release", [&] { array_of(array).release(); });
}
int lapwing_array_acquire(lapwing_array* array) {
    return guarded("lapwing_array_acquire", [&] { array_of(array).acquire(); });
}
int lapwing_array_fence(lapwing_array* array) {
    return guarded("lapwing_array_fence", [&] { array_of(array).fence(); });
}
int lapwing_array_invalidate_cache(lapwing_array* array) {
    return guarded("lapwing_array_invalidate_cache", [&] { array_of(array).invalidate_cache(); });
}
int lapwing_array_barrier(lapwing_array* array) {
    return guarded("lapwing_array_barrier", [&] { array_of(array).barrier(); });
}

int lapwing_array_statistics(const lapwing_array* array, lapwing_statistics* statistics) {
    return guarded("lapwing_array_statistics", [&] {
        require_pointer(statistics, "statistics");
        copy_statistics(array_of(array).statistics(), statistics);
    });
}

int lapwing_array_total_statistics(lapwing_array* array, lapwing_statistics* statistics) {
    return guarded("lapwing_array_total_statistics", [&] {
        AnyArray& one = array_of(array);
        check_for_all(one.team(), "lapwing_array_total_statistics", [&] { require_pointer(statistics, "statistics"); });
        copy_statistics(one.total_statistics(), statistics);
    });
}

} // extern "C"
