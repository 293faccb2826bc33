// Room: arrays
#pragma once

#include <lapwing/array_base.hpp>
#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/reduction.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lapwing {

namespace detail::arrays {

/// Operations whose order does not matter, so that a loop may combine several values at a time.
struct Sum {
    /// The sum.
    template <class R>
    [[nodiscard]] R operator()(const R& a, const R& b) const noexcept(noexcept(static_cast<R>(a + b))) {
        return static_cast<R>(a + b);
    }
};
/// As above.
struct Smaller {
    /// The smaller one.
    template <class R>
    [[nodiscard]] R operator()(R a, R b) const noexcept {
        return b < a ? b : a; // not a NaN
    }
};
/// As above.
struct Larger {
    /// The larger one.
    template <class R>
    [[nodiscard]] R operator()(R a, R b) const noexcept {
        return a < b ? b : a;
    }
};
template <class Combine, class R>
concept AnyOrder =
    Summable<R> && (std::same_as<Combine, Sum> || std::same_as<Combine, Smaller> || std::same_as<Combine, Larger>);

[[noreturn]] void throw_no_dimension(const Team& team, std::size_t dimension, std::size_t dimensions);
[[noreturn]] void throw_reduced_extents(const Team& team, std::size_t dimension, std::span<const std::int64_t> extents,
                                        std::span<const std::int64_t> target);

/// How the partial results of a reduction along a dimension are distributed: as the array, but with one index for each
/// process of that dimension.
struct PartialResults {
    std::vector<std::int64_t> extents = {}; ///< of their array
    std::vector<std::int64_t> blocks = {};  ///< of BlockCyclic; they are replicated as the array is
    std::vector<int> grid = {};             ///< the same
    int process = 0;                        ///< this rank's, in the dimension
    bool all_indices = false;               ///< a row of them has all indices, whoever has those of the array
};
/// Local call. `maps` are those of the array's dimensions; empty for a distribution of the program's own.
[[nodiscard]] PartialResults partial_results(const Team& team, std::span<const std::int64_t> extents,
                                             std::span<const distribution::DimensionMap> maps, bool replicated,
                                             std::size_t dimension);

/// One index, or all of them.
template <bool One>
[[nodiscard]] auto part_at(std::int64_t index) {
    if constexpr (One) return index;
    else return all;
}
/// The part of an array at one index of a dimension: the slice has all other dimensions.
template <std::size_t D = 0, class T, std::size_t N>
[[nodiscard]] ArraySlice<T, N - 1> plane_of(const ArraySlice<T, N>& whole, std::size_t dimension, std::int64_t index) {
    if constexpr (D + 1 < N) {
        if (dimension != D) return plane_of<D + 1>(whole, dimension, index);
    }
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
        return whole(part_at < K == D > (index)...);
    }(std::make_index_sequence<N>{});
}

} // namespace detail::arrays

/// The reduction of an array along one dimension, kept so that it can be carried out again: element (i, k) of the
/// target becomes combine(…combine(combine(identity, a(i, 0, k)), a(i, 1, k))…), for dimension 1.
///
/// ```cpp
/// lapwing::GlobalArray<double, 1> totals{runtime, {n}};
/// lapwing::DimensionReduction sums{a, 1, totals.slice(), 0.0, std::plus<>{}}; // a is n x m
/// for (…) sums.execute();                                                     // totals(i): the sum of row i
/// sums.close();
/// ```
///
/// Each rank first combines its own elements; then a tree combines the results of the processes that share a row; then
/// an Assignment moves the results to the target, whatever its distribution. So every process sends at most as many
/// values as it has rows (of other dimensions' indices), in each of log2(processes of the dimension) steps.
///
/// `combine` must be associative, and `identity` neutral to it. A process combines its elements in ascending order, and
/// the processes are combined in ascending order. So a `combine` that does not commute gives the result in the order of
/// the indices where each process has one block of the dimension (Block, or a dimension that is not distributed); a
/// sum, minimum or maximum of numbers by sum_along() and the like combines several at a time. Results are the same in
/// each execution. Elements that the distribution does not store are left out.
///
/// The arrays must be neither closed, moved nor resized while it is in use.
template <TriviallyCopyable T, std::size_t N, detail::arrays::Reducible R, class Combine>
class DimensionReduction {
    static_assert(N >= 2, "lapwing: an array of one dimension is reduced to a value, by GlobalArray::reduce()");

public:
    /// Collective. Memory: an array with one value for each row and process of the dimension (with a user-defined
    /// distribution, for each row and rank). Throws RangeError on all ranks if there is no such dimension, or the
    /// target's extents are not those of the array's other dimensions; also what GlobalArray's constructor throws.
    template <class U>
        requires(!std::is_const_v<U> && std::convertible_to<R, U>)
    DimensionReduction(const GlobalArray<T, N>& array, std::size_t dimension, const ArraySlice<U, N - 1>& target,
                       R identity, Combine combine)
        : array_{&array},
          dimension_{dimension},
          identity_{std::move(identity)},
          combine_{std::move(combine)},
          partials_{make_partials(array, dimension, target.extents())} {
        try {
            add_steps();
            last_.add(target, detail::arrays::plane_of(partials_.slice(), dimension, 0));
        } catch (...) { // on every rank
            partials_.close();
            throw;
        }
    }

    /// Collective: barriers, two for each step of the tree and two for the target. It reads what any rank wrote to the
    /// array before, and on return every rank sees the target. What `combine` throws on one rank is thrown there, and
    /// UsageError on the others; the target then is what it was. Throws what Assignment::execute() throws.
    void execute() {
        array_->require_open(".reduce_along");
        const std::array<std::int64_t, 1> dimension{static_cast<std::int64_t>(dimension_)};
        array_->begin_collective("reduce_along", "the dimension", dimension);
        // Besides `combine`, a distribution of the program's may throw.
        if (noexcept_ && array_->core_.user_map == nullptr) combine_own();
        else array_->end_collective(".reduce_along", [this] { combine_own(); }, "the target is what it was");
        for (Assignment& step : steps_) step.execute();
        last_.execute();
    }
    /// Collective. Frees the memory of the partial results.
    void close() { partials_.close(); }

private:
    static constexpr bool noexcept_ = std::is_nothrow_invocable_v<Combine&, const R&, const T&> &&
                                      std::is_nothrow_invocable_v<Combine&, const R&, const R&>;

    /// Shaped as the array, except that the dimension has one index for each process: that process's results.
    [[nodiscard]] GlobalArray<R, N> make_partials(const GlobalArray<T, N>& array, std::size_t dimension,
                                                  const Extents<N - 1>& target) {
        array.require_open(".reduce_along");
        Index<N> extents = array.extents().values();
        detail::arrays::before_collective(array.team(), [&] {
            if (dimension >= N) detail::arrays::throw_no_dimension(array.team(), dimension, N);
            Index<N - 1> rest{};
            for (std::size_t d = 0; d < N; ++d)
                if (d != dimension) rest[d < dimension ? d : d - 1] = extents[d];
            if (Extents<N - 1>{rest} != target)
                detail::arrays::throw_reduced_extents(array.team(), dimension, extents, target.values());
        });
        const GlobalArrayOptions options{.name = "partial results of " + std::string{array.name()}};
        const detail::arrays::PartialResults made = detail::arrays::partial_results(
            array.team(), extents, array.dimension_maps(), array.core_.replicated, dimension);
        process_ = made.process;
        all_indices_ = made.all_indices;
        extents[dimension] = made.extents[dimension];
        if (array.core_.replicated) return {array.team(), Extents<N>{extents}, Replicated{}, options};
        return {array.team(), Extents<N>{extents}, BlockCyclic{.block = made.blocks, .grid = made.grid}, options};
    }
    /// Pairs of processes, then pairs of pairs.
    void add_steps() {
        const std::int64_t processes = partials_.extent(dimension_);
        for (std::int64_t distance = 1; distance < processes; distance *= 2) {
            const auto pairs = static_cast<std::uint64_t>((processes - distance - 1) / (2 * distance) + 1);
            const auto every_other = [&](std::int64_t first) {
                std::array<Range, N> ranges = partials_.domain().ranges();
                ranges[dimension_] = Range::strided(first, pairs, 2 * distance);
                return partials_(Domain<N>{ranges});
            };
            steps_.emplace_back().add(every_other(0), every_other(distance),
                                      [combine = combine_](R& left, const R& right) mutable noexcept(noexcept_) {
                                          left = static_cast<R>(combine(std::as_const(left), right));
                                      });
        }
    }
    [[nodiscard]] R* partial(const Index<N>& index) const noexcept {
        return partials_.segment() + partials_.core_.map.locate(index).offset;
    }
    void combine_own() {
        partials_.for_each_run([this](const Index<N>&, R* values, std::uint64_t count, std::int64_t) {
            std::fill_n(values, count, identity_);
        });
        array_->for_each_run([&](Index<N> index, const T* data, std::uint64_t count, std::int64_t index_stride) {
            index[dimension_] = process_;
            R* const values = partial(index);
            if (dimension_ == N - 1) return combine_all(*values, data, count);
            const std::int64_t step = all_indices_ ? index_stride : 1;
            for (std::uint64_t k = 0; k < count; ++k) {
                R& value = values[static_cast<std::int64_t>(k) * step];
                value = static_cast<R>(combine_one(value, data[k]));
            }
        });
    }
    void combine_all(R& value, const T* data, std::uint64_t count) {
        if constexpr (detail::arrays::AnyOrder<Combine, R>) {
            detail::arrays::Chains chains{identity_, combine_};
            chains.add(data, count);
            value = combine_(value, chains.result());
        } else {
            for (std::uint64_t k = 0; k < count; ++k) value = static_cast<R>(combine_one(value, data[k]));
        }
    }
    [[nodiscard]] auto combine_one(const R& value, const T& element) {
        if constexpr (detail::arrays::AnyOrder<Combine, R>) return combine_(value, static_cast<R>(element));
        else return combine_(value, element);
    }

    const GlobalArray<T, N>* array_;
    std::size_t dimension_;
    R identity_;
    Combine combine_;
    int process_ = 0; ///< this rank's, in the dimension
    bool all_indices_ = false;
    mutable GlobalArray<R, N> partials_; ///< whose making sets these
    std::vector<Assignment> steps_;
    Assignment last_;
};

namespace detail::arrays {

/// Executes a reduction along a dimension that is made for this alone.
template <class Reduction>
void execute_once(Reduction& reduction) {
    try {
        reduction.execute();
    } catch (...) { // on every rank
        reduction.close();
        throw;
    }
    reduction.close();
}

} // namespace detail::arrays

/// Collective. Reduces an array along one dimension into a slice with the other dimensions, of any distribution and
/// type: see DimensionReduction, which is made for one execution.
template <TriviallyCopyable T, std::size_t N, class U, detail::arrays::Reducible R, class Combine>
    requires(N >= 2)
void reduce_along(const GlobalArray<T, N>& array, std::size_t dimension, const ArraySlice<U, N - 1>& target, R identity,
                  Combine combine) {
    DimensionReduction<T, N, R, Combine> reduction{array, dimension, target, std::move(identity), std::move(combine)};
    detail::arrays::execute_once(reduction);
}

/// Collective. The sum, the smallest or the largest along one dimension: `sum_along(a, 1, totals.slice())` sets
/// totals(i) to the sum of a(i, j) over all j. Numbers are added in the type of GlobalArray::sum(), other types with +
/// in their own. Of no elements, the minimum is infinity or the type's largest value, and the maximum the opposite.
template <TriviallyCopyable T, std::size_t N, class U>
    requires(N >= 2)
void sum_along(const GlobalArray<T, N>& array, std::size_t dimension, const ArraySlice<U, N - 1>& target) {
    if constexpr (detail::arrays::Summable<T>) {
        reduce_along(array, dimension, target, detail::arrays::SumOf<T>{}, detail::arrays::Sum{});
    } else if constexpr (detail::arrays::check_addable<T>()) {
        reduce_along(array, dimension, target, T{}, detail::arrays::Sum{});
    }
}
template <detail::arrays::Summable T, std::size_t N, class U>
    requires(N >= 2)
void min_along(const GlobalArray<T, N>& array, std::size_t dimension, const ArraySlice<U, N - 1>& target) {
    reduce_along(array, dimension, target, detail::arrays::largest_value<T>(), detail::arrays::Smaller{});
}
template <detail::arrays::Summable T, std::size_t N, class U>
    requires(N >= 2)
void max_along(const GlobalArray<T, N>& array, std::size_t dimension, const ArraySlice<U, N - 1>& target) {
    reduce_along(array, dimension, target, detail::arrays::smallest_value<T>(), detail::arrays::Larger{});
}

/// Collective. The same, into a new array with one dimension fewer, which is replicated unless a distribution is given:
/// `const auto totals = lapwing::sum_along(a, 1);`.
template <TriviallyCopyable T, std::size_t N, detail::arrays::Reducible R, class Combine, class D = Replicated>
    requires(N >= 2 && Distribution<D, N - 1>)
[[nodiscard]] GlobalArray<R, N - 1> reduced_along(const GlobalArray<T, N>& array, std::size_t dimension, R identity,
                                                  Combine combine, const D& distribution = {}) {
    Index<N - 1> extents{};
    for (std::size_t d = 0; d + 1 < N; ++d) extents[d] = array.extent(d < dimension ? d : d + 1);
    GlobalArray<R, N - 1> result{array.team(), Extents<N - 1>{extents}, distribution};
    try {
        reduce_along(array, dimension, result.slice(), std::move(identity), std::move(combine));
    } catch (...) { // on every rank
        result.close();
        throw;
    }
    return result;
}
template <TriviallyCopyable T, std::size_t N, class D = Replicated>
    requires(N >= 2 && Distribution<D, N - 1>)
[[nodiscard]] auto sum_along(const GlobalArray<T, N>& array, std::size_t dimension, const D& distribution = {}) {
    if constexpr (detail::arrays::Summable<T>)
        return reduced_along(array, dimension, detail::arrays::SumOf<T>{}, detail::arrays::Sum{}, distribution);
    else if constexpr (detail::arrays::check_addable<T>())
        return reduced_along(array, dimension, T{}, detail::arrays::Sum{}, distribution);
}
template <detail::arrays::Summable T, std::size_t N, class D = Replicated>
    requires(N >= 2 && Distribution<D, N - 1>)
[[nodiscard]] GlobalArray<T, N - 1> min_along(const GlobalArray<T, N>& array, std::size_t dimension,
                                              const D& distribution = {}) {
    return reduced_along(array, dimension, detail::arrays::largest_value<T>(), detail::arrays::Smaller{}, distribution);
}
template <detail::arrays::Summable T, std::size_t N, class D = Replicated>
    requires(N >= 2 && Distribution<D, N - 1>)
[[nodiscard]] GlobalArray<T, N - 1> max_along(const GlobalArray<T, N>& array, std::size_t dimension,
                                              const D& distribution = {}) {
    return reduced_along(array, dimension, detail::arrays::smallest_value<T>(), detail::arrays::Larger{}, distribution);
}

} // namespace lapwing
