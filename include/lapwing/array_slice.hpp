// Room: slices
#pragma once

#include <lapwing/assignment.hpp>
#include <lapwing/checkpoint.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/local_view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace lapwing {

/// Part of a global array, in any order, seen as an array of M dimensions with positions starting at 0. Making a slice
/// moves nothing.
///
/// ```cpp
/// a(Range{0, n}.by(2), all) = b(Range{0, n / 2}, Range{n, 2 * n}); // collective: any two distributions
/// plane = cube(all, 3, all);                                       // two dimensions of three
/// a(all, all) = b(all, all).transposed();
/// a(rows, columns) += b(rows, reversed(columns));
/// a(rows, all).get(buffer);                                        // one rank alone
/// ```
///
/// A slice refers to the array: it is valid while that is open, also after the array is moved. Assigning to a slice
/// assigns elements, as with std::valarray; to refer to another slice, make a new one. `const T` means a slice of a
/// const array.
///
/// An assignment is collective over the arrays' team, with a barrier at the start and one at the end: all ranks must
/// pass the same slices. What a pair of ranks has in common is moved as one transfer. Class Assignment carries it out,
/// and documents what it costs and what is complete when; for repeated assignments keep one of these.
template <class T, std::size_t M>
class ArraySlice : public detail::slices::SliceBase {
public:
    using value_type = std::remove_const_t<T>;

    /// All of an array. Made by GlobalArray.
    explicit ArraySlice(const std::shared_ptr<const detail::slices::ArrayGeometry>& array) : SliceBase{array} {}
    /// The indices of a domain, or none if that is empty. Throws RangeError.
    ArraySlice(const std::shared_ptr<const detail::slices::ArrayGeometry>& array, const Domain<M>& domain)
        : SliceBase{array, domain.ranges()} {}
    /// Another slice of the same elements.
    ArraySlice(const ArraySlice&) = default;
    /// A read-only slice.
    template <class U>
        requires(std::same_as<const U, T> && !std::same_as<U, T>)
    ArraySlice(const ArraySlice<U, M>& other) : SliceBase{other} {}
    ~ArraySlice() = default;

    /// Number of dimensions.
    [[nodiscard]] static constexpr std::size_t dimensions() noexcept { return M; }
    /// Positions in a dimension, which must be less than dimensions(), and in all.
    [[nodiscard]] std::int64_t extent(std::size_t dimension) const {
        return static_cast<std::int64_t>(shape().dimensions[dimension].indices.size());
    }
    [[nodiscard]] Extents<M> extents() const {
        Index<M> extents;
        for (std::size_t d = 0; d < M; ++d) extents[d] = extent(d);
        return extents;
    }

    /// A slice of the slice, by positions: for each dimension a Range or a Triplet, `all`, or one position. Throws
    /// RangeError.
    template <SliceArgument... S>
        requires(sizeof...(S) == M)
    [[nodiscard]] auto operator()(const S&... parts) const {
        constexpr std::size_t left = (std::size_t{0} + ... + (IndexValue<S> ? 0U : 1U));
        static_assert(left > 0,
                      "lapwing: a slice has at least one dimension; read a single element from the array, a(i, j)");
        return ArraySlice<T, left>{*this, {{detail::slices::SlicePart::of(parts)...}}};
    }
    /// The dimensions in reverse order.
    [[nodiscard]] ArraySlice transposed() const {
        std::array<std::size_t, M> order;
        for (std::size_t d = 0; d < M; ++d) order[d] = M - 1 - d;
        return permuted(order);
    }
    /// Dimension d of the result is dimension order[d] of this slice. Throws RangeError unless each occurs exactly
    /// once.
    [[nodiscard]] ArraySlice permuted(const std::array<std::size_t, M>& order) const {
        ArraySlice result{*this};
        result.permute(order);
        return result;
    }

    // Assignments: collective. Throw RangeError if the extents differ; UsageError for arrays that are closed or belong
    // to other ranks, and where the extents differ on another rank.

    /// Assigns the elements of `source`, as if they were all copied before any is written.
    const ArraySlice& operator=(const ArraySlice& source) const
        requires(!std::is_const_v<T>)
    {
        assign_elements(source);
        return *this;
    }
    /// The same from arrays of other types, converted by static_cast.
    template <class U>
        requires(!std::is_const_v<T> && std::convertible_to<U, T>)
    const ArraySlice& operator=(const ArraySlice<U, M>& source) const {
        assign_elements(source);
        return *this;
    }
    /// Combines each element with that of the source, at the owner, without a race.
    template <class U>
    const ArraySlice& operator+=(const ArraySlice<U, M>& source) const {
        return combine(source, [](T& target, const auto& value) noexcept(noexcept(static_cast<T>(target + value))) {
            target = static_cast<T>(target + value);
        });
    }
    template <class U>
    const ArraySlice& operator-=(const ArraySlice<U, M>& source) const {
        return combine(source, [](T& target, const auto& value) noexcept(noexcept(static_cast<T>(target - value))) {
            target = static_cast<T>(target - value);
        });
    }
    template <class U>
    const ArraySlice& operator*=(const ArraySlice<U, M>& source) const {
        return combine(source, [](T& target, const auto& value) noexcept(noexcept(static_cast<T>(target * value))) {
            target = static_cast<T>(target * value);
        });
    }
    /// The owner calls `function(target, value)` for each element: `a(x).combine(b(y), [](double& a, float b) { a = 2 *
    /// b + 3 * a; })`. If the function throws on any rank, the elements of all ranks stay as they were, and all ranks
    /// throw; a function that is noexcept needs less memory.
    template <class U, class Function>
    const ArraySlice& combine(const ArraySlice<U, M>& source, Function function) const {
        once([&](Assignment& assignment) { assignment.add(*this, source, std::move(function)); }, source);
        return *this;
    }
    /// Each element becomes `function(element of the first source, element of the second, …)`, of any number of slices
    /// with the same extents, whatever their types and distributions: `a(x).assign(std::plus{}, b(y), c(z))`. The owner
    /// calls the function once for each element; if it throws, as combine(). The target may be a source. Cost and
    /// memory: see Assignment.
    template <class Function, class... U>
        requires(sizeof...(U) > 0 && detail::slices::ElementFunction<Function, T, U...>)
    const ArraySlice& assign(Function function, const ArraySlice<U, M>&... sources) const {
        once([&](Assignment& assignment) { assignment.add(*this, std::move(function), sources...); }, sources...);
        return *this;
    }
    /// Each element becomes `value`.
    void fill(const value_type& value) const
        requires(!std::is_const_v<T>)
    {
        once([&](Assignment& assignment) { assignment.add_fill(*this, value); });
    }

    // One-sided: the calling rank alone. The buffer holds the elements in row-major order of the slice (last dimension
    // fastest) and may be larger: RangeError if it is too small, and nothing is moved. It may be part of this rank's
    // elements, of this array or of another, but must not overlap the elements that are moved. Cost: memory copies for
    // what is on this node; for each owner on another node a transfer that the cost model plans (see Plan), or a few
    // where blocks are dealt out. All are started, as far as there is memory for chunks, before the first is waited
    // for.

    /// On return the elements are in the buffer.
    void get(std::span<value_type> buffer) const {
        check_buffer(".get", buffer.size());
        SliceBase::get(reinterpret_cast<std::byte*>(buffer.data()), dense_strides());
    }
    /// Complete locally on return: the buffer may be reused. For replicated arrays the cost is that times the number of
    /// ranks.
    void put(std::span<const value_type> buffer) const
        requires(!std::is_const_v<T>)
    {
        check_buffer(".put", buffer.size());
        SliceBase::put(reinterpret_cast<const std::byte*>(buffer.data()), dense_strides());
    }
    /// The same with memory that has gaps between its rows, such as the inside of a block with a margin:
    /// `a(mine).get(LocalView<double, 2>{block, {n + 2, m + 2}}.part({1, 1}, {n, m}))`. Throw RangeError unless the
    /// view has the extents of the slice. The gaps are not touched; neither side is copied to an intermediate buffer.
    void get(const LocalView<value_type, M>& buffer) const {
        check_view(".get", buffer.extents().values(), buffer.strides());
        SliceBase::get(reinterpret_cast<std::byte*>(buffer.data_handle()), buffer.strides());
    }
    /// As above.
    void put(const LocalView<const value_type, M>& buffer) const
        requires(!std::is_const_v<T>)
    {
        check_view(".put", buffer.extents().values(), buffer.strides());
        SliceBase::put(reinterpret_cast<const std::byte*>(buffer.data_handle()), buffer.strides());
    }

    /// Non-blocking forms. Complete means: the elements are in the buffer, or the buffer may be reused; until then the
    /// caller must not touch the memory of a get, nor change that of a put. Call test() of the result now and then in a
    /// long computation: it starts the next chunks of transfers. A call has at most 8192 transfers under way; one that
    /// needs more waits for earlier ones. Throw as get() and put(); errors of a transfer are thrown by wait().
    [[nodiscard]] Completion start_get(std::span<value_type> buffer) const {
        check_buffer(".start_get", buffer.size());
        return SliceBase::start_get(reinterpret_cast<std::byte*>(buffer.data()), dense_strides());
    }
    [[nodiscard]] Completion start_put(std::span<const value_type> buffer) const
        requires(!std::is_const_v<T>)
    {
        check_buffer(".start_put", buffer.size());
        return SliceBase::start_put(reinterpret_cast<const std::byte*>(buffer.data()), dense_strides());
    }
    [[nodiscard]] Completion start_get(const LocalView<value_type, M>& buffer) const {
        check_view(".start_get", buffer.extents().values(), buffer.strides());
        return SliceBase::start_get(reinterpret_cast<std::byte*>(buffer.data_handle()), buffer.strides());
    }
    [[nodiscard]] Completion start_put(const LocalView<const value_type, M>& buffer) const
        requires(!std::is_const_v<T>)
    {
        check_view(".start_put", buffer.extents().values(), buffer.strides());
        return SliceBase::start_put(reinterpret_cast<const std::byte*>(buffer.data_handle()), buffer.strides());
    }

    /// The calling rank alone copies the elements of another slice, of any array, to this one, through a buffer of 4
    /// MiB (more for overlapping slices of one array). Complete locally on return. Throws RangeError if the extents
    /// differ.
    void put(const ArraySlice<const value_type, M>& source) const
        requires(!std::is_const_v<T>)
    {
        SliceBase::put_slice(source);
    }

    /// Collective: writes the slice to a file, in its own order. See GlobalArray::save().
    void save(const std::string& path, const CheckpointOptions& options = {}) const {
        detail::slices::save(*this, detail::slices::element_kind<value_type>(), path, options);
    }
    /// Collective: reads the slice from a file with its extents. See GlobalArray::load().
    void load(const std::string& path, const CheckpointOptions& options = {}) const
        requires(!std::is_const_v<T>)
    {
        detail::slices::load(*this, detail::slices::element_kind<value_type>(), path, options);
    }

private:
    template <class U, std::size_t K>
    friend class ArraySlice;

    template <std::size_t K>
    ArraySlice(const ArraySlice<T, K>& whole, const std::array<detail::slices::SlicePart, K>& parts)
        : SliceBase{whole} {
        cut(parts);
    }

    template <class Add, class... Sources>
    void once(const Add& add, const Sources&... sources) const {
        const detail::slices::SliceBase* const slices[] = {this, &sources...};
        Assignment::once(slices, add);
    }
    template <class U>
    void assign_elements(const ArraySlice<U, M>& source) const {
        once([&](Assignment& assignment) { assignment.add(*this, source); }, source);
    }
};

} // namespace lapwing
