// release/windows: what a release of a team costs that has many windows to complete, beside one.
#include "harness.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::size_t many = 16;

/// Seconds that rank 0 is in release() in so many iterations, each behind a put of one value to each of the windows.
double releases(Runtime& runtime, Rank target, std::span<Window> windows, std::uint64_t iterations) {
    double seconds = 0;
    runtime.barrier();
    if (measures(runtime)) {
        for (std::uint64_t i = 0; i < iterations; ++i) {
            for (Window& window : windows) window.put(target, Offset{0}, i);
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
    for (const CacheMode mode : {CacheMode::off, CacheMode::epoch}) {
        std::vector<Window> windows;
        for (std::size_t i = 0; i < many; ++i) windows.emplace_back(runtime, 4096, WindowOptions{.cache = {.mode = mode}});
        const auto release = [&](std::size_t count) {
            return [&, count](std::uint64_t iterations) {
                return releases(runtime, route.target, std::span{windows}.first(count), iterations);
            };
        };
        context.compare(mode == CacheMode::off ? "16 windows, not cached" : "16 windows, cached", microseconds(),
                        {.name = "16 windows", .run = release(many)}, {{.name = "1 window", .run = release(1)}});
        for (Window& window : windows) window.close();
    }
    runtime.close();
}

const Registration registration{
    {.name = "release/windows", .summary = "a release behind a put to each of 16 windows, beside one window", .run = of_windows}};

} // namespace
} // namespace lapwing::bench
