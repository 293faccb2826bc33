// Elements are copied as bytes: a type with its own copy constructor cannot be an element.
#include <lapwing/global_array.hpp>

#include <string>

void use() {
#ifdef MUST_FAIL
    lapwing::GlobalArray<std::string, 1> names;
#else
    lapwing::GlobalArray<char, 1> names;
#endif
}
