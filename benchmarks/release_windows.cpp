// release/windows: the cost of a release of a team that has many windows to complete, compared with one window.
#include "harness.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::size_t many = 16;
constexpr std::size_t large = 16384;

/// Seconds that rank 0 is in release() in so many iterations, each after a put to each of the windows.
double releases(Runtime& runtime, Rank target, std::span<Window> windows, std::span<const std::byte> values,
                std::uint64_t iterations) {
    double seconds = 0;
    runtime.barrier();
    if (measures(runtime)) {
        for (std::uint64_t i = 0; i < iterations; ++i) {
            for (Window& window : windows) window.put(target, Offset{0}, values);
            const Stopwatch watch;
            runtime.release();
            seconds += watch.seconds();
        }
    }
    runtime.barrier();
    return seconds;
}

void of_windows(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    const std::vector<std::byte> values(large);
    const auto measure = [&](const std::string& name, CacheMode mode, std::size_t bytes) {
        std::vector<Window> windows;
        for (std::size_t i = 0; i < many; ++i)
            windows.emplace_back(runtime, large, WindowOptions{.cache = {.mode = mode}});
        const auto release = [&](std::size_t count) {
            return [&, count](std::uint64_t iterations) {
                return releases(runtime, route.target, std::span{windows}.first(count), std::span{values}.first(bytes),
                                iterations);
            };
        };
        context.compare(name, microseconds(), {.name = "16 windows", .run = release(many)},
                        {{.name = "1 window", .run = release(1)}});
        for (Window& window : windows) window.close();
    };
    measure("8 bytes each", CacheMode::off, 8);
    measure("8 bytes each, cached", CacheMode::epoch, 8);
    measure("16 KiB each, cached", CacheMode::epoch, large); // 16 times the bytes, too
    runtime.close();
}

const Registration registration{{.name = "release/windows",
                                 .summary = "a release after a put to each of 16 windows, compared with one window",
                                 .run = of_windows}};

} // namespace
} // namespace lapwing::bench
