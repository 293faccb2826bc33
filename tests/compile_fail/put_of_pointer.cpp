// A pointer would arrive as an address of another process.
#include <lapwing/window.hpp>

#include <vector>

void use(lapwing::Window& window, std::vector<double>& values) {
#ifdef MUST_FAIL
    window.put(lapwing::Rank{0}, lapwing::Offset{0}, values.data());
#else
    window.put(lapwing::Rank{0}, lapwing::Offset{0}, values);
#endif
}
