#include "ssca2/graph.hpp"

#include "../irregular/random_numbers.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace lapwing::bench::applications {

using irregular::Edges;
using irregular::Number;
using irregular::pair_of;
using irregular::Parts;
using irregular::Rows;

namespace {

enum : std::uint64_t { end_stream = 800, weight_stream, label_stream };

} // namespace

Edges rmat(int scale) {
    constexpr double a = 0.55;
    constexpr double b = 0.1;
    constexpr double c = 0.1;
    const Number vertices = Number{1} << scale;
    const auto edge = [scale, vertices](std::uint64_t k) {
        if (const std::uint64_t weight = 1 + irregular::random_below(vertices, weight_stream, k); weight % 8 == 0)
            return pair_of(0, 0); // a loop
        Number from = 0;
        Number to = 0;
        for (int bit = 0; bit < scale; ++bit) {
            const std::uint64_t random = irregular::random_number(end_stream, k * 64 + static_cast<std::uint64_t>(bit));
            const double place = static_cast<double>(random >> 11) * 0x1p-53;
            from |= Number{place >= a + b} << bit;
            to |= Number{(place >= a && place < a + b) || place >= a + b + c} << bit;
        }
        return pair_of(irregular::shuffled(vertices, label_stream, from),
                       irregular::shuffled(vertices, label_stream, to));
    };
    return {.vertices = vertices, .count = 8 * std::uint64_t{vertices}, .edge = edge, .both_ways = false};
}

std::vector<double> serial_centrality(const Edges& edges, std::span<const Number> roots) {
    const Rows graph{MPI_COMM_SELF, Parts{edges.vertices, 1, 0}, edges};
    std::vector<double> centrality(edges.vertices);
    for (const Number root : roots) {
        std::vector<std::int64_t> distance(edges.vertices, -1);
        std::vector<double> paths(edges.vertices);
        std::vector<double> dependency(edges.vertices);
        std::vector<std::vector<Number>> predecessors(edges.vertices);
        std::vector<Number> queue{root};
        distance[root] = 0;
        paths[root] = 1;
        for (std::size_t next = 0; next < queue.size(); ++next) {
            const Number v = queue[next];
            for (const Number w : graph.row(v)) {
                if (distance[w] < 0) {
                    distance[w] = distance[v] + 1;
                    queue.push_back(w);
                }
                if (distance[w] != distance[v] + 1) continue;
                paths[w] += paths[v];
                predecessors[w].push_back(v);
            }
        }
        for (std::size_t next = queue.size(); next-- > 1;) {
            const Number w = queue[next];
            for (const Number v : predecessors[w]) dependency[v] += paths[v] / paths[w] * (1 + dependency[w]);
            centrality[w] += dependency[w];
        }
    }
    return centrality;
}

} // namespace lapwing::bench::applications
