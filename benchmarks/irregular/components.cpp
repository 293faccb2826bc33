// Connected components of the Graph500 benchmark's graph: each vertex gets the smallest number of its component, which
// spreads from neighbour to neighbour.
#include "relaxation.hpp"

#include <algorithm>
#include <numeric>

namespace lapwing::bench::irregular {
namespace {

/// By trees whose roots are the smallest vertices.
[[nodiscard]] std::vector<Number> smallest_numbers(const Rows& graph) {
    std::vector<Number> parents(graph.parts().count());
    std::iota(parents.begin(), parents.end(), Number{0});
    const auto root_of = [&](Number vertex) {
        while (parents[vertex] != vertex) vertex = parents[vertex] = parents[parents[vertex]];
        return vertex;
    };
    for (Number vertex = 0; vertex < parents.size(); ++vertex)
        for (const Number other : graph.row(vertex)) {
            const Number one = root_of(vertex);
            const Number two = root_of(other);
            parents[std::max(one, two)] = std::min(one, two);
        }
    for (Number vertex = 0; vertex < parents.size(); ++vertex) parents[vertex] = root_of(vertex);
    return parents;
}

} // namespace

KernelKind components() {
    const auto input = [](int scale) {
        return [=](Ranks ranks) {
            return std::make_unique<Relaxation>(ranks, RelaxationProblem{.edges = graph500(scale),
                                                                         .begin = [](Number vertex) { return vertex; },
                                                                         .solve_serially = smallest_numbers});
        };
    };
    return {.name = "irregular/components",
            .summary = "connected components of the Graph500 benchmark's graph; fails unless all are right",
            .operations = "edges",
            .inputs = {{"Graph500 scale 16", {Way::aggregated, Way::lists}, input(16)},
                       {"Graph500 scale 18", {Way::aggregated, Way::lists}, input(18), Size::full},
                       {"Graph500 scale 7", {Way::aggregated, Way::lists, Way::elements}, input(7), Size::small}}};
}

} // namespace lapwing::bench::irregular
