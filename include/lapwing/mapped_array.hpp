// Room: arrays
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/detail/mapped_elements.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/local_view.hpp>
#include <lapwing/values.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lapwing {

/// In place of a pattern, for programs that do not know what they will read: a mapped array whose pages are fetched
/// when they are read first. The read waits for the system's fault and for the transfer, some 30 us, so that it pays
/// for programs that read much of what is on a page, or read it epoch after epoch: a refresh fetches again, in bulk,
/// what is in use. Reads that follow one another are fetched ahead.
///
/// Memory that has not been read yet must not be handed to MPI, or to the system, which do not wait for it:
/// MappedArray::pin() fetches it before. Nor may it be read for the first time within the library: as the source of a
/// put, or in a function that Lapwing calls. A transfer that fails ends the program with a message. At most
/// `LAPWING_MAPPED_BYTES` are held. GlobalArray::mapped() throws UsageError for an array with a distribution of the
/// program's own, and where MPI is initialised with less than MPI_THREAD_MULTIPLE and there are several nodes.
struct OnDemand {};

/// A whole GlobalArray as memory that is read by a plain pointer, in the row-major order of its global indices,
/// whatever the distribution: for kernels that know nothing of Lapwing, such as BLAS, a sparse product, or a loop that
/// a compiler vectorises.
///
/// ```cpp
/// auto v = a.mapped(lapwing::RowWise{});   // what this rank will read, besides its own elements
/// for (int step = 0; step < steps; ++step) {
///     for (int r = 0; r < rows; ++r) y[r] = dot(values + begin[r], columns + begin[r], count[r], v.data());
///     …
///     a.barrier();
///     v.refresh();                         // after an acquire: a bulk transfer for each owner, in place
/// }
/// ```
///
/// It has memory where the pattern says, in whole pages, and addresses everywhere else. An element that nobody has
/// named lies on a page that may not be read, if no element near it has been named: the program then ends with a
/// message that says the array, the index, the rank and the line.
///
/// Elements are as they were at the last refresh(), or as they are now: those of this rank, and of ranks of its node,
/// are shown where they are if each part is one stretch of the array's order (Block over the first dimension, one
/// dimension, Replicated), and copied otherwise, or where they share a page with others. So a read of an element that
/// somebody changes between a refresh and the next is not defined, as it would not be in a loop over a patch.
///
/// Copies of this object share its memory, which stays as long as one of them does, also when the array is gone. A loop
/// that writes bytes should take `const auto p = v.data()` first, so that the compiler keeps the pointer in a register.
template <class T, std::size_t N>
class MappedArray {
public:
    using value_type = T;

    /// Of no array.
    MappedArray() noexcept = default;
    /// Made by GlobalArray::mapped().
    MappedArray(detail::arrays::MappedElements elements, const Extents<N>& extents) noexcept
        : view_{reinterpret_cast<const T*>(elements.origin()), extents}, elements_{std::move(elements)} {}

    /// Element (0, …, 0) of the array: element k of the row-major order is `data()[k]`.
    [[nodiscard]] const T* data() const noexcept { return view_.data_handle(); }
    /// The same as a view, with extents and strides.
    [[nodiscard]] const LocalView<const T, N>& view() const noexcept { return view_; }
    [[nodiscard]] const Extents<N>& extents() const noexcept { return view_.extents(); }

    /// An element by its global index. Not checked, but see above.
    template <IndexValue... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] const T& operator()(I... indices) const noexcept {
        return (*this)(Index<N>{static_cast<std::int64_t>(indices)...});
    }
    [[nodiscard]] const T& operator()(const Index<N>& index) const noexcept {
        // Neighbours in the last dimension are neighbours in memory, which a view by strides would not tell a compiler.
        std::int64_t row = 0;
        for (std::size_t d = 0; d + 1 < N; ++d) row = (row + index[d]) * extents()[d + 1];
        return data()[row + index[N - 1]];
    }
    [[nodiscard]] const T& operator[](std::int64_t index) const noexcept
        requires(N == 1)
    {
        return data()[index];
    }

    /// Local call. The elements become those of their owners. As for a get, what other ranks have written must have
    /// been released before this rank's last acquire (a barrier in between is enough), and must not be written at the
    /// same time; no other thread may read or refresh the mapped array meanwhile. Throws UsageError once the array is
    /// closed, or has got other extents or another distribution: map it again. Cost: for each owner a planned transfer
    /// of what the pattern names, all under way at once; for own elements that are not shown where they are a copy.
    void refresh() const { elements_.refresh(); }
    /// Starts a refresh(): until it is complete the elements are undefined. With OnDemand what was in use is here on
    /// return.
    [[nodiscard]] Completion start_refresh() const { return elements_.start_refresh(); }

    /// Local call. With OnDemand: fetches the elements of a domain, so that they can be handed to MPI, or to the
    /// system, until the next refresh, or until more is read than `LAPWING_MAPPED_BYTES`. Other mapped arrays have them
    /// already, or do not name them. Errors: RangeError for a domain that leaves the array, or has more than may be
    /// held; those of refresh().
    void pin(const Domain<N>& domain) const { elements_.pin(domain.ranges()); }

    /// Bytes of the pages that it has of its own, without those that were fetched on demand.
    [[nodiscard]] std::uint64_t memory() const noexcept { return elements_.memory(); }

private:
    LocalView<const T, N> view_;
    detail::arrays::MappedElements elements_;
};

} // namespace lapwing
