// The irregular kernels of the benchmarks, in each of their ways, at small sizes.
#include "graph.hpp"
#include "kernel.hpp"
#include "random_numbers.hpp"
#include "search_tree.hpp"

#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace lapwing::bench::irregular;

TEST_CASE("a kernel's result is right whichever way it was computed") {
    lapwing::Runtime runtime;
    for (const KernelKind& kind : all_kernels())
        for (const Input& input : kind.inputs) {
            if (input.size != Size::small) continue;
            INFO(kind.name << ": " << input.name);
            const std::unique_ptr<Kernel> kernel = input.make({runtime, MPI_COMM_WORLD});
            std::vector<Way> ways = input.ways;
            ways.insert(ways.begin(), Way::mpi);
            for (const Way way : ways) {
                INFO(name(way));
                kernel->prepare(way);
                // What has not been computed is not right: else the check would find nothing.
                CHECK_FALSE(test::on_all_ranks(kernel->fault(way) == ""));
                kernel->prepare(way);
                kernel->run(way);
                CHECK(kernel->fault(way) == "");
                CHECK(kernel->operations() > 0);
            }
        }
    runtime.close();
}

TEST_CASE("a graph is the same on any number of ranks") {
    const Edges edges = graph500(9);
    const Rows whole{MPI_COMM_SELF, Parts{edges.vertices, 1, 0}, edges};
    const Parts parts{edges.vertices, static_cast<Number>(test::world_size()), static_cast<Number>(test::world_rank())};
    const Rows own{MPI_COMM_WORLD, parts, edges};
    int wrong = 0;
    for (Number local = 0; local < parts.own(); ++local)
        wrong += std::ranges::equal(own.row(local), whole.row(parts.first() + local)) ? 0 : 1;
    CHECK(wrong == 0);
    // As an undirected graph without loops.
    CHECK(whole.columns().size() > edges.vertices);
    for (Number vertex = 0; vertex < edges.vertices; ++vertex)
        for (const Number neighbour : whole.row(vertex))
            wrong += neighbour != vertex && std::ranges::binary_search(whole.row(neighbour), vertex) ? 0 : 1;
    CHECK(wrong == 0);
}

TEST_CASE("the Kronecker generator has the probabilities of its specification") {
    // Each bit of an edge's vertices is drawn alone; permuted labels keep how often a vertex occurs. The vertex that is
    // drawn most often has only zeros: a share (0.57 + 0.19)^scale of the ends.
    constexpr int scale = 8;
    const Edges edges = graph500(scale);
    std::vector<double> degrees(edges.vertices);
    double loops = 0;
    edges.for_each(0, 1, [&](Number from, Number to) {
        ++degrees[from];
        ++degrees[to];
        loops += from == to ? 1 : 0;
    });
    const auto count = static_cast<double>(edges.count);
    CHECK(*std::ranges::max_element(degrees) / (2 * count) == Approx(std::pow(0.76, scale)).epsilon(0.1));
    CHECK(loops / count == Approx(std::pow(0.57 + 0.05, scale)).epsilon(0.2));
}

TEST_CASE("shuffled() is a permutation") {
    for (const Number n : {1U, 2U, 63U, 64U, 1000U, 4097U}) {
        std::vector<bool> seen(n);
        for (Number i = 0; i < n; ++i) seen[shuffled(n, 7, i)] = true;
        CHECK(std::ranges::count(seen, true) == n);
    }
}

TEST_CASE("a wrong tree of a search is found") {
    // 0 - 1 - 2 - 3 - 0 is a ring, 4 - 5 an edge apart.
    const std::vector<std::uint64_t> ends{pair_of(0, 1), pair_of(1, 2), pair_of(2, 3), pair_of(3, 0), pair_of(4, 5)};
    const Edges edges{.vertices = 6, .count = ends.size(), .edge = [&](std::uint64_t k) { return ends[k]; }};
    const auto fault = [&](const std::vector<std::int64_t>& parents) {
        return fault_of_tree(MPI_COMM_SELF, edges, 0, parents);
    };
    CHECK(fault({0, 0, 1, 0, -1, -1}) == "");
    CHECK(fault({0, 0, 3, 0, -1, -1}) == "");
    CHECK(fault({1, 0, 1, 0, -1, -1}) == "the root 0 has the parent 1");
    CHECK(fault({0, 0, 1, 2, -1, -1}) == "an edge leads from 0 on level 0 to 3 on level 3");
    CHECK(fault({0, 0, 0, 0, -1, -1}) == "no edge joins 2 with its parent 0");
    CHECK(fault({0, 2, 1, 0, -1, -1}) == "vertex 1 is in, or below, a cycle");
    CHECK(fault({0, 0, 1, 0, 5, 4}) == "vertex 4 is in, or below, a cycle");
    CHECK(fault({0, 0, -1, 0, -1, -1}) == "an edge leads from 3 on level 1 to 2 on level -1");
    CHECK(fault({0, 0, 1, 0, 0, -1}) == "no edge joins 4 with its parent 0");
    CHECK(fault({0, 0, 1, 6, -1, -1}) == "vertex 3 has the parent 6");
}
