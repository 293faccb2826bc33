// miniMD and SSCA2, in each of their ways, at small sizes; and whether what they are compared with is right.
#include "minimd_simulation.hpp"
#include "minimd_ssca2_application.hpp"
#include "ssca2_graph.hpp"

#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace lapwing::bench::applications;
using lapwing::bench::irregular::Edges;
using lapwing::bench::irregular::Number;
using lapwing::bench::irregular::pair_of;

namespace {

void check_all_ways(const ApplicationKind& kind) {
    lapwing::Runtime runtime;
    for (const Input& input : kind.inputs) {
        if (input.size != Size::small) continue;
        INFO(kind.name << ": " << input.name);
        const std::unique_ptr<Application> application = input.make({runtime, MPI_COMM_WORLD});
        std::vector<Way> ways = input.ways;
        ways.insert(ways.begin(), Way::mpi);
        std::string first;
        for (const Way way : ways) {
            INFO(name(way));
            application->prepare(way);
            // What has not been computed is not right: else the check would find nothing.
            CHECK_FALSE(test::on_all_ranks(application->fault(way) == ""));
            application->prepare(way);
            application->run(way);
            CHECK(application->fault(way) == "");
            CHECK(application->operations() > 0);
#ifndef __FP_FAST_FMA // else the compiler may contract the same expression here and not there
            // What more than two other ranks add to a force is added in any order.
            if (way == Way::mpi) first = application->result();
            if (test::world_size() <= 3) CHECK(application->result() == first);
#endif
        }
    }
    runtime.close();
}

/// Before the first and after the last step, on one rank.
std::vector<minimd_model::Sums> simulate(const minimd_model::Problem& problem) {
    using namespace minimd_model;
    const Box box{problem};
    const NearBins near{box, 1, 0};
    MessageAtoms atoms{MPI_COMM_SELF, box, near};
    place_initial_atoms(problem, box, near, atoms.own());
    return Simulation{problem, box, near, atoms}.run();
}

} // namespace

TEST_CASE("miniMD is right whichever way atoms of others are read") { check_all_ways(minimd()); }

TEST_CASE("SSCA2 is right whichever way the graph is searched") { check_all_ways(ssca2()); }

TEST_CASE("a lattice has the energy and pressure that are known of it") {
    using namespace minimd_model;
    for (const bool newton : {false, true}) {
        const Problem problem{.size = 5, .steps = 0, .newton = newton};
        const Thermo start = thermo(problem, Box{problem}, simulate(problem).front());
        // As the documentation of miniMD and of LAMMPS says for in.lj; the pressure is that of many atoms.
        CHECK(start.energy == Approx(-6.7733681).epsilon(1e-7));
        CHECK(start.temperature == Approx(1.44).epsilon(1e-12));
        CHECK(start.pressure + problem.density * problem.temperature / problem.atoms() ==
              Approx(-5.0196711).epsilon(1e-5));
    }
}

TEST_CASE("a simulation keeps its energy") {
    using namespace minimd_model;
    const Problem problem{.size = 5, .steps = 40};
    const std::vector<Sums> sums = simulate(problem);
    const auto energy = [](const Sums& of) { return of.energy + of.speed_squared / 2; };
    CHECK(sums.back().speed_squared < 0.7 * sums.front().speed_squared); // the lattice melts
    // But for the truncation of the potential.
    CHECK(energy(sums.back()) == Approx(energy(sums.front())).epsilon(2e-3));
}

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
