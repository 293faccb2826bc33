// Floating point numbers have no bit operations.
#include <lapwing/window.hpp>

#ifdef MUST_FAIL
void use(lapwing::Window& window) { window.atomic<double>(0, 0).bit_or(1.0); }
#else
void use(lapwing::Window& window) { window.atomic<int>(0, 0).bit_or(1); }
#endif
