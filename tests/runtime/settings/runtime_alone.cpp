// Uses a runtime and nothing else of the library.
#include <lapwing/runtime.hpp>

#include <cstdio>

int main() {
    lapwing::Runtime runtime;
    std::printf("%zu settings known\n", lapwing::all_settings().size());
}
