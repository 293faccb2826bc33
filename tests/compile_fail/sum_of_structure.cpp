// Structures without + are combined by a function of the program's.
#include <lapwing/global_array.hpp>

struct Pair {
    int first;
    int second;
};

#ifdef MUST_FAIL
auto use(lapwing::GlobalArray<Pair, 1>& array) { return array.sum(); }
#else
auto use(lapwing::GlobalArray<Pair, 1>& array) {
    return array.reduce({}, [](Pair a, Pair b) { return Pair{a.first + b.first, a.second + b.second}; });
}
#endif
