// Floating point numbers have no bit operations.
#include <lapwing/window.hpp>

#ifdef MUST_FAIL
void use(lapwing::Window& window) { window.bit_or(0, 0, 1.0); }
#else
void use(lapwing::Window& window) { window.bit_or(0, 0, 1); }
#endif
