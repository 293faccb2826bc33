// Whether what SSCA2 is compared with is right.
#include "ssca2/graph.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace lapwing::bench::applications;
using lapwing::bench::irregular::Edges;
using lapwing::bench::irregular::Number;
using lapwing::bench::irregular::pair_of;

TEST_CASE("the serial centrality is that of graphs whose centralities are known") {
    const auto centrality = [](Number vertices, const std::vector<std::uint64_t>& ends) {
        std::vector<Number> roots;
        for (Number root = 0; root < vertices; ++root) roots.push_back(root);
        return serial_centrality({.vertices = vertices,
                                  .count = ends.size(),
                                  .edge = [&](std::uint64_t k) { return ends[k]; },
                                  .both_ways = false},
                                 roots);
    };
    CHECK(centrality(4, {pair_of(0, 1), pair_of(1, 2), pair_of(2, 3)}) == std::vector<double>{0, 2, 2, 0});
    CHECK(centrality(4, {pair_of(0, 1), pair_of(0, 2), pair_of(1, 3), pair_of(2, 3)}) ==
          std::vector<double>{0, 0.5, 0.5, 0});
    CHECK(centrality(3, {pair_of(0, 1), pair_of(1, 2), pair_of(2, 0)}) == std::vector<double>{1, 1, 1});
}

TEST_CASE("the R-MAT generator has the probabilities of its specification") {
    // As the Kronecker generator of the irregular kernels: a share (a + b)^scale of the edges leaves the vertex that
    // most leave, and (a + c)^scale reach the one that most reach. A weight in 8 leaves an edge out, as a loop.
    constexpr int scale = 8;
    const Edges edges = rmat(scale);
    std::vector<double> leaving(edges.vertices);
    double kept = 0;
    double loops = 0;
    for (std::uint64_t k = 0; k < edges.count; ++k) {
        const std::uint64_t ends = edges.edge(k);
        const Number from = lapwing::bench::irregular::number_of(ends);
        if (ends == pair_of(0, 0)) continue;
        ++kept;
        ++leaving[from];
        loops += from == lapwing::bench::irregular::value_of(ends) ? 1 : 0;
    }
    CHECK(edges.count == 8U * 256);
    CHECK(kept / static_cast<double>(edges.count) == Approx(7.0 / 8).epsilon(0.03));
    CHECK(*std::ranges::max_element(leaving) / kept == Approx(std::pow(0.65, scale)).epsilon(0.2));
    CHECK(loops / kept == Approx(std::pow(0.8, scale)).epsilon(0.2));
}
