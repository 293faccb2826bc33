// A type without operator + cannot be added.
#include <lapwing/window.hpp>

#include <complex>

struct Pair {
    double first;
    double second;
};

#ifdef MUST_FAIL
void use(lapwing::Window& window) { window.fetch_add(0, 0, Pair{1, 2}); }
#else
void use(lapwing::Window& window) { window.fetch_add(0, 0, std::complex<double>{1, 2}); }
#endif
