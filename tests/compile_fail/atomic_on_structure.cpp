// Atomics work on structures of 4, 8 and 16 bytes.
#include <lapwing/global_array.hpp>

struct Triple {
    double first;
    double second;
    double third;
};
struct Pair {
    double first;
    double second;
};

#ifdef MUST_FAIL
void use(lapwing::GlobalArray<Triple, 1>& array) { array(0).atomic().exchange(Triple{1, 2, 3}); }
#else
void use(lapwing::GlobalArray<Pair, 1>& array) { array(0).atomic().exchange(Pair{1, 2}); }
#endif
