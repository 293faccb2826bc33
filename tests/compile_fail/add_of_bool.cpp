// bool has swaps and bit operations only.
#include <lapwing/window.hpp>

#ifdef MUST_FAIL
void use(lapwing::Window& window) { window.fetch_add(0, 0, true); }
#else
void use(lapwing::Window& window) { window.fetch_or(0, 0, true); }
#endif
