// A matrix has two extents.
#include <lapwing/global_array.hpp>

void use(lapwing::Team& team) {
#ifdef MUST_FAIL
    lapwing::GlobalArray<double, 2> matrix{team, {1, 2, 3}};
#else
    lapwing::GlobalArray<double, 2> matrix{team, {1, 2}};
#endif
}
