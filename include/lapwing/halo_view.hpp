// Room: arrays
#pragma once

#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/values.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing {

/// The local block of a GlobalArray and the prefetched copies around it, in one block of memory, by their global
/// indices. A loop over the local block reads them without comparisons, so that compilers vectorise it.
///
/// ```cpp
/// lapwing::GlobalArray<double, 2> a{runtime, {n, n}, lapwing::Block{}, {.halo = 1}};
/// a.prefetch(lapwing::Stencil{}, {.consistent = false, .storage = lapwing::PrefetchStorage::halo});
/// for (int step = 0; step < steps; ++step) {
///     const auto h = a.halo_view();
///     for (auto [i, j] : inner) b.local(i, j) = 0.25 * (h(i - 1, j) + h(i + 1, j) + h(i, j - 1) + h(i, j + 1));
///     …
/// }
/// ```
///
/// Nothing is checked: an index must be in domain(), and elements that are neither local nor prefetched there (the
/// corners of a stencil without corners) are undefined.
template <TriviallyCopyable T, std::size_t N>
class HaloView {
public:
    /// For a rank that owns nothing.
    HaloView() noexcept = default;
    /// Made by GlobalArray::halo_view(): `first` points to the domain's first element.
    HaloView(const Domain<N>& domain, const T* first, const std::array<std::uint64_t, N>& strides)
        : domain_{domain}, first_{first} {
        for (std::size_t d = 0; d < N; ++d) {
            strides_[d] = static_cast<std::int64_t>(strides[d]);
            origin_ += domain.first()[d] * strides_[d];
        }
    }

    /// An element by its global index.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] const T& operator()(I... index) const noexcept {
        const Index<N> at = detail::datatype::index_of<N>(index...);
        std::int64_t offset = at[N - 1] - origin_;
        for (std::size_t d = 0; d + 1 < N; ++d) offset += at[d] * strides_[d];
        return first_[offset];
    }

    /// The local indices, and those around them that the array has; empty on a rank that owns nothing.
    [[nodiscard]] const Domain<N>& domain() const noexcept { return domain_; }

private:
    Domain<N> domain_;
    const T* first_ = nullptr;
    std::array<std::int64_t, N> strides_{};
    std::int64_t origin_ = 0; ///< position of the first element, relative to that of index (0, …, 0)
};

} // namespace lapwing
