// Room: upc
#pragma once

#include <lapwing/mapped_array.hpp>
#include <lapwing/range.hpp>
#include <lapwing/upc/array.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lapwing::upc {

namespace detail {

[[nodiscard]] lapwing::detail::arrays::MappedElements map(const MappableArray& array,
                                                          const std::vector<Range>& elements);
[[nodiscard]] lapwing::detail::arrays::MappedElements map_on_demand(const MappableArray& array);
void drop_spare(const MappableArray& array);

template <Shareable T, std::size_t B, std::size_t N>
[[nodiscard]] MappedArray<typename SharedArray<T, B, N>::value_type, N>
as_mapped(lapwing::detail::arrays::MappedElements elements, const SharedArray<T, B, N>& array) {
    std::array<std::size_t, N> extents;
    for (std::size_t d = 0; d < N; ++d) extents[d] = array.extent(d);
    return {std::move(elements), Extents<N>{extents}};
}

} // namespace detail

/// A shared array as memory that is read by a plain pointer, in the order of its elements, whatever its blocks are: for
/// kernels that know nothing of threads, and for loops that a compiler vectorises.
///
/// ```cpp
/// const auto v = upc::mapped(a);          // once, before the loop: everything
/// …
/// upc::barrier();
/// v.refresh();                            // what the threads have written, in one transfer for each of them
/// for (…) sum += values[k] * v[columns[k]];
/// ```
///
/// All calls are local. Elements are as they were at the last refresh(), or as they are now: this thread's are shown
/// where they are if they are one block, and copied otherwise. So nobody may write, in between, what somebody reads
/// through it; relaxed and strict arrays are read alike. A refresh is a bulk get, which sees what was written before
/// the last barrier, lock or fence. MappedArray has the members, and what they cost. refresh() throws UsageError once
/// the array has been destroyed.
template <Shareable T, std::size_t B, std::size_t N>
[[nodiscard]] auto mapped(const SharedArray<T, B, N>& array) {
    return mapped(array, std::vector{Range{0, static_cast<std::int64_t>(array.size())}});
}
/// The same of some elements, by the number of elements before them: `upc::mapped(a, {{begin, end}})`. A read of
/// another one, on a page on which nothing is named, ends the program with a message. An error for a range that the
/// array does not have.
template <Shareable T, std::size_t B, std::size_t N>
[[nodiscard]] auto mapped(const SharedArray<T, B, N>& array, const std::vector<Range>& elements) {
    for (const Range& one : elements)
        if (!one.empty()) detail::require_range("mapped", one.first(), one.last() + 1, array.size());
    return detail::as_mapped(detail::map(array.mappable(), elements), array);
}
/// The same of everything, of which nothing is fetched before it is read: see OnDemand.
template <Shareable T, std::size_t B, std::size_t N>
[[nodiscard]] auto mapped(const SharedArray<T, B, N>& array, OnDemand /*how*/) {
    return detail::as_mapped(detail::map_on_demand(array.mappable()), array);
}

/// Gives back the memory of the mapped array that was given up last, which is kept for the next one of the same
/// elements. Local call.
template <Shareable T, std::size_t B, std::size_t N>
void evict(const SharedArray<T, B, N>& array) {
    detail::drop_spare(array.mappable());
}

} // namespace lapwing::upc
