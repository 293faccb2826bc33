// access/own-dealt and access/direct-dealt: own elements and those of a node neighbour under distributions whose parts
// are not rows of the array, compared with raw loads. There is no bar for them: they show what the arithmetic of a
// distribution costs.
#include "element_reads.hpp"
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <random>
#include <vector>

namespace lapwing::bench {
namespace {

/// Adds the row for the elements of `owner`, whose part is at `raw`. Both sides read their indices, those of the array
/// or the places in the part, from memory: otherwise the computation of the indices would be compared, too.
template <std::size_t N, class D>
void compare_dealt(Context& context, Team& team, const Extents<N>& extents, const D& distribution, Rank owner,
                   const std::string& name, const char* baseline) {
    GlobalArray<double, N> array{team, extents, distribution};
    const auto map = distribution.map(extents, team.size());
    std::vector<Index<N>> elements;
    for (const Domain<N> domain : array.local_domains(owner))
        for (const Index<N>& index : domain) elements.push_back(index);
    std::mt19937_64 generator{12345};
    std::uniform_int_distribution<std::size_t> draw{0, elements.size() - 1};
    std::vector<std::array<std::int32_t, N>> indices;
    std::vector<std::array<std::int32_t, 1>> places;
    for (int k = 0; k < 4096; ++k) {
        const Index<N>& index = elements[draw(generator)];
        auto& stored = indices.emplace_back();
        for (std::size_t d = 0; d < N; ++d) stored[d] = static_cast<std::int32_t>(index[d]);
        places.push_back({static_cast<std::int32_t>(map.locate(index).offset)});
    }
    const auto* const raw = reinterpret_cast<const double*>(array.window().reachable(owner).data());
    const auto through_array = [&array](auto... index) -> double { return array(index...); };
    const auto through_pointer = [raw](std::int64_t place) { return raw[place]; };
    context.compare(name, nanoseconds(), reads("lapwing", team, StoredIndices<N>{std::move(indices)}, through_array),
                    {reads(baseline, team, StoredIndices<1>{std::move(places)}, through_pointer)});
    array.close();
}

void compare_all(Context& context, Runtime& runtime, Rank owner, const char* baseline) {
    for (const Working& working : working_sets) {
        const Extents<1> line{working.elements * runtime.size()};
        const Extents<2> sheet{working.elements / columns, columns * runtime.size()};
        const auto compare = [&](const auto& extents, const auto& distribution, const char* name) {
            compare_dealt(context, runtime, extents, distribution, owner, std::string{name} + ", " + working.name,
                          baseline);
        };
        compare(line, Cyclic{}, "a(i), Cyclic");
        compare(line, BlockCyclic{.block = {24}}, "a(i), BlockCyclic of 24");
        compare(sheet, Block{.grid = {1, 0}}, "a(i, j), Block by columns");
        compare(sheet, BlockCyclic{.block = {5, 24}}, "a(i, j), BlockCyclic of 5 x 24");
    }
}

void own_dealt(Context& context) {
    Runtime runtime;
    context.set_path("self");
    compare_all(context, runtime, runtime.rank(), "raw pointer");
    runtime.close();
}

void direct_dealt(Context& context) {
    Runtime runtime;
    const auto neighbour = direct_neighbour(context, runtime);
    if (!neighbour) return;
    compare_all(context, runtime, *neighbour, "raw load");
    runtime.close();
}

const Registration own_registration{
    {.name = "access/own-dealt",
     .summary = "single reads of own elements that are distributed cyclically, or in columns",
     .run = own_dealt,
     .paths = {"direct"}}};
const Registration direct_registration{
    {.name = "access/direct-dealt",
     .summary = "single reads of a neighbour's elements that are distributed cyclically, or in columns",
     .run = direct_dealt,
     .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
