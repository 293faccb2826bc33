// Complex numbers have no order.
#include <lapwing/team.hpp>

#include <complex>

#ifdef MUST_FAIL
auto use(lapwing::Team& team) { return team.max(std::complex<double>{1, 2}); }
#else
auto use(lapwing::Team& team) { return team.sum(std::complex<double>{1, 2}); }
#endif
