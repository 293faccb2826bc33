// Room: arrays
#pragma once

#include <lapwing/detail/element_access.hpp>
#include <lapwing/detail/element_table.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/local_view.hpp>
#include <lapwing/values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N>
class GlobalArray;

/// Reads local, prefetched and node-shared elements of a GlobalArray by their global indices, for loops that read many.
/// It is a value, so that a loop keeps the addresses in registers, and reads of neighbours cost one comparison a
/// dimension.
///
/// ```cpp
/// const auto v = a.view();
/// for (auto [i, j] : inner) b.local(i, j) = 0.25 * (v(i - 1, j) + v(i + 1, j) + v(i, j - 1) + v(i, j + 1));
/// ```
///
/// If a one-dimensional array has many copies (at least a quarter as many as the rank's own elements: AllToAll, or the
/// columns of a sparse matrix), one table finds local elements and copies, so that random reads cost as much as any
/// others. The first view() after a prefetch() makes it: 16 bytes for each 64 indices between the first and the last
/// that are here. No table is made if it would take more than eight times the memory of the copies.
///
/// It remembers what it read last: each thread needs a view of its own, which may be a copy.
///
/// Its reads are not counted, since counting would cost more than they do. `row(index, count)` avoids the comparisons
/// in a loop: it returns a span of contiguous elements.
template <TriviallyCopyable T, std::size_t N>
class PrefetchedView {
public:
    using value_type = T;

    /// Made by GlobalArray::view().
    PrefetchedView(const detail::arrays::PlacedBox<N>& own, const GlobalArray<T, N>& array,
                   const typename detail::arrays::ElementTable<N>::Reader& table) noexcept
        : own_{own}, last_{own}, array_{&array}, table_{table} {}

    /// The value of an element that is local, prefetched, or on the same node. Throws RangeError for others.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] T operator()(I... index) const {
        const Index<N> at = detail::datatype::index_of<N>(index...);
        if constexpr (N == 1) { // of more dimensions there is no table
            if (!table_.empty())
                if (const T* const element = table_.template find<T>(at)) [[likely]]
                    return *element;
        }
        if (const T* const element = own_.template find<T>(at)) return *element;
        return *find_other(at);
    }

    /// The elements of a row starting at `index`, as far as they are contiguous in memory: perhaps fewer than `count`,
    /// but at least one. Throws RangeError as operator().
    [[nodiscard]] std::span<const T> row(const Index<N>& index, std::uint64_t count) const {
        const auto part = [&](const detail::arrays::DenseBox<N>& box, const T* element) {
            return std::span<const T>{element, static_cast<std::size_t>(std::min(box.left_in_row(index), count))};
        };
        if (const T* const element = own_.template find<T>(index)) return part(own_.box, element);
        const T* const element = find_other(index);
        return part(last_.box, element);
    }

private:
    [[nodiscard, gnu::always_inline]] const T* find_other(const Index<N>& index) const {
        if (const T* const element = last_.template find<T>(index)) [[likely]]
            return element;
        last_ = box_around(array_, index);
        return last_.template find<T>(index);
    }
    /// Static, with all arguments by value, so that a loop's own copy of the view stays in registers.
    [[nodiscard, gnu::noinline]] static detail::arrays::PlacedBox<N> box_around(const GlobalArray<T, N>* array,
                                                                                Index<N> index) {
        return array->box_around(index);
    }

    detail::arrays::PlacedBox<N> own_;
    mutable detail::arrays::PlacedBox<N> last_; ///< where the last non-local element was read
    const GlobalArray<T, N>* array_;
    typename detail::arrays::ElementTable<N>::Reader table_; ///< for reads at random, or empty
};

} // namespace lapwing
