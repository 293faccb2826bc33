// assign/plans: what a rank computes before it moves anything, for pairs of distributions over 100,000 processes, which
// needs no messages.
#include "harness.hpp"

#include "src/distribution/matching.hpp"

#include <lapwing/distribution.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using detail::distribution::DimensionMap;
using detail::distribution::IndexSequence;
using detail::distribution::Match;

constexpr int processes = 100'000;
constexpr int process = processes / 3;
constexpr std::int64_t extent = 10'000'000'000;

struct Dealt {
    std::string name;
    BlockCyclicMap<1> map;
};

void plans(Context& context) {
    context.set_path("self");
    const Extents<1> extents{extent};
    std::vector<Dealt> all{{"Block", Block{}.map(extents, processes)}, {"Cyclic", Cyclic{}.map(extents, processes)}};
    for (const std::int64_t block : {7, 64, 999, 1000})
        all.push_back({fmt::format("BlockCyclic{{{}}}", block), BlockCyclic{{block}}.map(extents, processes)});
    const auto measure = [&](const Dealt& here, const IndexSequence& of_here, const Dealt& there,
                             const IndexSequence& of_there, const std::string& name) {
        std::vector<Match> matches;
        const auto find = [&] {
            matches = detail::distribution::match(here.map.dimensions()[0], process, of_here, there.map.dimensions()[0],
                                                  of_there);
        };
        find();
        if (matches.empty()) return context.skip(name, "the process has nothing of this slice");
        const Subject plan{.name = "lapwing", .run = [&](std::uint64_t iterations) {
                               const Stopwatch watch;
                               for (std::uint64_t i = 0; i < iterations; ++i) find();
                               return watch.seconds();
                           }};
        // The least that any planner does: it writes down its result.
        const Subject least{.name = "copy of the result", .run = [&](std::uint64_t iterations) {
                                const Stopwatch watch;
                                for (std::uint64_t i = 0; i < iterations; ++i) {
                                    std::vector<Match> copy = matches;
                                    keep(copy);
                                }
                                return watch.seconds();
                            }};
        context.compare(name, milliseconds(), plan, {least});
    };
    for (const Dealt& here : all)
        for (const Dealt& there : all) {
            const IndexSequence whole{0, 1, static_cast<std::uint64_t>(extent)};
            measure(here, whole, there, whole, fmt::format("{} from {}", here.name, there.name));
            // Strides above most blocks.
            const IndexSequence by_70{0, 70, static_cast<std::uint64_t>(extent / 71)};
            const IndexSequence by_71{3, 71, static_cast<std::uint64_t>(extent / 71)};
            measure(here, by_70, there, by_71, fmt::format("{} by 70 from {} by 71", here.name, there.name));
        }
}

const Registration registration{
    {.name = "assign/plans",
     .summary = "cost of planning an assignment over 100,000 processes, for each pair of distributions",
     .run = plans}};

} // namespace
} // namespace lapwing::bench
