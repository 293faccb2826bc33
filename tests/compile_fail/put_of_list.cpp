// The elements of a list are not contiguous.
#include <lapwing/window.hpp>

#include <list>
#include <vector>

#ifdef MUST_FAIL
using Values = std::list<double>;
#else
using Values = std::vector<double>;
#endif

void use(lapwing::Window& window, Values& values) { window.put(lapwing::Rank{0}, lapwing::Offset{0}, values); }
