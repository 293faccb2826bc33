// Elements travel as bytes: a type with a copy constructor of its own cannot be one.
#include <lapwing/global_array.hpp>

#include <string>

void use() {
#ifdef MUST_FAIL
    lapwing::GlobalArray<std::string, 1> names;
#else
    lapwing::GlobalArray<char, 1> names;
#endif
}
