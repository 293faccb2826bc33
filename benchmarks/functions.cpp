// functions/call: a function with a result at an idle rank, compared with a get of as many bytes. functions/post:
// functions without results through an aggregator, compared with round trips and with a put of as many bytes.
#include "harness.hpp"

#include <lapwing/aggregator.hpp>
#include <lapwing/functions.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::uint64_t window_bytes = 4096;
constexpr std::uint64_t window_values = window_bytes / sizeof(std::uint64_t);

std::uint64_t received = 0; ///< of this rank, so that the functions do something

void call(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    Window window{runtime, window_bytes};
    const Subject calls{
        .name = "Team::call", .run = [&](std::uint64_t iterations) {
            return alone(runtime, [&] {
                std::uint64_t sum = 0;
                for (std::uint64_t i = 0; i < iterations; ++i)
                    sum += runtime.call(route.target, [](std::uint64_t x) { return received += x; }, i).get();
                keep(sum);
            });
        }};
    const Subject gets{.name = "Window::get", .run = [&](std::uint64_t iterations) {
                           return alone(runtime, [&] {
                               std::uint64_t sum = 0;
                               for (std::uint64_t i = 0; i < iterations; ++i)
                                   sum += window.get<std::uint64_t>(route.target,
                                                                    Offset::of<std::uint64_t>(i % window_values));
                               keep(sum);
                           });
                       }};
    context.compare("8 bytes", microseconds(), calls, {gets});
    window.close();
    runtime.close();
}

void post(Context& context) {
    constexpr std::uint64_t many = 100'000;
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    Window window{runtime, 2 * sizeof(std::uint64_t) * many};
    const std::vector<std::uint64_t> values(2 * many, 1);
    const auto add = [](std::uint64_t a, std::uint64_t b) { received += a + b; };
    const Subject posts{.name = "Aggregator::post", .run = [&](std::uint64_t iterations) {
                            return alone(runtime, [&] {
                                Aggregator aggregator{runtime};
                                for (std::uint64_t i = 0; i < iterations; ++i) {
                                    for (std::uint64_t k = 0; k < many; ++k) aggregator.post(route.target, add, i, k);
                                    runtime.release();
                                }
                            });
                        }};
    const Subject round_trips{.name = "Team::call, one by one", .run = [&](std::uint64_t iterations) {
                                  constexpr std::uint64_t some = 1000;
                                  return many / some * alone(runtime, [&] {
                                             for (std::uint64_t i = 0; i < iterations; ++i)
                                                 for (std::uint64_t k = 0; k < some; ++k)
                                                     runtime.call(route.target, add, i, k).get();
                                         });
                              }};
    const Subject puts{.name = "Window::put of as many bytes",
                       .run =
                           [&](std::uint64_t iterations) {
                               return alone(runtime, [&] {
                                   for (std::uint64_t i = 0; i < iterations; ++i) {
                                       window.put(route.target, Offset{0}, std::span{values});
                                       runtime.release();
                                   }
                               });
                           },
                       .case_suffix = ", put"};
    context.compare("16 bytes", {.metric = "rate", .unit = "M/s", .scale = many * 1e-6, .rate = true}, posts,
                    {round_trips, puts});
    window.close();
    runtime.close();
}

const Registration calls{{.name = "functions/call",
                          .summary = "a function with a result of 8 bytes at an idle target, compared with a get",
                          .run = call}};
const Registration posts{
    {.name = "functions/post",
     .summary = "functions with arguments of 16 bytes, gathered, compared with round trips and a put",
     .run = post}};

} // namespace
} // namespace lapwing::bench
