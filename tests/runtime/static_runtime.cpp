// Runtimes, and arrays on them, as static objects of the program: they are made before main or in it, and end at its
// exit, after or before any other static object, as the C++ rules say. One case a run, since MPI can be finalized
// once.
#include <lapwing/cache.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

namespace {

/// The case, which objects before main ask for, too.
[[nodiscard]] bool is_case(std::string_view name) {
    const char* const value = std::getenv("TEST_STATIC");
    return value != nullptr && value == name;
}

/// A runtime and what is made from it; the members end in the other order.
struct Program {
    lapwing::Runtime runtime{MPI_COMM_WORLD};
    lapwing::GlobalArray<double, 1> array{
        runtime, {100}, lapwing::Block{}, {.cache = {.mode = lapwing::CacheMode::epoch}}};

    /// Every rank writes to and reads from others.
    void work() {
        const int rank = runtime.rank().value;
        array((rank * 37 + 99) % 100) = rank + 1.0;
        runtime.barrier();
        double sum = 0;
        for (int i = 0; i < runtime.size(); ++i) sum += array((i * 37 + 99) % 100);
        if (sum != 0.5 * runtime.size() * (runtime.size() + 1)) {
            std::printf("a wrong sum: %g\n", sum);
            std::_Exit(1);
        }
        runtime.barrier();
    }
    ~Program() {
        // Another rank's part is written and read at the end, too, by what the library needs for it.
        const int place = (runtime.rank().value * 37 + 99) % 100;
        array(place) = 7;
        if (array(place) != 7) std::puts("a wrong element");
        std::puts("a program ends");
    }
};

// Made by the loader, before anything with a constructor.
std::unique_ptr<Program> pointer;
std::optional<Program> maybe;
thread_local std::unique_ptr<Program> of_thread;
// Made before main, in a source that the linker sees before the library.
const auto early = is_case("before_main") ? std::make_unique<Program>() : nullptr;

struct Singleton {
    std::optional<Program> program;
    static Singleton& instance() {
        static Singleton singleton;
        return singleton;
    }
};

} // namespace

int main() {
    if (is_case("before_main")) early->work();
    if (is_case("pointer")) (pointer = std::make_unique<Program>())->work();
    if (is_case("optional")) maybe.emplace().work();
    if (is_case("singleton")) Singleton::instance().program.emplace().work();
    if (is_case("function_static")) {
        static Program program;
        program.work();
    }
    if (is_case("exit_handler")) {
        std::atexit([] { pointer.reset(); });
        (pointer = std::make_unique<Program>())->work();
    }
    if (is_case("made_at_exit"))
        std::atexit([] {
            Program program;
            program.work();
        });
    if (is_case("thread_local")) (of_thread = std::make_unique<Program>())->work();
    if (is_case("other_thread")) std::thread{[] { (of_thread = std::make_unique<Program>())->work(); }}.join();
    std::puts("main ends");
    std::fflush(stdout);
}
