// functions/call: a function with a result at an idle rank, compared with a get of as many bytes. functions/post:
// functions without results through an aggregator, compared with round trips and with a put of as many bytes.
// functions/hash-map: keys of a distributed hash map (examples/hash_map.hpp) in lists, compared with one by one.
#include "harness.hpp"

#include "examples/hash_map.hpp"

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

void hash_map(Context& context) {
    constexpr std::uint64_t many = 200'000;
    constexpr std::uint64_t some = 1000;
    using example::HashMap;
    Runtime runtime;
    (void)context.measure_against(runtime);
    HashMap map{runtime, static_cast<std::int64_t>(many) * runtime.size()};
    const auto rank = static_cast<std::uint64_t>(runtime.rank().value);
    std::vector<HashMap::Pair> pairs;
    std::vector<HashMap::Key> keys;
    for (std::uint64_t k = 0; k < many; ++k) {
        pairs.push_back({k * static_cast<std::uint64_t>(runtime.size()) + rank, static_cast<HashMap::Value>(k)});
        keys.push_back(pairs.back().key);
    }
    std::vector<HashMap::Found> found(many);
    const auto seconds_of = [&](std::uint64_t iterations, auto&& step) {
        double seconds = 0;
        for (std::uint64_t i = 0; i < iterations; ++i) seconds += step();
        return seconds;
    };
    const Subject inserts{.name = "HashMap::insert of a list", .run = [&](std::uint64_t iterations) {
                              return seconds_of(iterations, [&] {
                                  map.clear();
                                  return together(runtime, [&] { map.insert(pairs); }); // which ends in a barrier
                              });
                          }};
    const Subject finds{.name = "HashMap::find of a list", .run = [&](std::uint64_t iterations) {
                            return seconds_of(iterations,
                                              [&] { return together(runtime, [&] { map.find(keys, found); }); });
                        }};
    const Subject singles{.name = "HashMap::find, one by one", .run = [&](std::uint64_t iterations) {
                              return many / some * seconds_of(iterations, [&] {
                                         return together(runtime, [&] {
                                             HashMap::Value sum = 0;
                                             for (std::uint64_t k = 0; k < some; ++k) sum += map.find(keys[k]).value;
                                             keep(sum);
                                         });
                                     });
                          }};
    const Quantity each{.metric = "time", .unit = "us", .scale = 1e6 / many};
    context.compare("insert", each, inserts, {singles});
    context.compare("find", each, finds, {singles});
}

const Registration calls{{.name = "functions/call",
                          .summary = "a function with a result of 8 bytes at an idle target, compared with a get",
                          .run = call}};
const Registration posts{
    {.name = "functions/post",
     .summary = "functions with arguments of 16 bytes, gathered, compared with round trips and a put",
     .run = post}};
const Registration hash_maps{
    {.name = "functions/hash-map",
     .summary =
         "200,000 keys a rank of a distributed hash map, inserted and looked up in lists, compared with one by one",
     .run = hash_map}};

} // namespace
} // namespace lapwing::bench
