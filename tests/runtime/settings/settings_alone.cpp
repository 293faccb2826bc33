// Asks for settings and uses nothing else of the library.
#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <cstdio>

int main() {
    try {
        const lapwing::Settings settings;
        std::printf("%zu settings known\n", lapwing::all_settings().size());
        return 0;
    } catch (const lapwing::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
