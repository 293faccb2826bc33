// LULESH: the formulas of one element, where the answer is known, and the published results.
#include "lulesh/hexahedron.hpp"
#include "lulesh/simulation.hpp"

#include "support/catch.hpp"

#include <cmath>

using namespace lapwing::bench::applications;
using namespace lapwing::bench::applications::hydro;

namespace {

/// A box of 2 by 3 by 4 whose corners have moved by `skew` times a linear map that keeps the volume.
CornerVectors sheared_box(double skew) {
    CornerVectors at;
    for (std::size_t n = 0; n < 8; ++n) {
        at[1][n] = 1.5 * side[1][n];
        at[2][n] = 2.0 * side[2][n];
        at[0][n] = side[0][n] + skew * (at[1][n] - at[2][n]);
    }
    return at;
}

} // namespace

TEST_CASE("an element has the volume and the rates of a box") {
    for (const double skew : {0.0, 0.3}) {
        const CornerVectors at = sheared_box(skew);
        CHECK(volume_of(at) == Approx(24));
        CHECK(expansion_rate(at, at) == Approx(3)); // all grows as e^t
        const AxialGradients gradients = axial_gradients(at, at, 24);
        for (std::size_t axis = 0; axis < 3; ++axis) CHECK(gradients.velocity[axis] == Approx(1));
    }
    const CornerVectors box = sheared_box(0);
    CHECK(characteristic_length(box, 24) == Approx(2)); // over the face of 3 by 4
    CHECK(axial_gradients(box, box, 24).length[1] == Approx(3));
}

TEST_CASE("the forces of a pressure on a box are pressure by area, and those against hourglass modes spare motions") {
    const CornerVectors box = sheared_box(0);
    const CornerVectors forces = stress_forces(box, -10);
    const HourglassResistance resistance{.volume = 24, .sound_speed = 2, .mass = 24};
    const CornerVectors none = hourglass_forces(box, box, resistance); // a linear motion is none
    CornerVectors hourglass{};
    for (std::size_t n = 0; n < 8; ++n) hourglass[0][n] = side[1][n] * side[2][n];
    const CornerVectors against = hourglass_forces(box, hourglass, resistance);
    for (std::size_t n = 0; n < 8; ++n) {
        CHECK(forces[0][n] == Approx(10 * 12 / 4.0 * side[0][n]));
        CHECK(forces[1][n] == Approx(10 * 8 / 4.0 * side[1][n]));
        CHECK(forces[2][n] == Approx(10 * 6 / 4.0 * side[2][n]));
        for (std::size_t d = 0; d < 3; ++d) CHECK(std::abs(none[d][n]) < 1e-12);
        // -3 * 0.01 * 2 * 24 / cbrt(24), by the eight corners.
        CHECK(against[0][n] == Approx(-8 * 1.44 / std::cbrt(24.0) * hourglass[0][n]));
    }
}

TEST_CASE("a run on one rank ends as published") {
    const auto blast = simulation(5, MessageGroup::Access{MPI_COMM_SELF});
    blast->start();
    blast->run(1000);
    CHECK(blast->cycles() == 72);
    CHECK(std::abs(blast->energies()[0] - 7.853665e+03) < 0.51e-3);
}
