// Complex numbers of 16 bytes have no atomics.
#include <lapwing/global_array.hpp>

#include <complex>

#ifdef MUST_FAIL
void use(lapwing::GlobalArray<std::complex<double>, 1>& array) { array(0).add({1, 2}); }
#else
void use(lapwing::GlobalArray<double, 1>& array) { array(0).add(1); }
#endif
