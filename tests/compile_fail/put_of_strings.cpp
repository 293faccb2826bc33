// A container inside a container would be sent as pointers.
#include <lapwing/window.hpp>

#include <string>
#include <vector>

void use(lapwing::Window& window, std::vector<std::string>& values) {
#ifdef MUST_FAIL
    window.put(lapwing::Rank{0}, lapwing::Offset{0}, values);
#else
    window.put(lapwing::Rank{0}, lapwing::Offset{0}, values[0]);
#endif
}
