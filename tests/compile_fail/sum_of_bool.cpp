// The sum of two true values is two.
#include <lapwing/team.hpp>

#ifdef MUST_FAIL
bool use(lapwing::Team& team) { return team.sum(true); }
#else
bool use(lapwing::Team& team) { return team.max(true); }
#endif
