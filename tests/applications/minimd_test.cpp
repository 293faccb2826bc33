// Whether what miniMD is compared with is right.
#include "minimd/simulation.hpp"

#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace lapwing::bench::applications;

namespace {

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
