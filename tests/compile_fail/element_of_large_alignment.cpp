// Parts begin at cache lines, and no element can be aligned to more than its part.
#include <lapwing/global_array.hpp>

#ifdef MUST_FAIL
struct alignas(128) Element {
#else
struct alignas(64) Element {
#endif
    char bytes[128];
};

void use() { lapwing::GlobalArray<Element, 1> elements; }
