// Elements that lie anywhere in memory are no block of bytes.
#include <lapwing/window.hpp>

#include <list>
#include <vector>

#ifdef MUST_FAIL
using Values = std::list<double>;
#else
using Values = std::vector<double>;
#endif

void use(lapwing::Window& window, Values& values) { window.put(lapwing::Rank{0}, lapwing::Offset{0}, values); }
