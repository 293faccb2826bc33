// What every map of a distribution must do, looked at element by element.
#pragma once

#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace test {

using lapwing::Domain;
using lapwing::Extents;
using lapwing::Index;
using lapwing::Location;
using lapwing::Rank;

/// What every map must do, whatever the distribution. Returns the owner and place of each stored element.
template <std::size_t N, lapwing::DistributionMap<N> Map>
std::map<Index<N>, std::pair<int, std::uint64_t>> check_map(const Map& map, const Extents<N>& extents, int ranks) {
    std::map<Index<N>, std::pair<int, std::uint64_t>> places;
    std::set<std::pair<int, std::uint64_t>> taken;
    for (const Index<N>& index : Domain<N>{extents}) {
        const Location location = map.locate(index);
        if (location.owner.value < 0) continue;
        INFO("index " << lapwing::to_string(index) << " of " << lapwing::to_string(extents.values()) << " over "
                      << ranks);
        REQUIRE(location.owner.value < ranks);
        REQUIRE(location.offset < map.local_capacity());
        REQUIRE(taken.insert({location.owner.value, location.offset}).second);
        places[index] = {location.owner.value, location.offset};
        // What is said to be contiguous is.
        REQUIRE(location.contiguous >= 1);
        Index<N> next = index;
        for (std::uint64_t k = 1; k < location.contiguous; ++k) {
            ++next[N - 1];
            REQUIRE(next[N - 1] < extents[N - 1]);
            REQUIRE(map.locate(next).owner == location.owner);
            REQUIRE(map.locate(next).offset == location.offset + k);
        }
    }
    // The domains of the ranks hold exactly the elements that are located there.
    std::size_t held = 0;
    for (int rank = 0; rank < ranks; ++rank)
        for (std::uint64_t k = 0; k < map.domain_count(Rank{rank}); ++k) {
            const Domain<N> domain = map.domain(Rank{rank}, k);
            REQUIRE_FALSE(domain.empty());
            for (const Index<N>& index : domain) {
                ++held;
                REQUIRE(places.contains(index));
                REQUIRE(places[index].first == rank);
            }
        }
    REQUIRE(held == places.size());
    return places;
}

} // namespace test
