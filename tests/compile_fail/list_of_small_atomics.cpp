// Lists of atomics need types of a size that is sent unchanged.
#include <lapwing/window.hpp>

#include <cstdint>
#include <vector>

#ifdef MUST_FAIL
using Value = std::int16_t;
#else
using Value = std::int32_t;
#endif

void use(lapwing::Window& window, const std::vector<lapwing::Offset>& offsets, std::vector<Value>& before) {
    window.fetch(lapwing::Atomic::add, 0, offsets, Value{1}, before);
}
