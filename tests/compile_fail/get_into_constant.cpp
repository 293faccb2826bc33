// A get writes to its destination.
#include <lapwing/window.hpp>

#include <vector>

#ifdef MUST_FAIL
using Values = const std::vector<double>;
#else
using Values = std::vector<double>;
#endif

void use(lapwing::Window& window, Values& values) { window.get(lapwing::Rank{0}, lapwing::Offset{0}, values); }
