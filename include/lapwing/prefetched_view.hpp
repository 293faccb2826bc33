// Room: arrays
#pragma once

#include <lapwing/detail/element_access.hpp>
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

/// Reads own and prefetched elements of a GlobalArray, and those of the own node, by their global indices, for loops
/// that read many: it is a value, so that a loop keeps in registers where the elements are, and reads of neighbours
/// cost a comparison a dimension.
///
/// ```cpp
/// const auto v = a.view();
/// for (auto [i, j] : inner) b.local(i, j) = 0.25 * (v(i - 1, j) + v(i + 1, j) + v(i, j - 1) + v(i, j + 1));
/// ```
///
/// It remembers what it read last: each thread needs one of its own, and a copy is one.
///
/// Its reads are not counted, since that would cost more than they do. `row(index, count)` leaves the comparisons out
/// of a loop: a pointer to elements that lie one behind the other.
template <TriviallyCopyable T, std::size_t N>
class PrefetchedView {
public:
    using value_type = T;

    /// Made by GlobalArray::view().
    PrefetchedView(const detail::arrays::PlacedBox<N>& own, const GlobalArray<T, N>& array) noexcept
        : own_{own}, last_{own}, array_{&array} {}

    /// The value of an element that is the rank's own, prefetched, or of the same node. Throws RangeError for others.
    template <IndexValue... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] T operator()(I... indices) const {
        return (*this)(Index<N>{static_cast<std::int64_t>(indices)...});
    }
    [[nodiscard]] T operator()(const Index<N>& index) const {
        if (const T* const element = own_.template find<T>(index)) return *element;
        return *find_other(index);
    }

    /// The elements of a row from `index` on, one behind the other, as far as they lie so: fewer than `count`, but not
    /// none. Throws RangeError as operator().
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
    /// Static, and all by value, so that a loop's own copy of the view stays in registers.
    [[nodiscard, gnu::noinline]] static detail::arrays::PlacedBox<N> box_around(const GlobalArray<T, N>* array,
                                                                                Index<N> index) {
        return array->box_around(index);
    }

    detail::arrays::PlacedBox<N> own_;
    mutable detail::arrays::PlacedBox<N> last_; ///< what was read last that is not own
    const GlobalArray<T, N>* array_;
};

} // namespace lapwing
