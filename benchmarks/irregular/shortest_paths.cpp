// Shortest paths from one vertex, by delta-stepping, in the Graph500 benchmark's graph. Its specification has weights
// between 0 and 1; these are whole numbers, so that the lengths of paths are exact.
#include "random_numbers.hpp"
#include "relaxation.hpp"

#include <functional>
#include <queue>
#include <utility>

namespace lapwing::bench::irregular {
namespace {

constexpr std::uint64_t weight_stream = 30;
constexpr Number largest_weight = 255;
constexpr Number width = 32;

[[nodiscard]] Number weight(Number from, Number to) {
    return 1 + random_below(largest_weight, weight_stream, pair_of(std::min(from, to), std::max(from, to)));
}

/// Dijkstra's algorithm.
[[nodiscard]] std::vector<Number> paths_from(Number root, const Rows& graph) {
    std::vector<Number> lengths(graph.parts().count(), no_value);
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue;
    lengths[root] = 0;
    queue.push(pair_of(0, root));
    while (!queue.empty()) {
        const std::uint64_t next = queue.top();
        queue.pop();
        const Number vertex = value_of(next);
        if (number_of(next) > lengths[vertex]) continue;
        for (const Number other : graph.row(vertex))
            if (const Number length = lengths[vertex] + weight(vertex, other); length < lengths[other]) {
                lengths[other] = length;
                queue.push(pair_of(length, other));
            }
    }
    return lengths;
}

} // namespace

KernelKind shortest_paths() {
    const auto input = [](int scale) {
        return [=](Ranks ranks) {
            const Edges edges = graph500(scale);
            const Number root = number_of(edges.edge(0));
            return std::make_unique<Relaxation>(
                ranks, RelaxationProblem{.edges = edges,
                                         .begin = [root](Number vertex) { return vertex == root ? 0 : no_value; },
                                         .weight = weight,
                                         .width = width,
                                         .solve_serially = std::bind_front(paths_from, root)});
        };
    };
    return {
        .name = "irregular/shortest-paths",
        .summary =
            "shortest paths by delta-stepping in the Graph500 benchmark's graph; fails unless all lengths are right",
        .operations = "edges",
        .inputs = {{"Graph500 scale 16", {Way::aggregated, Way::lists}, input(16)},
                   {"Graph500 scale 18", {Way::aggregated, Way::lists}, input(18), Size::full},
                   {"Graph500 scale 7", {Way::aggregated, Way::lists, Way::elements}, input(7), Size::small}}};
}

} // namespace lapwing::bench::irregular
