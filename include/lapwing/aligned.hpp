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

/// Which of a space's positions a domain within it has, for distributions of the program's own: they keep the places
/// that they have for the whole space.
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

/// An index space that is distributed once for several arrays over parts of it: elements of the same index are at the
/// same rank, whichever array they are of. It is what Chapel calls a distributed domain.
///
/// ```cpp
/// const lapwing::Aligned grid{lapwing::Domain<2>{{0, n + 2}, {0, n + 2}}, lapwing::Block{}};
/// lapwing::DomainArray<double, 2> all{runtime, grid.space(), grid};
/// lapwing::DomainArray<double, 2> inner{runtime, {{1, n + 1}, {1, n + 1}}, grid}; // inner(i, j) is where all(i, j) is
/// ```
///
/// Arrays keep only what they have, whatever the space. What they have in common with other arrays' slices is found run
/// by run, as of distributions of the program's own, unless they have the whole space.
template <std::size_t N, Distribution<N> D = Block>
class Aligned {
public:
    /// Every rank passes the same.
    explicit Aligned(const Domain<N>& space, const D& distribution = {}) : space_{space}, distribution_{distribution} {}

    /// What it was made with.
    [[nodiscard]] const Domain<N>& space() const noexcept { return space_; }
    /// As above.
    [[nodiscard]] const D& distribution() const noexcept { return distribution_; }

    /// How an array over `domain`, whose positions count its indices, is distributed. Throws RangeError unless the
    /// domain is in the space.
    class Part;
    [[nodiscard]] Part part(const Domain<N>& domain) const;

private:
    Domain<N> space_;
    D distribution_;
};

/// A Distribution: the positions of an array over part of the space.
template <std::size_t N, Distribution<N> D>
class Aligned<N, D>::Part {
public:
    /// As the whole space is, see ReplicatedDistribution.
    static constexpr bool replicated = ReplicatedDistribution<D>;

    /// Which indices of the space, counted from its first, the array has.
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

    /// `extents` must be those of the array's domain, so that the array cannot get others. Throws RangeError.
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
