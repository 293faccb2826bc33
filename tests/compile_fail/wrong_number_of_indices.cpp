// An element of a matrix has two indices.
#include <lapwing/global_array.hpp>

double use(lapwing::GlobalArray<double, 2>& matrix) {
#ifdef MUST_FAIL
    return matrix(1);
#else
    return matrix(1, 1);
#endif
}
