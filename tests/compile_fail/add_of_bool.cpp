// bool has exchange, compare_swap and bit operations only.
#include <lapwing/window.hpp>

#ifdef MUST_FAIL
void use(lapwing::Window& window) { window.atomic<bool>(0, 0).fetch_add(true); }
#else
void use(lapwing::Window& window) { window.atomic<bool>(0, 0).fetch_or(true); }
#endif
