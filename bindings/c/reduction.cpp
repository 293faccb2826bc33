// Reductions of arrays along one dimension.
#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/convert.hpp"
#include "bindings/c/slice.hpp"
#include "bindings/c/type.hpp"

#include <lapwing/assignment.hpp>
#include <lapwing/c/reduction.h>
#include <lapwing/dimension_reduction.hpp>
#include <lapwing/error.hpp>
#include <lapwing/reduction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace lapwing::detail::bindings {
namespace {

/// What a reduction does with elements and results.
struct Reducing {
    lapwing_type type = 0;                ///< of results
    std::vector<std::byte> identity = {}; ///< a result of no elements
    /// Combines `count` elements, the first of which has index `at`, with results that are `step` of these apart; with
    /// one result if `step` is 0.
    std::function<void(const PaddedIndex& at, const std::byte* elements, std::uint64_t count, std::int64_t index_stride,
                       std::byte* results, std::int64_t step)>
        accumulate = {};
    slices::ApplyValues combine = {}; ///< results with those of another process
    slices::ApplyValues assign = {};  ///< results to elements of the target; empty: copies them
};

/// Numbers of type T into results of type R.
template <class R, class T, class Combine>
Reducing reducing(lapwing_type type, R identity, Combine combine) {
    Reducing made{.type = type};
    made.identity.resize(sizeof(R));
    std::memcpy(made.identity.data(), &identity, sizeof(R));
    made.accumulate = [identity, combine](const PaddedIndex&, const std::byte* memory, std::uint64_t count,
                                          std::int64_t, std::byte* results, std::int64_t step) {
        const T* const elements = reinterpret_cast<const T*>(memory);
        R* const values = reinterpret_cast<R*>(results);
        if (step == 0) {
            arrays::Chains chains{identity, combine};
            chains.add(elements, count);
            *values = combine(*values, chains.result());
            return;
        }
        for (std::uint64_t k = 0; k < count; ++k) {
            R& value = values[static_cast<std::int64_t>(k) * step];
            value = combine(value, static_cast<R>(elements[k]));
        }
    };
    made.combine = slices::apply_values<R, R>([combine](R& left, const R& right) { left = combine(left, right); });
    return made;
}

/// The type in which elements of T are added up, and its number.
template <class T>
auto sum_of(lapwing_type type) {
    if constexpr (std::is_arithmetic_v<T>) {
        using Sum = arrays::SumOf<T>;
        constexpr bool real = std::is_floating_point_v<T>;
        return std::pair<Sum, lapwing_type>{Sum{}, real                  ? LAPWING_DOUBLE
                                                   : std::is_signed_v<T> ? LAPWING_INT64
                                                                         : LAPWING_UINT64};
    } else {
        return std::pair<T, lapwing_type>{T{}, type};
    }
}
/// Integers wrap around.
template <class R>
using Adder = std::conditional_t<std::is_integral_v<R>, std::uint64_t, R>;

Reducing reducing_by(lapwing_type type, int operation) {
    switch (operation) {
    case LAPWING_ADD:
        return with_any_number(type, [type]<class T>(T) {
            const auto [zero, result] = sum_of<T>(type);
            using R = std::remove_const_t<decltype(zero)>;
            return reducing<R, T>(result, zero, [](const R& a, const R& b) {
                return static_cast<R>(static_cast<Adder<R>>(a) + static_cast<Adder<R>>(b));
            });
        });
    case LAPWING_MULTIPLY:
        return with_any_number(type, [type]<class T>(T) {
            const auto [zero, result] = sum_of<T>(type);
            using R = std::remove_const_t<decltype(zero)>;
            return reducing<R, T>(result, R{1}, [](const R& a, const R& b) {
                return static_cast<R>(static_cast<Adder<R>>(a) * static_cast<Adder<R>>(b));
            });
        });
    case LAPWING_MIN:
        return with_number(
            type, [type]<class T>(T) { return reducing<T, T>(type, arrays::largest_value<T>(), arrays::Smaller{}); });
    case LAPWING_MAX:
        return with_number(
            type, [type]<class T>(T) { return reducing<T, T>(type, arrays::smallest_value<T>(), arrays::Larger{}); });
    default:
        throw RangeError{
            fmt::format("the argument 'operation' is {}; pass LAPWING_ADD, LAPWING_MULTIPLY, LAPWING_MIN or "
                        "LAPWING_MAX",
                        operation)};
    }
}

/// The program's functions.
struct Functions {
    const void* identity;
    std::uint64_t bytes;
    lapwing_accumulate_function accumulate;
    lapwing_combine_function combine;
    void* context;
};

Reducing reducing_by(const lapwing_array* array, const Functions& given) {
    require_pointer(given.identity, "identity");
    require_pointer(reinterpret_cast<const void*>(given.accumulate), "accumulate");
    require_pointer(reinterpret_cast<const void*>(given.combine), "combine");
    if (given.bytes == 0) throw RangeError{"the argument 'bytes' is 0; pass the size of a result"};
    Reducing made{.type = LAPWING_BYTES(given.bytes)};
    require_type(made.type);
    const auto* const identity = static_cast<const std::byte*>(given.identity);
    made.identity.assign(identity, identity + given.bytes);
    made.accumulate = [array, given](const PaddedIndex& at, const std::byte* elements, std::uint64_t count,
                                     std::int64_t index_stride, std::byte* results, std::int64_t step) {
        const ArrayInside& inside = inside_of(array);
        const std::size_t last = inside.array.dimensions() - 1;
        std::array<std::int64_t, max_dimensions> index{};
        copy_index(inside, at, index.data());
        for (std::uint64_t k = 0; k < count; ++k) {
            given.accumulate(given.context, results, index.data(), elements);
            index[last] += index_stride * inside.stride[last];
            elements += inside.array.element_bytes();
            results += step * static_cast<std::int64_t>(given.bytes);
        }
    };
    made.combine = [given](const slices::ElementRun& run) {
        const std::byte* value = run.values;
        for (std::uint64_t b = 0; b < run.blocks; ++b) {
            std::byte* const block = run.target + static_cast<std::int64_t>(b) * run.stride;
            for (std::uint64_t k = 0; k < run.block; ++k, value += given.bytes)
                given.combine(given.context, block + k * given.bytes, value);
        }
    };
    return made;
}

/// A DimensionReduction of an array whose type and dimensions are known at run time.
class AnyReduction {
public:
    /// Collective. Throws RangeError and UsageError, on all ranks.
    AnyReduction(const lapwing_array* array, int dimension, const lapwing_slice& target, Reducing how)
        : handle_{array},
          whole_{array_of(array).slice()},
          dimension_{before_collective(array_of(array).team(),
                                       [&] { return checked_dimension(array_of(array), dimension, target); })},
          how_{std::move(how)},
          partials_{make_partials()} {
        try {
            add_steps();
            last_.add_untyped(target.slice, plane(), how_.assign, false);
        } catch (...) { // on every rank
            partials_.close();
            throw;
        }
    }

    /// Collective.
    void execute() {
        const AnyArray& array = array_of(handle_);
        (void)slices::open_array(whole_, ".reduce_along");
        const std::array<std::int64_t, 1> dimension{static_cast<std::int64_t>(dimension_)};
        array.begin_collective("reduce_along", "the dimension", dimension);
        array.work_on_own(".reduce_along", [&] { combine_own(array); }, "the target is what it was");
        for (Assignment& step : steps_) step.execute();
        last_.execute();
    }
    /// Collective.
    void close() { partials_.close(); }

private:
    [[nodiscard]] static std::size_t checked_dimension(const AnyArray& array, int dimension,
                                                       const lapwing_slice& target);
    [[nodiscard]] AnyArray make_partials();
    /// All of the partial results, but for this part of the dimension.
    [[nodiscard]] AnySlice cut(const slices::SlicePart& part) const;
    [[nodiscard]] AnySlice plane() const { return cut({.indices = Triplet::strided(0, 1, 1), .left_out = true}); }
    void add_steps();
    void combine_own(const AnyArray& array) const;

    const lapwing_array* handle_;
    AnySlice whole_; ///< no longer valid when the array has changed
    std::size_t dimension_;
    Reducing how_;
    bool all_indices_ = false; ///< a row of the partial results has all indices, whoever has those of the array
    int process_ = 0;          ///< this rank's, in the dimension
    AnyArray partials_;        ///< as the array, but with one index for each process in the dimension
    std::vector<Assignment> steps_;
    Assignment last_;
};

std::size_t AnyReduction::checked_dimension(const AnyArray& array, int dimension, const lapwing_slice& target) {
    const std::size_t count = array.dimensions();
    if (count == 1)
        throw UsageError{fmt::format("{}: {} has one dimension; lapwing_array_sum(), _min(), _max() and _reduce() have "
                                     "a value as the result",
                                     array.team().who(), text_of(array))};
    if (dimension < 0 || static_cast<std::size_t>(dimension) >= count)
        throw RangeError{fmt::format("{}: {}: a reduction along dimension {}: the array has the dimensions [0, {})",
                                     array.team().who(), text_of(array), dimension, count)};
    const auto along = static_cast<std::size_t>(dimension);
    std::vector<std::int64_t> rest;
    for (std::size_t d = 0; d < count; ++d)
        if (d != along) rest.push_back(array.extents()[d]);
    std::vector<std::int64_t> extents;
    for (const slices::SliceShape::Dimension& one : target.slice.shape().used())
        extents.push_back(static_cast<std::int64_t>(one.indices.size()));
    if (extents != rest) arrays::throw_reduced_extents(array.team(), along, array.extents(), extents);
    return along;
}

AnyArray AnyReduction::make_partials() {
    const std::shared_ptr<const slices::ArrayGeometry> geometry = slices::open_array(whole_, ".reduce_along");
    const slices::ArrayGeometry& array = *geometry;
    const auto maps = std::span{array.maps}.first(array.user_map != nullptr ? 0 : array.dimensions);
    arrays::PartialResults made =
        arrays::partial_results(*array.team, array.used_extents(), maps, array.replicated, dimension_);
    process_ = made.process;
    all_indices_ = made.all_indices;
    KeptDistribution distribution{.kind = array.replicated ? LAPWING_REPLICATED : LAPWING_BLOCK_CYCLIC,
                                  .grid = std::move(made.grid),
                                  .block = std::move(made.blocks)};
    return {*array.team, how_.type, made.extents, distribution,
            GlobalArrayOptions{.name = fmt::format("partial results of {}", array_of(handle_).name())}};
}

AnySlice AnyReduction::cut(const slices::SlicePart& part) const {
    std::array<slices::SlicePart, max_dimensions> parts;
    parts.fill({.indices = {}, .everything = true});
    parts[dimension_] = part;
    AnySlice slice = partials_.slice();
    slice.cut({parts.data(), partials_.dimensions()});
    return slice;
}

void AnyReduction::add_steps() {
    // Pairs of processes, then pairs of pairs.
    const std::int64_t processes = partials_.extents()[dimension_];
    for (std::int64_t distance = 1; distance < processes; distance *= 2) {
        const auto pairs = static_cast<std::uint64_t>((processes - distance - 1) / (2 * distance) + 1);
        const auto every_other = [&](std::int64_t first) {
            return cut({.indices = Triplet::strided(first, pairs, 2 * distance)});
        };
        steps_.emplace_back().add_untyped(every_other(0), every_other(distance), how_.combine, false);
    }
}

void AnyReduction::combine_own(const AnyArray& array) const {
    const std::uint64_t bytes = partials_.element_bytes();
    partials_.for_each_run([&](const PaddedIndex&, std::byte* results, std::uint64_t count, std::int64_t) {
        for (std::uint64_t k = 0; k < count; ++k) std::memcpy(results + k * bytes, how_.identity.data(), bytes);
    });
    std::byte* const segment = partials_.window_of(".reduce_along").map().own;
    const std::size_t along = padded - array.dimensions() + dimension_;
    array.for_each_run([&](const PaddedIndex& at, std::byte* elements, std::uint64_t count, std::int64_t index_stride) {
        PaddedIndex index = at;
        index[along] = process_;
        const std::int64_t step = along == padded - 1 ? 0 : all_indices_ ? index_stride : 1;
        how_.accumulate(at, elements, count, index_stride, segment + partials_.locate(index).offset * bytes, step);
    });
}

/// Numbers, by an operation.
AnyReduction reduction_by(const lapwing_array* array, int dimension, const lapwing_slice* target, int operation) {
    const AnyArray& one = array_of(array);
    Reducing how = before_collective(one.team(), [&] {
        Reducing made = reducing_by(one.type(), operation);
        made.assign = conversion(use(target).type, made.type, LAPWING_REPLACE);
        return made;
    });
    return {array, dimension, use(target), std::move(how)};
}

AnyReduction reduction_by(const lapwing_array* array, int dimension, const lapwing_slice* target,
                          const Functions& functions) {
    const AnyArray& one = array_of(array);
    Reducing how = before_collective(one.team(), [&] {
        Reducing made = reducing_by(array, functions);
        const lapwing_type type = use(target).type;
        if (size_of(type) != functions.bytes)
            throw UsageError{
                fmt::format("{}: {}: the results have {} bytes, and the target has elements of type {}, with "
                            "{}; both must have as many",
                            one.team().who(), text_of(one), functions.bytes, text_of(type), size_of(type))};
        return made;
    });
    return {array, dimension, use(target), std::move(how)};
}

void carry_out(AnyReduction reduction) { arrays::execute_once(reduction); }

} // namespace
} // namespace lapwing::detail::bindings

struct lapwing_reduction : lapwing::detail::bindings::Object<lapwing_reduction> {
    static constexpr const char* object_name = "reduction";

    lapwing_reduction(lapwing_runtime* of, lapwing::detail::bindings::AnyReduction made)
        : runtime{of}, reduction{std::move(made)} {}

    lapwing::detail::bindings::OnRuntime runtime;
    lapwing::detail::bindings::AnyReduction reduction;
};

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

int lapwing_array_sum_along(lapwing_array* array, int dimension, const lapwing_slice* target) {
    return guarded("lapwing_array_sum_along", [&] { carry_out(reduction_by(array, dimension, target, LAPWING_ADD)); });
}

int lapwing_array_min_along(lapwing_array* array, int dimension, const lapwing_slice* target) {
    return guarded("lapwing_array_min_along", [&] { carry_out(reduction_by(array, dimension, target, LAPWING_MIN)); });
}

int lapwing_array_max_along(lapwing_array* array, int dimension, const lapwing_slice* target) {
    return guarded("lapwing_array_max_along", [&] { carry_out(reduction_by(array, dimension, target, LAPWING_MAX)); });
}

int lapwing_array_reduce_along(lapwing_array* array, int dimension, const lapwing_slice* target, const void* identity,
                               uint64_t bytes, lapwing_accumulate_function accumulate, lapwing_combine_function combine,
                               void* context) {
    return guarded("lapwing_array_reduce_along", [&] {
        carry_out(reduction_by(array, dimension, target, Functions{identity, bytes, accumulate, combine, context}));
    });
}

int lapwing_reduction_create(lapwing_array* array, int dimension, const lapwing_slice* target, int operation,
                             lapwing_reduction** reduction) {
    return guarded("lapwing_reduction_create", [&] {
        const ArrayInside& inside = inside_of(array);
        before_collective(inside.array.team(), [&] { require_pointer(reduction, "reduction"); });
        *reduction =
            Handles<lapwing_reduction>::make(inside.runtime.get(), reduction_by(array, dimension, target, operation));
    });
}

int lapwing_reduction_create_function(lapwing_array* array, int dimension, const lapwing_slice* target,
                                      const void* identity, uint64_t bytes, lapwing_accumulate_function accumulate,
                                      lapwing_combine_function combine, void* context, lapwing_reduction** reduction) {
    return guarded("lapwing_reduction_create_function", [&] {
        const ArrayInside& inside = inside_of(array);
        before_collective(inside.array.team(), [&] { require_pointer(reduction, "reduction"); });
        *reduction = Handles<lapwing_reduction>::make(
            inside.runtime.get(),
            reduction_by(array, dimension, target, Functions{identity, bytes, accumulate, combine, context}));
    });
}

int lapwing_reduction_execute(lapwing_reduction* reduction) {
    return guarded("lapwing_reduction_execute", [&] { use(reduction).reduction.execute(); });
}

int lapwing_reduction_free(lapwing_reduction** reduction) {
    return guarded("lapwing_reduction_free", [&] {
        require_pointer(reduction, "reduction");
        if (*reduction == nullptr) return;
        use(*reduction).reduction.close();
        end_handle(reduction);
    });
}

int lapwing_reduction_leave(lapwing_reduction** reduction) {
    return guarded("lapwing_reduction_leave", [&] {
        require_pointer(reduction, "reduction");
        if (*reduction == nullptr) return;
        (void)use(*reduction);
        leave([&] { end_handle(reduction); });
    });
}

} // extern "C"
