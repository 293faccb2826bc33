// Integers convert to ranks and to offsets, but a rank is not an offset.
#include <lapwing/window.hpp>

#ifdef MUST_FAIL
void use(lapwing::Window& window, lapwing::Rank rank) { window.put(0, rank, 1.0); }
#else
void use(lapwing::Window& window, lapwing::Rank rank) { window.put(rank, 0, 1.0); }
#endif
