// startup: the cost of a runtime and its first window for a rank, in time and memory. Run with different numbers of
// ranks.
#include "harness.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdint>
#include <fstream>
#include <string>

#include <unistd.h>

namespace lapwing::bench {
namespace {

constexpr std::uint64_t window_bytes = 64;

/// Memory of this process that is not shared with others, in bytes.
std::int64_t private_memory() {
    std::ifstream file{"/proc/self/statm"};
    std::int64_t total = 0;
    std::int64_t resident = 0;
    std::int64_t shared = 0;
    file >> total >> resident >> shared;
    return (resident - shared) * sysconf(_SC_PAGESIZE);
}

std::int64_t largest(MPI_Comm world, std::int64_t value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_MAX, world);
    return value;
}

void measure_memory(Context& context, const std::string& name, std::int64_t before) {
    const std::int64_t grown = largest(context.world(), private_memory() - before);
    context.add({.case_name = name,
                 .metric = "memory",
                 .value = static_cast<double>(grown) / 1024,
                 .unit = "KiB",
                 .repetitions = 1});
}

void startup(Context& context) {
    MPI_Comm world = context.world();
    {
        // The first runtime of the process, which also makes what later ones share.
        MPI_Barrier(world);
        const std::int64_t before = private_memory();
        Runtime runtime;
        (void)context.measure_against(runtime);
        measure_memory(context, "first runtime", before);
        const std::int64_t before_window = private_memory();
        Window window{runtime, window_bytes};
        measure_memory(context, "first window of 64 bytes", before_window);
        window.close();
        runtime.close();
    }
    const auto runtimes = [&](std::uint64_t iterations) {
        return together(world, [&] {
            for (std::uint64_t i = 0; i < iterations; ++i) {
                Runtime runtime;
                runtime.close();
            }
        });
    };
    const auto duplicates = [&](std::uint64_t iterations) {
        return together(world, [&] {
            for (std::uint64_t i = 0; i < iterations; ++i) {
                MPI_Comm duplicate = MPI_COMM_NULL;
                MPI_Comm_dup(world, &duplicate);
                MPI_Comm_free(&duplicate);
            }
        });
    };
    context.compare("runtime made and closed", milliseconds(), {.name = "lapwing", .run = runtimes},
                    {{.name = "MPI_Comm_dup and MPI_Comm_free", .run = duplicates}});
    Runtime runtime;
    const auto windows = [&](std::uint64_t iterations) {
        return together(world, [&] {
            for (std::uint64_t i = 0; i < iterations; ++i) {
                Window window{runtime, window_bytes};
                window.close();
            }
        });
    };
    context.compare("window made and closed", milliseconds(), {.name = "lapwing", .run = windows}, {});
    runtime.close();
}

const Registration registration{
    {.name = "startup", .summary = "time and memory of a runtime and its first window", .run = startup}};

} // namespace
} // namespace lapwing::bench
