// prefetch/initialize, prefetch/update and prefetch/memory: the cost of making copies and filling them again, compared
// with bulk copies of the same data by hand. Kayraklioglu, Ferguson and El-Ghazawi, sections 6.2.2, 6.2.3 and 6.4.
#include "harness.hpp"
#include "prefetch_modes.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/halo.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/runtime.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t side = 2048; ///< as published: 2048 x 2048 doubles

constexpr PrefetchOptions every_mode[] = {
    {.consistent = false}, {.consistent = false, .static_domain = true}, {}, {.static_domain = true}};

/// All elements on every rank: made, filled and given back.
void initialize(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    GlobalArray<double, 2> array{runtime, {side, side}, Block{}};
    array.fill(1);
    std::vector<double> whole(static_cast<std::size_t>(side * side));
    const Subject by_hand{.name = "get() of the whole array", .run = [&](std::uint64_t rounds) {
                              return together(runtime, [&] {
                                  for (std::uint64_t k = 0; k < rounds; ++k) {
                                      runtime.barrier();
                                      array(array.domain()).get(whole);
                                      runtime.barrier();
                                  }
                              });
                          }};
    const auto theirs = static_cast<std::int64_t>(runtime.rank() == Rank{0} ? side - 1 : 0);
    for (const PrefetchOptions& options : every_mode)
        context.compare(text(options), milliseconds(),
                        {.name = "prefetch(AllToAll{})",
                         .run =
                             [&](std::uint64_t rounds) {
                                 return together(runtime, [&] {
                                     for (std::uint64_t k = 0; k < rounds; ++k) {
                                         array.prefetch(AllToAll{}, options);
                                         double value = array(theirs, theirs); // fills automatic copies
                                         keep(value);
                                         array.evict();
                                         runtime.barrier();
                                     }
                                 });
                             }},
                        {by_hand});
    array.close();
    runtime.close();
}

/// 100 fixed random elements of others a rank and round, all of the array prefetched, a barrier each round.
void update(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    GlobalArray<double, 2> array{runtime, {side, side}, Block{}};
    array.fill(1);
    std::vector<Index<2>> wanted;
    std::mt19937_64 generator{static_cast<std::uint64_t>(runtime.rank().value)};
    std::uniform_int_distribution<std::int64_t> draw{0, side - 1};
    while (wanted.size() < 100)
        if (const Index<2> index{draw(generator), draw(generator)}; !array.is_local(index)) wanted.push_back(index);
    std::vector<double> whole(static_cast<std::size_t>(side * side));
    const auto rounds_of = [&](auto refill, auto read) {
        return [&runtime, &wanted, refill, read](std::uint64_t rounds) {
            return together(runtime, [&] {
                double sum = 0;
                for (std::uint64_t k = 0; k < rounds; ++k) {
                    runtime.barrier();
                    refill();
                    for (const Index<2>& index : wanted) sum += read(index);
                }
                keep(sum);
            });
        };
    };
    const auto element = [&](const Index<2>& index) -> double { return array(index); };
    const Subject by_hand{.name = "get() of the whole array",
                          .run = rounds_of([&] { array(array.domain()).get(whole); },
                                           [&](const Index<2>& index) {
                                               return whole[static_cast<std::size_t>(index[0] * side + index[1])];
                                           })};
    const Subject one_by_one{.name = "no prefetch", .run = rounds_of([] {}, element), .case_suffix = ", no prefetch"};
    for (const PrefetchOptions& options : every_mode) {
        array.prefetch(AllToAll{}, options);
        const Subject value{.name = "prefetched",
                            .run = rounds_of(
                                [&] {
                                    if (!options.consistent) array.update();
                                },
                                element)};
        context.compare(text(options), milliseconds(), value, {by_hand});
        array.evict();
        runtime.barrier();
    }
    context.compare("no prefetch", milliseconds(), one_by_one, {by_hand});
    array.close();
    runtime.close();
}

/// Bytes that a rank keeps beside its own elements, most at a time: those of a stencil, of rows and of everything,
/// beside buffers for the same elements.
void memory(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    const auto row = [&](const char* name, const auto& pattern, const Domain<2>& by_hand) {
        for (const PrefetchOptions& options : every_mode) {
            GlobalArray<double, 2> array{runtime, {side, side}, Block{}};
            array.prefetch(pattern, options);
            double value = array(side - 1, side - 1); // fills automatic copies
            keep(value);
            // A program that copies by hand copies no own elements, either.
            const auto hand =
                static_cast<double>((by_hand.size() - by_hand.intersect(array.local_domain()).size()) * sizeof(double));
            const auto bytes = static_cast<double>(array.statistics()[Counter::prefetch_memory_peak]);
            if (runtime.rank() == Rank{0})
                context.add({.case_name = std::string{name} + ", " + text(options),
                             .metric = "memory",
                             .value = bytes,
                             .unit = "bytes",
                             .baseline = "buffers for these elements",
                             .baseline_value = hand,
                             .ratio = hand / bytes,
                             .min = bytes,
                             .max = bytes,
                             .repetitions = 1});
            array.close();
        }
    };
    GlobalArray<double, 2> shape{runtime, {side, side}, Block{}};
    const Domain<2> own = shape.local_domain();
    row("stencil of depth 8", Stencil{.depth = 8}, own.expand(8).intersect(shape.domain()));
    row("row-wise", RowWise{}, Domain<2>{own.range(0), shape.domain().range(1)});
    row("all-to-all", AllToAll{}, shape.domain());
    shape.close();
    runtime.close();
}

const Registration initialize_registration{
    {.name = "prefetch/initialize",
     .summary = "copies of a whole array, made and filled, compared with one get()",
     .run = initialize,
     .paths = {"rma", "service"}}};
const Registration update_registration{
    {.name = "prefetch/update",
     .summary = "copies of a whole array filled again each round, of which 100 elements are read",
     .run = update,
     .paths = {"rma", "service"}}};
const Registration memory_registration{{.name = "prefetch/memory",
                                        .summary = "memory of prefetched copies beside buffers for the same elements",
                                        .run = memory,
                                        .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
