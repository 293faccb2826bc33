// A pointer that is read would be an address of another process.
#include <lapwing/window.hpp>

#include <span>

void use(lapwing::Window& window) {
#ifdef MUST_FAIL
    (void)window.get<std::span<double>>(lapwing::Rank{0}, lapwing::Offset{0});
#else
    (void)window.get<double>(lapwing::Rank{0}, lapwing::Offset{0});
#endif
}
