// Saves an array and is killed halfway, or checks whether a file is complete: see killed_save.py.
#include <lapwing/checkpoint.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <csignal>
#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    using namespace lapwing;
    if (argc != 3) return 2;
    const std::string_view what = argv[1];
    Runtime runtime;
    const std::int64_t n = std::int64_t{4} << 20; // several rounds
    GlobalArray<double, 1> array{runtime, {n}, Cyclic{}};
    if (what == "save") {
        array.fill(1);
        array.save(argv[2]);
    } else if (what == "die") {
        array.fill(2);
        array.save(argv[2], {.progress = [](std::uint64_t done, std::uint64_t all) {
                       if (2 * done >= all) std::raise(SIGKILL);
                   }});
    } else {
        array.load(argv[2]);
        const bool whole = array.min() == 1 && array.max() == 1;
        if (runtime.rank() == Rank{0}) std::puts(whole ? "the file is whole" : "the file is another");
    }
    array.close();
    runtime.close();
    return 0;
}
