// Atomics work on integers and floating point numbers of 4 and 8 bytes.
#include <lapwing/global_array.hpp>

struct Pair {
    int first;
    int second;
};

#ifdef MUST_FAIL
void use(lapwing::GlobalArray<Pair, 1>& array) { array(0).swap(Pair{1, 2}); }
#else
void use(lapwing::GlobalArray<int, 1>& array) { array(0).swap(1); }
#endif
