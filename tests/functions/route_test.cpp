// Over which ranks messages of large teams go.
#include "functions/route.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <random>
#include <set>

using lapwing::Rank;
using lapwing::detail::functions::Route;

namespace {

/// Hops from one rank to another; more than there may be where one is to no rank of the team, or leads nowhere.
int hops_of(const Route& route, int ranks, Rank from, Rank target) {
    int hops = 0;
    for (Rank at = from; at != target && hops <= route.hops(); ++hops) {
        at = route.next(at, target);
        if (at.value < 0 || at.value >= ranks) return route.hops() + 1;
    }
    return hops;
}

} // namespace

TEST_CASE("every rank is reached in as many hops as are announced, over few neighbours") {
    for (const int direct : {2, 3, 5, 16})
        for (int ranks = 1; ranks <= 70; ++ranks) {
            const Route route{ranks, direct};
            CAPTURE(ranks, direct, route.hops());
            int most = ranks == 1 ? 1 : 0;
            for (Rank from{0}; from.value < ranks; ++from.value) {
                std::set<int> neighbours;
                for (Rank target{0}; target.value < ranks; ++target.value) {
                    if (target == from) continue;
                    most = std::max(most, hops_of(route, ranks, from, target));
                    neighbours.insert(route.next(from, target).value);
                }
                CHECK(static_cast<int>(neighbours.size()) <= route.hops() * (route.neighbours() - 1));
            }
            CHECK(most <= route.hops());
            if (ranks <= direct) CHECK(route.hops() == 1);
        }
}

TEST_CASE("a hundred thousand ranks are two or three hops apart") {
    std::minstd_rand random{3};
    for (const int ranks : {129, 10'000, 16'384, 16'385, 100'003, 2'000'000}) {
        const Route route{ranks, 128};
        CHECK(route.hops() == (ranks <= 16'384 ? 2 : 3));
        CHECK(route.neighbours() <= 128);
        int most = 0;
        for (int k = 0; k < 20'000; ++k) {
            const Rank from{static_cast<int>(random() % static_cast<unsigned>(ranks))};
            const Rank target{static_cast<int>(random() % static_cast<unsigned>(ranks))};
            most = std::max({most, hops_of(route, ranks, from, target), hops_of(route, ranks, from, Rank{ranks - 1})});
        }
        CHECK(most <= route.hops());
    }
}
