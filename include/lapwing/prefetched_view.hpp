// Room: array
#pragma once

#include <lapwing/detail/prefetched_indices.hpp>
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

/// Reads own and prefetched elements of a GlobalArray, and those of the own node, by their global indices, for loops that read
/// many: it is a value, so that a loop keeps in registers where the elements are, and reads of neighbours cost a comparison a dimension.
///
/// ```cpp
/// const auto v = a.view();
/// for (auto [i, j] : inner) b.local(i, j) = 0.25 * (v(i - 1, j) + v(i + 1, j) + v(i, j - 1) + v(i, j + 1));
/// ```
///
/// Its reads are not counted, since that would cost more than they do. `row(index, count)` leaves the comparisons out of a loop: a
/// pointer to elements that lie one behind the other.
template <TriviallyCopyable T, std::size_t N>
class PrefetchedView {
public:
    using value_type = T;
    using Box = typename array::PrefetchedIndices<N>::Box;

    /// Made by GlobalArray::view().
    PrefetchedView(const Box& own, const GlobalArray<T, N>& array) noexcept : own_{own}, copies_{own}, array_{&array} {}

    /// The value of an element that is the rank's own, prefetched, or of the same node. Throws RangeError for others.
    template <IndexValue... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] T operator()(I... indices) const {
        return (*this)(Index<N>{static_cast<std::int64_t>(indices)...});
    }
    [[nodiscard]] T operator()(const Index<N>& index) const {
        std::uint64_t offset = 0;
        if (inside(own_, index, offset)) return *reinterpret_cast<const T*>(own_.copies + offset);
        if (!inside(copies_, index, offset)) [[unlikely]] {
            copies_ = box_of(array_, index);
            (void)inside(copies_, index, offset);
        }
        return *reinterpret_cast<const T*>(copies_.copies + offset);
    }

    /// The elements of a row from `index` on, one behind the other, as far as they lie so: fewer than `count`, but not none. Throws
    /// RangeError as operator().
    [[nodiscard]] std::span<const T> row(const Index<N>& index, std::uint64_t count) const {
        std::uint64_t offset = 0;
        const Box* box = &own_;
        if (!inside(own_, index, offset)) {
            if (!inside(copies_, index, offset)) {
                copies_ = box_of(array_, index);
                (void)inside(copies_, index, offset);
            }
            box = &copies_;
        }
        const std::uint64_t left = box->span[N - 1] - (static_cast<std::uint64_t>(index[N - 1]) - static_cast<std::uint64_t>(box->first[N - 1]));
        const std::span<const T> elements{reinterpret_cast<const T*>(box->copies + offset), static_cast<std::size_t>(std::min(left, count))};
        return elements;
    }

private:
    [[nodiscard]] static bool inside(const Box& box, const Index<N>& index, std::uint64_t& offset) noexcept {
        return array::PrefetchedIndices<N>::template inside<T>(box, index, offset);
    }
    /// Static, and all by value, so that a loop's own copy of the view stays in registers.
    [[nodiscard, gnu::noinline]] static Box box_of(const GlobalArray<T, N>* array, Index<N> index) { return array->box_around(index); }

    Box own_;
    mutable Box copies_; ///< those that were read last
    const GlobalArray<T, N>* array_;
};

} // namespace lapwing
