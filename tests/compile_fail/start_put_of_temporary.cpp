// A transfer that continues after the call needs memory that outlives it.
#include <lapwing/window.hpp>

#include <vector>

void use(lapwing::Window& window) {
    const std::vector<double> values{1, 2, 3};
#ifdef MUST_FAIL
    window.start_put(lapwing::Rank{0}, lapwing::Offset{0}, std::vector<double>{1, 2, 3}).wait();
#else
    window.start_put(lapwing::Rank{0}, lapwing::Offset{0}, values).wait();
#endif
}
