// Integers convert to ranks and to offsets, but a rank is not an offset.
#include <lapwing/window.hpp>

#ifdef MUST_FAIL
void use(lapwing::Window& window, lapwing::Rank rank) { window.put_bytes(0, rank, {}); }
#else
void use(lapwing::Window& window, lapwing::Rank rank) { window.put_bytes(rank, 0, {}); }
#endif
