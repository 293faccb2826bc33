// A pointer of one process is invalid in another.
#include <lapwing/global_array.hpp>

void use() {
#ifdef MUST_FAIL
    lapwing::GlobalArray<double*, 1> rows;
#else
    lapwing::GlobalArray<double, 1> rows;
#endif
}
