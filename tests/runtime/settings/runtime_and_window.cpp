// Uses a runtime, a window and nothing else of the library.
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdio>

int main() {
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 8};
    std::printf("%zu settings known\n", lapwing::all_settings().size());
}
