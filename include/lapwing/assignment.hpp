// Room: slices
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/detail/config.hpp>
#include <lapwing/detail/slice_shape.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lapwing {

template <class T, std::size_t M>
class ArraySlice;

namespace detail::slices {

class AssignmentState;

/// Elements `stride` bytes apart in blocks of `block` neighbours, and as many values that are contiguous.
struct ElementRun {
    std::byte* target = nullptr;
    std::int64_t stride = 0;
    std::uint64_t blocks = 0;
    std::uint64_t block = 0; ///< in elements
    const std::byte* values = nullptr;
};
/// What is done with elements and the values for them, unless they are copied.
using ApplyValues = std::function<void(const ElementRun&)>;
/// The same with values of several sources, each contiguous, in place of those of the run.
using ApplySources = std::function<void(const ElementRun&, std::span<const std::byte* const>)>;

template <class T, class U, class Function>
[[nodiscard]] ApplyValues apply_values(Function function) {
    return [function = std::move(function)](const ElementRun& run) mutable {
        const std::byte* value = run.values;
        for (std::uint64_t b = 0; b < run.blocks; ++b) {
            // Elements of an array are aligned; values are in aligned buffers, without other elements between them.
            T* const target = reinterpret_cast<T*>(run.target + static_cast<std::int64_t>(b) * run.stride);
            const U* const values = reinterpret_cast<const U*>(value);
            for (std::uint64_t k = 0; k < run.block; ++k) function(target[k], values[k]);
            value += run.block * sizeof(U);
        }
    };
}

template <class T, class... U, class Function>
[[nodiscard]] ApplySources apply_sources(Function function) {
    return [function = std::move(function)](const ElementRun& run, std::span<const std::byte* const> values) mutable {
        [&]<std::size_t... K>(std::index_sequence<K...>) {
            std::tuple<const U*...> next{reinterpret_cast<const U*>(values[K])...};
            for (std::uint64_t b = 0; b < run.blocks; ++b) {
                T* const target = reinterpret_cast<T*>(run.target + static_cast<std::int64_t>(b) * run.stride);
                for (std::uint64_t k = 0; k < run.block; ++k)
                    target[k] = static_cast<T>(function(std::get<K>(next)[k]...));
                ((std::get<K>(next) += run.block), ...);
            }
        }(std::index_sequence_for<U...>{});
    };
}

/// What may be assigned to elements of T from elements of these types.
template <class Function, class T, class... U>
concept ElementFunction = !std::is_const_v<T> && std::invocable<Function&, const std::remove_const_t<U>&...> &&
                          std::convertible_to<std::invoke_result_t<Function&, const std::remove_const_t<U>&...>, T>;

} // namespace detail::slices

/// Assignments between slices of global arrays, whatever their distributions, that are carried out together, as often
/// as needed.
///
/// ```cpp
/// lapwing::Assignment to_cyclic;
/// to_cyclic.add(x(all), a(all)).add(y(all), b(all));
/// for (…) to_cyclic.execute();                       // both at a time, two barriers
/// std::puts(to_cyclic.explain().c_str());
///
/// lapwing::Completion moved = to_cyclic.start();     // or: the elements travel
/// compute();                                         // while the rank works on other arrays
/// moved.wait();
/// ```
///
/// What a rank has of a target and another rank of the source is one transfer, with a layout on either side, that the
/// cost model plans; between ranks of a node it is a copy. All are started before the first is waited for, as far as
/// there is memory for chunks, and each rank begins with the next rank. The common part of two ranks follows from the
/// periods of the two distributions, dimension by dimension, without visiting each element (Sanz et al., "Global data
/// re-allocation via communication aggregation in Chapel", section III); only user-defined distributions are queried
/// run by run. A transfer is a get by the rank of the target or a put by that of the source, whichever sees longer
/// blocks at the other rank.
///
/// Kept assignments are valid while their arrays are open, also when these are moved or swapped: they follow the
/// elements, not the name.
class Assignment {
public:
    Assignment();
    Assignment(Assignment&&) noexcept;
    Assignment& operator=(Assignment&&) noexcept;
    ~Assignment();

    /// `target = source`. Local call; nothing is moved yet. Throws RangeError if the extents differ, UsageError for
    /// closed arrays and for teams of different ranks. Slices of one array may overlap: the assignment then acts as if
    /// through a copy, for which the rank needs memory of the size of its part of the target. The assignments of one
    /// Assignment are unordered: the target of one must not be in another.
    template <class T, class U, std::size_t M>
        requires(!std::is_const_v<T> && std::convertible_to<U, T>)
    Assignment& add(const ArraySlice<T, M>& target, const ArraySlice<U, M>& source) {
        if constexpr (std::same_as<T, std::remove_const_t<U>>) {
            add_slices(target, source, {});
            return *this;
        } else {
            return add(target, source, [](T& element, const U& value) noexcept(noexcept(static_cast<T>(value))) {
                element = static_cast<T>(value);
            });
        }
    }
    /// `function(element of the target, element of the source)` for each pair, by the owner of the first. Throws as
    /// above. If the function may throw (it is not noexcept), an execution saves the rank's part of the target, in
    /// memory of the same size.
    template <class T, class U, std::size_t M, class Function>
        requires(!std::is_const_v<T> && std::invocable<Function&, T&, const U&>)
    Assignment& add(const ArraySlice<T, M>& target, const ArraySlice<U, M>& source, Function function) {
        constexpr bool may_throw = !std::is_nothrow_invocable_v<Function&, T&, const std::remove_const_t<U>&>;
        add_slices(target, source, detail::slices::apply_values<T, std::remove_const_t<U>>(std::move(function)),
                   may_throw);
        return *this;
    }
    /// `target = function(first, others…)`: each element becomes the function's value of the elements at its place in
    /// the sources, which may be of any types and distributions; Chapel calls it promotion. The target may be a source,
    /// too. Throws as above. The owner calls the function once for each of its elements, in any order.
    ///
    /// Each source is moved as above, with a transfer for each pair of ranks, for one piece of the rank's part of the
    /// target after another: the values of all sources for a piece are at most 1 MiB, on more than 32 ranks 32 KiB a
    /// rank up to 4 MiB; execute() has four pieces under way, start() up to 16 MiB, in memory that the assignment
    /// keeps. If a source is of the target's array, and overlaps the target with other elements, the rank needs memory
    /// for all values. If the function may throw, as above. Of a target under a user-defined distribution each local
    /// domain is at least one piece.
    template <class T, std::size_t M, class Function, class U, class... V>
        requires detail::slices::ElementFunction<Function, T, U, V...>
    Assignment& add(const ArraySlice<T, M>& target, Function function, const ArraySlice<U, M>& first,
                    const ArraySlice<V, M>&... others) {
        constexpr bool may_throw = !std::is_nothrow_invocable_r_v<T, Function&, const std::remove_const_t<U>&,
                                                                  const std::remove_const_t<V>&...>;
        if constexpr (sizeof...(V) == 0) { // applied as the values arrive
            return add(
                target, first,
                [function = std::move(function)](T& element, const std::remove_const_t<U>& value) mutable noexcept(
                    !may_throw) { element = static_cast<T>(function(value)); });
        } else {
            const detail::slices::SliceBase* const sources[] = {&first, &others...};
            add_sources(target, sources,
                        detail::slices::apply_sources<T, std::remove_const_t<U>, std::remove_const_t<V>...>(
                            std::move(function)),
                        may_throw);
            return *this;
        }
    }
    /// Each element of the target becomes `value`.
    template <class T, std::size_t M>
        requires(!std::is_const_v<T>)
    Assignment& add_fill(const ArraySlice<T, M>& target, const T& value) {
        add_value(target, &value);
        return *this;
    }

    /// The same for slices whose types are known only at run time: `apply` is called with runs of elements. If it is
    /// empty the elements are copied, and must have the same size. `value` has as many bytes as an element of the
    /// target.
    Assignment& add_untyped(const detail::slices::SliceBase& target, const detail::slices::SliceBase& source,
                            detail::slices::ApplyValues apply, bool may_throw = true) {
        may_throw = may_throw && apply != nullptr;
        add_slices(target, source, std::move(apply), may_throw);
        return *this;
    }
    Assignment& add_untyped_sources(const detail::slices::SliceBase& target,
                                    std::span<const detail::slices::SliceBase* const> sources,
                                    detail::slices::ApplySources apply, bool may_throw = true) {
        add_sources(target, sources, std::move(apply), may_throw);
        return *this;
    }
    Assignment& add_untyped_fill(const detail::slices::SliceBase& target, const void* value) {
        add_value(target, value);
        return *this;
    }

    /// Collective over the team of the targets, with the same slices on all ranks: a barrier, the transfers, a barrier.
    /// `compare`: whether the first barrier also compares the arrays and slices. It reads what any rank wrote to the
    /// sources before, and on return every rank sees the targets. Throws UsageError if an array is closed,
    /// MismatchError, PeerLeftError, MpiError, and what a function throws. An error on one rank is an error on all: the
    /// others throw UsageError with its text. Functions that may throw run before all copies, and after an error in one
    /// all targets are unchanged; after an error of a transfer, or of memory, the targets of copies are undefined. The
    /// first call plans; later ones reuse the plans, unless a rank has very many partners.
    void execute(bool compare = assertion_level >= 1);
    /// The same in two halves, for work in between. Collective: the barrier at the start, and all transfers are
    /// started, as far as there is memory for chunks; what the node shares is copied. wait() of the result is
    /// collective, too: the rest of the transfers, and the barrier at the end. All ranks call it at the same place in
    /// the order of the team's collective calls, of which others may come in between; if ranks wait for different
    /// assignments of one team it throws MismatchError on all.
    ///
    /// From start() to wait() no rank may write an element of a source, nor read or write one of a target, nor execute,
    /// start or extend this Assignment: it throws UsageError. It may be destroyed, and the arrays may be moved; wait()
    /// throws UsageError if an array was closed, resized or redistributed.
    ///
    /// test() of the result makes progress on this rank's transfers, and starts their next chunks; call it now and then
    /// in a long computation. It returns false, since the end is collective. Errors as in execute(): those of a
    /// transfer or a function are thrown by wait(), on all ranks. A Completion that is destroyed waits as wait() does;
    /// while an exception unwinds the stack, for this rank's transfers only, and without the barrier. Of an Assignment
    /// with functions that may throw, only the parts with these start here, and the others in wait().
    [[nodiscard]] Completion start(bool compare = assertion_level >= 1);

    /// Collective: an assignment to which `add` adds, for one execution. What it throws on one rank, where the slices
    /// do not conform, say, ends the call on all: the others throw UsageError with its text. `slices`: those that it
    /// adds, the target first, and null for one that is missing.
    template <std::invocable<Assignment&> Add>
    static void once(std::span<const detail::slices::SliceBase* const> slices, Add&& add) {
        Assignment assignment;
        try {
            std::forward<Add>(add)(assignment);
        } catch (...) {
            refuse(slices, std::current_exception());
        }
        assignment.execute();
    }
    /// Collective, where other ranks call execute() or start(), and this one cannot: throws the problem, and on those
    /// UsageError with its text.
    [[noreturn]] void refuse(const std::exception_ptr& problem) const;

    /// This rank's transfers in each execution, to ranks of other nodes, and their bytes.
    [[nodiscard]] std::uint64_t transfers() const;
    [[nodiscard]] std::uint64_t bytes() const;
    /// Describes what this rank will send and copy: a line for each assignment and each partner.
    [[nodiscard]] std::string explain() const;

private:
    void add_slices(const detail::slices::SliceBase& target, const detail::slices::SliceBase& source,
                    detail::slices::ApplyValues apply, bool may_throw = false);
    void add_sources(const detail::slices::SliceBase& target, std::span<const detail::slices::SliceBase* const> sources,
                     detail::slices::ApplySources apply, bool may_throw);
    void add_value(const detail::slices::SliceBase& target, const void* value);
    [[noreturn]] static void refuse(std::span<const detail::slices::SliceBase* const> slices,
                                    const std::exception_ptr& problem);

    std::shared_ptr<detail::slices::AssignmentState> state_; ///< shared with what start() returns
};

} // namespace lapwing
