// Room: distribution
#pragma once

#include <lapwing/detail/aligned_map.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lapwing {

namespace detail::distribution {

/// Throws RangeError unless every index of dimension `dimension` of the domain is in the space.
void require_in_space(const Range& domain, const Range& space, std::size_t dimension);

/// Throws RangeError unless both are equal.
void require_extent(std::int64_t extent, std::uint64_t expected, std::size_t dimension);

/// The map of a domain within a space, for user-defined distributions: elements keep the places that they have for the
/// whole space.
template <std::size_t N, DistributionMap<N> Map>
class PartOfMap {
public:
    PartOfMap(Map map, const Domain<N>& positions) : map_{std::move(map)}, positions_{positions} {}

    [[nodiscard]] Location locate(const Index<N>& index) const {
        Index<N> in_space;
        for (std::size_t d = 0; d < N; ++d) in_space[d] = positions_.range(d)[static_cast<std::uint64_t>(index[d])];
        Location location = map_.locate(in_space);
        const Range& last = positions_.range(N - 1);
        location.contiguous =
            last.stride() != 1 ? std::min<std::uint64_t>(location.contiguous, 1)
                               : std::min(location.contiguous, last.size() - static_cast<std::uint64_t>(index[N - 1]));
        return location;
    }
    [[nodiscard]] std::uint64_t local_capacity() const { return map_.local_capacity(); }
    [[nodiscard]] std::uint64_t domain_count(Rank rank) const { return map_.domain_count(rank); }
    [[nodiscard]] Domain<N> domain(Rank rank, std::uint64_t k) const {
        const Domain<N> own = map_.domain(rank, k).intersect(positions_);
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d) {
            const Range& all = positions_.range(d);
            const Range& some = own.range(d);
            if (some.empty()) return {};
            ranges[d] = Range::strided((some.first() - all.first()) / all.stride(), some.size(),
                                       std::max<std::int64_t>(1, some.stride() / all.stride()));
        }
        return Domain<N>{ranges};
    }

private:
    Map map_;
    Domain<N> positions_;
};

} // namespace detail::distribution

/// An index space that is distributed once for several arrays over parts of it: elements with the same index are on the
/// same rank, whichever array they belong to. Chapel calls this a distributed domain.
///
/// ```cpp
/// const lapwing::Aligned grid{lapwing::Domain<2>{{0, n + 2}, {0, n + 2}}, lapwing::Block{}};
/// lapwing::DomainArray<double, 2> all{runtime, grid.space(), grid};
/// lapwing::DomainArray<double, 2> inner{runtime, {{1, n + 1}, {1, n + 1}}, grid}; // inner(i, j) is where all(i, j) is
/// ```
///
/// Each array stores only its own elements, however large the space is. Unless an array covers the whole space, its
/// common part with other arrays' slices is found run by run, as for user-defined distributions.
template <std::size_t N, Distribution<N> D = Block>
class Aligned {
public:
    /// Every rank must pass the same.
    explicit Aligned(const Domain<N>& space, const D& distribution = {}) : space_{space}, distribution_{distribution} {}

    /// The arguments of the constructor.
    [[nodiscard]] const Domain<N>& space() const noexcept { return space_; }
    /// As above.
    [[nodiscard]] const D& distribution() const noexcept { return distribution_; }

    /// The distribution of an array over `domain`, whose positions count the domain's indices. Throws RangeError unless
    /// the domain is in the space.
    class Part;
    [[nodiscard]] Part part(const Domain<N>& domain) const;

private:
    Domain<N> space_;
    D distribution_;
};

/// A Distribution: for the positions of an array over part of the space.
template <std::size_t N, Distribution<N> D>
class Aligned<N, D>::Part {
public:
    /// As for the whole space, see ReplicatedDistribution.
    static constexpr bool replicated = ReplicatedDistribution<D>;

    /// Computes which indices of the space, counted from its first, the array has.
    Part(const Domain<N>& space, const D& distribution, const Domain<N>& domain) : distribution_{distribution} {
        std::array<Range, N> positions;
        for (std::size_t d = 0; d < N; ++d) {
            const Range& of_space = space.range(d);
            const Range& indices = domain.range(d);
            detail::distribution::require_in_space(indices, of_space, d);
            space_[d] = static_cast<std::int64_t>(of_space.size());
            if (!indices.empty())
                positions[d] =
                    Range::strided(static_cast<std::int64_t>((static_cast<std::uint64_t>(indices.first()) -
                                                              static_cast<std::uint64_t>(of_space.first())) /
                                                             static_cast<std::uint64_t>(of_space.stride())),
                                   indices.size(), indices.size() == 1 ? 1 : indices.stride() / of_space.stride());
        }
        positions_ = Domain<N>{positions};
    }

    /// `extents` must be those of the array's domain, so that the array cannot be resized. Throws RangeError.
    [[nodiscard]] auto map(const Extents<N>& extents, int ranks) const {
        for (std::size_t d = 0; d < N; ++d)
            detail::distribution::require_extent(extents[d], positions_.range(d).size(), d);
        auto whole_map = distribution_.map(Extents<N>{space_}, ranks);
        if constexpr (std::same_as<decltype(whole_map), BlockCyclicMap<N>>) {
            std::array<detail::distribution::AlignedDimension, N> dimensions;
            for (std::size_t d = 0; d < N; ++d) {
                const Range& positions = positions_.range(d);
                dimensions[d] = {.map = whole_map.dimensions()[d],
                                 .first = positions.empty() ? 0 : static_cast<std::uint64_t>(positions.first()),
                                 .stride = static_cast<std::uint64_t>(positions.stride()),
                                 .extent = positions.size()};
            }
            return detail::distribution::AlignedMap<N>{dimensions};
        } else {
            return detail::distribution::PartOfMap<N, decltype(whole_map)>{std::move(whole_map), positions_};
        }
    }

private:
    D distribution_;
    Index<N> space_{};
    Domain<N> positions_;
};

template <std::size_t N, Distribution<N> D>
auto Aligned<N, D>::part(const Domain<N>& domain) const -> Part {
    return Part{space_, distribution_, domain};
}

} // namespace lapwing
