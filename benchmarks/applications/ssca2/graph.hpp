#pragma once

#include "../irregular/graph.hpp"

#include <span>
#include <vector>

namespace lapwing::bench::applications {

/// The scalable data generator's graph, without the edges that kernel 4 leaves out: those with a weight that is a
/// multiple of 8. Loops and repeated edges, which change no shortest path, are left out of Rows.
[[nodiscard]] irregular::Edges rmat(int scale);

/// The betweenness centrality of all vertices, as far as shortest paths from these roots make it up: Brandes' algorithm
/// as published, on one rank.
[[nodiscard]] std::vector<double> serial_centrality(const irregular::Edges& edges,
                                                    std::span<const irregular::Number> roots);

} // namespace lapwing::bench::applications
