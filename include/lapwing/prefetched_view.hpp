// Room: array
#pragma once

#include <lapwing/detail/prefetched_indices.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/local_view.hpp>

#include <array>
#include <cstddef>
#include <algorithm>
#include <cstdint>
#include <span>

namespace lapwing {

namespace array {
/// Throws RangeError: the index is neither own nor prefetched.
[[noreturn]] void throw_not_in_view(const std::int64_t* index, std::size_t dimensions);
} // namespace array


/// Reads own and prefetched elements of a GlobalArray by their global indices, for loops that read many: it is a value, so that a
/// loop keeps in registers where the elements are, and reads of neighbours cost a comparison a dimension.
///
/// ```cpp
/// const auto v = a.view();
/// for (auto [i, j] : inner) b.local(i, j) = 0.25 * (v(i - 1, j) + v(i + 1, j) + v(i, j - 1) + v(i, j + 1));
/// ```
///
/// Its reads are not counted, since that would cost more than they do. `row(index, count)` leaves the comparisons out of a loop: a pointer to elements that lie one behind the other.
template <class T, std::size_t N>
class PrefetchedView {
public:
    using value_type = T;
    using Box = typename array::PrefetchedIndices<N>::Box;

    /// Made by GlobalArray::view().
    PrefetchedView(const Box& own, const array::PrefetchedIndices<N>* indices) noexcept
        : own_{own}, copies_{own}, indices_{indices} {}

    /// The value of an element that is the rank's own or prefetched. Throws RangeError for others.
    template <IndexValue... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] T operator()(I... indices) const {
        return (*this)(Index<N>{static_cast<std::int64_t>(indices)...});
    }
    [[nodiscard]] T operator()(const Index<N>& index) const {
        std::uint64_t offset = 0;
        if (inside(own_, index, offset)) return *reinterpret_cast<const T*>(own_.copies + offset);
        if (!inside(copies_, index, offset)) [[unlikely]] {
            copies_ = box_of(indices_, index);
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
                copies_ = box_of(indices_, index);
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
    [[nodiscard, gnu::noinline]] static Box box_of(const array::PrefetchedIndices<N>* indices, Index<N> index) {
        std::uint64_t offset = 0;
        if (indices != nullptr) {
            for (const Box& box : indices->dense())
                if (inside(box, index, offset)) return box;
            // One element, where the copies are too ragged for boxes.
            if (T* const copy = indices->template find<T>(index)) {
                Box box;
                box.first = index;
                box.span.fill(1);
                box.copies = reinterpret_cast<std::byte*>(copy);
                return box;
            }
        }
        array::throw_not_in_view(index.data(), N);
    }

    Box own_;
    mutable Box copies_; ///< those that were read last
    const array::PrefetchedIndices<N>* indices_;
};

} // namespace lapwing
