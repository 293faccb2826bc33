// Room: distribution
#pragma once

#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/location.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace lapwing::distribution {

/// A map of a program's own, behind an interface, so that GlobalArray<T, N> is one type whatever the distribution.
template <std::size_t N>
class ForeignMap {
public:
    virtual ~ForeignMap() = default;

    [[nodiscard]] virtual Location locate(const Index<N>& index) const = 0;
    [[nodiscard]] virtual std::uint64_t local_capacity() const = 0;
    [[nodiscard]] virtual std::uint64_t domain_count(Rank rank) const = 0;
    [[nodiscard]] virtual Domain<N> domain(Rank rank, std::uint64_t k) const = 0;
};

template <std::size_t N, DistributionMap<N> Map>
class ForeignMapOf final : public ForeignMap<N> {
public:
    explicit ForeignMapOf(Map map) : map_{std::move(map)} {}

    Location locate(const Index<N>& index) const override { return map_.locate(index); }
    std::uint64_t local_capacity() const override { return map_.local_capacity(); }
    std::uint64_t domain_count(Rank rank) const override { return map_.domain_count(rank); }
    Domain<N> domain(Rank rank, std::uint64_t k) const override { return map_.domain(rank, k); }

private:
    Map map_;
};

} // namespace lapwing::distribution
