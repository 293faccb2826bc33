// Room: distribution
#pragma once

#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace lapwing::detail::distribution {

/// A map of a program's own for code that does not know the number of dimensions: indices are as many numbers, and
/// domains ranges.
class UserPlaces {
public:
    virtual ~UserPlaces() = default;

    [[nodiscard]] virtual Location locate_at(const std::int64_t* index) const = 0;
    [[nodiscard]] virtual std::uint64_t local_capacity() const = 0;
    [[nodiscard]] virtual std::uint64_t domains_of(Rank rank) const = 0;
    virtual void copy_domain(Rank rank, std::uint64_t k, Range* ranges) const = 0;
    /// A number made of the map's parameters, the same on all ranks; 0 where the map has none.
    [[nodiscard]] virtual std::uint64_t identity() const { return 0; }
    /// Whether these calls are of functions of the program's, and not of the library's own.
    [[nodiscard]] virtual bool is_programs() const { return true; }
    /// Whether every part is one dense row-major block; then what its extents are at `rank`.
    virtual bool copy_local_extents(Rank /*rank*/, std::int64_t* /*extents*/) const { return false; }
};

/// The same behind an interface that knows it, so that GlobalArray<T, N> is one type whatever the distribution.
template <std::size_t N>
class UserMap : public UserPlaces {
public:
    [[nodiscard]] virtual Location locate(const Index<N>& index) const = 0;
    [[nodiscard]] virtual std::uint64_t domain_count(Rank rank) const = 0;
    [[nodiscard]] virtual Domain<N> domain(Rank rank, std::uint64_t k) const = 0;

    Location locate_at(const std::int64_t* index) const final {
        Index<N> known;
        std::copy_n(index, N, known.begin());
        return locate(known);
    }
    std::uint64_t domains_of(Rank rank) const final { return domain_count(rank); }
    void copy_domain(Rank rank, std::uint64_t k, Range* ranges) const final {
        std::ranges::copy(domain(rank, k).ranges(), ranges);
    }
};

/// Whether a map is the program's own, or of such a one; the library's say that they are not.
template <class Map>
[[nodiscard]] bool calls_program(const Map& map) {
    if constexpr (requires { bool{map.is_programs()}; }) return map.is_programs();
    else return true;
}

template <std::size_t N, DistributionMap<N> Map>
class UserMapOf final : public UserMap<N> {
public:
    explicit UserMapOf(Map map) : map_{std::move(map)} {}

    Location locate(const Index<N>& index) const override { return map_.locate(index); }
    std::uint64_t local_capacity() const override { return map_.local_capacity(); }
    std::uint64_t domain_count(Rank rank) const override { return map_.domain_count(rank); }
    Domain<N> domain(Rank rank, std::uint64_t k) const override { return map_.domain(rank, k); }
    std::uint64_t identity() const override {
        if constexpr (requires { std::uint64_t{map_.identity()}; }) return map_.identity();
        else return 0;
    }
    bool is_programs() const override { return calls_program(map_); }
    bool copy_local_extents(Rank rank, std::int64_t* extents) const override {
        if constexpr (requires { Extents<N>{map_.local_extents(rank)}; }) {
            std::ranges::copy(map_.local_extents(rank).values(), extents);
            return true;
        } else {
            return false;
        }
    }

private:
    Map map_;
};

} // namespace lapwing::detail::distribution
