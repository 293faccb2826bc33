// Room: slices
#pragma once

#include <lapwing/detail/config.hpp>
#include <lapwing/detail/slice_shape.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace lapwing {

template <class T, std::size_t M>
class ArraySlice;

namespace detail::slices {

class AssignmentState;

/// Elements that lie `stride` bytes apart in blocks of `block` neighbours, and as many that lie one behind the other.
struct ElementRun {
    std::byte* target = nullptr;
    std::int64_t stride = 0;
    std::uint64_t blocks = 0;
    std::uint64_t block = 0; ///< in elements
    const std::byte* values = nullptr;
};
/// What becomes of elements and the values for them, where that is not a copy.
using ApplyValues = std::function<void(const ElementRun&)>;

template <class T, class U, class Function>
[[nodiscard]] ApplyValues apply_values(Function function) {
    return [function = std::move(function)](const ElementRun& run) mutable {
        const std::byte* value = run.values;
        for (std::uint64_t b = 0; b < run.blocks; ++b) {
            // Elements of an array are aligned; values come in buffers that are, and have no other elements between
            // them.
            T* const target = reinterpret_cast<T*>(run.target + static_cast<std::int64_t>(b) * run.stride);
            const U* const values = reinterpret_cast<const U*>(value);
            for (std::uint64_t k = 0; k < run.block; ++k) function(target[k], values[k]);
            value += run.block * sizeof(U);
        }
    };
}

} // namespace detail::slices

/// Assignments between slices of global arrays, whatever their distributions, that are carried out together, as often
/// as needed.
///
/// ```cpp
/// lapwing::Assignment to_cyclic;
/// to_cyclic.add(x(all), a(all)).add(y(all), b(all));
/// for (…) to_cyclic.execute();                       // both at a time, two barriers
/// std::puts(to_cyclic.explain().c_str());
/// ```
///
/// What a rank has of a target and another rank of the source is one transfer, with a layout on either side, that the
/// cost model plans; between ranks of a node it is a copy. All are started before the first is waited for, as far as
/// memory for chunks goes, and each rank begins with the rank behind it. The common part of two ranks follows from the
/// periods of the two distributions, dimension by dimension, without a look at each element (Sanz et al., "Global data
/// re-allocation via communication aggregation in Chapel", section III), but for distributions of the program's own,
/// which are asked for each run. A transfer is a get by the rank of the target or a put by that of the source,
/// whichever finds longer blocks at the other rank.
///
/// Kept assignments stay valid while their arrays are open, also when these are moved or swapped: they go with the
/// elements, not with the name.
class Assignment {
public:
    Assignment();
    Assignment(Assignment&&) noexcept;
    Assignment& operator=(Assignment&&) noexcept;
    ~Assignment();

    /// `target = source`. Local call; nothing is moved yet. Throws RangeError when the extents differ, UsageError for
    /// closed arrays and for teams of other ranks. Slices of one array may overlap: each assignment is as if through a
    /// copy, for which the rank then needs memory of its part of the target. Those of one Assignment happen in no
    /// order: the target of one must not be in another.
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
    /// above. Where the function may throw (it is not noexcept) an execution keeps what the rank's part of the target
    /// was, in as much memory.
    template <class T, class U, std::size_t M, class Function>
        requires(!std::is_const_v<T> && std::invocable<Function&, T&, const U&>)
    Assignment& add(const ArraySlice<T, M>& target, const ArraySlice<U, M>& source, Function function) {
        constexpr bool may_throw = !std::is_nothrow_invocable_v<Function&, T&, const std::remove_const_t<U>&>;
        add_slices(target, source, detail::slices::apply_values<T, std::remove_const_t<U>>(std::move(function)),
                   may_throw);
        return *this;
    }
    /// Each element of the target becomes `value`.
    template <class T, std::size_t M>
        requires(!std::is_const_v<T>)
    Assignment& add_fill(const ArraySlice<T, M>& target, const T& value) {
        add_value(target, &value);
        return *this;
    }

    /// The same for slices whose types the program knows at run time only: `apply` is called with runs of elements, and
    /// where it is empty the elements are copied, which then have the same size. It may throw. `value` has as many
    /// bytes as an element of the target.
    Assignment& add_untyped(const detail::slices::SliceBase& target, const detail::slices::SliceBase& source,
                            detail::slices::ApplyValues apply) {
        const bool may_throw = apply != nullptr;
        add_slices(target, source, std::move(apply), may_throw);
        return *this;
    }
    Assignment& add_untyped_fill(const detail::slices::SliceBase& target, const void* value) {
        add_value(target, value);
        return *this;
    }

    /// Collective over the team of the targets, with the same slices on all ranks: a barrier, the transfers, a barrier.
    /// `compare`: the arrays and slices are compared as part of the first barrier. What any rank wrote to the sources
    /// before is read, and on return every rank sees the targets. Throws UsageError when an array was closed,
    /// MismatchError, PeerLeftError, MpiError, and what a function throws. An error of one rank is one of all: the
    /// others throw UsageError with its text. Functions that may throw come before all copies, and after an error of
    /// one all targets are what they were; after an error of a transfer, or of memory, targets of copies hold anything.
    /// The first call plans; later ones find the plans, but where a rank has very many partners.
    void execute(bool compare = assertion_level >= 1);

    /// Transfers of this rank in each execution, which are to ranks of other nodes, and their bytes.
    [[nodiscard]] std::uint64_t transfers() const;
    [[nodiscard]] std::uint64_t bytes() const;
    /// What this rank will send and copy: a line for each assignment and each partner.
    [[nodiscard]] std::string explain() const;

private:
    void add_slices(const detail::slices::SliceBase& target, const detail::slices::SliceBase& source,
                    detail::slices::ApplyValues apply, bool may_throw = false);
    void add_value(const detail::slices::SliceBase& target, const void* value);

    std::unique_ptr<detail::slices::AssignmentState> state_;
};

} // namespace lapwing
