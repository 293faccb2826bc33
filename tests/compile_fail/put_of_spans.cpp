// Spans are not values either, at any level.
#include <lapwing/window.hpp>

#include <span>
#include <vector>

void use(lapwing::Window& window, std::vector<std::span<double>>& values) {
#ifdef MUST_FAIL
    window.put_notify(lapwing::Rank{0}, lapwing::Offset{0}, values, 0);
#else
    window.put_notify(lapwing::Rank{0}, lapwing::Offset{0}, values[0], 0);
#endif
}
