// A distribution is asked for the map of given extents and ranks.
#include <lapwing/global_array.hpp>

struct Mine {
#ifndef MUST_FAIL
    [[nodiscard]] lapwing::BlockCyclicMap<1> map(const lapwing::Extents<1>& extents, int ranks) const {
        return lapwing::Cyclic{}.map(extents, ranks);
    }
#endif
};

void use(lapwing::Team& team) { lapwing::GlobalArray<double, 1> array{team, {10}, Mine{}}; }
