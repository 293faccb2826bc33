// A type without operator + cannot be added.
#include <lapwing/window.hpp>

#include <complex>

struct Pair {
    double first;
    double second;
};

#ifdef MUST_FAIL
void use(lapwing::Window& window) { window.atomic<Pair>(0, 0).fetch_add(Pair{1, 2}); }
#else
void use(lapwing::Window& window) { window.atomic<std::complex<double>>(0, 0).fetch_add(std::complex<double>{1, 2}); }
#endif
