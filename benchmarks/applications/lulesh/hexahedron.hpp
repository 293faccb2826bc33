#pragma once

#include <array>

/// LULESH's formulas for one element, a hexahedron. Corners 0 to 3 go around its lower face, 4 to 7 lie above them.
/// They are compiled once for all ways of the program, so that all get the same bits.
namespace lapwing::bench::applications::hydro {

/// A value at each corner.
using Corners = std::array<double, 8>;
/// A vector at each corner, one Corners for each direction of space.
using CornerVectors = std::array<Corners, 3>;

/// The side of the element that a corner is on, -1 or 1, along each of its own three axes.
inline constexpr CornerVectors side{{{-1, 1, 1, -1, -1, 1, 1, -1}, //
                                     {-1, -1, 1, 1, -1, -1, 1, 1},
                                     {-1, -1, -1, -1, 1, 1, 1, 1}}};

[[nodiscard]] double volume_of(const CornerVectors& positions);

/// The volume by the square root of the largest face: what sound has to cross.
[[nodiscard]] double characteristic_length(const CornerVectors& positions, double volume);

/// The forces at the corners by an isotropic stress (a pressure is a negative stress).
[[nodiscard]] CornerVectors stress_forces(const CornerVectors& positions, double stress);

/// What an element resists deformations with that change neither volume nor shear.
struct HourglassResistance {
    double volume;
    double sound_speed;
    double mass;
};
/// The forces of Flanagan and Belytschko (1981) against such deformations.
[[nodiscard]] CornerVectors hourglass_forces(const CornerVectors& positions, const CornerVectors& velocities,
                                             const HourglassResistance& resistance);

/// Relative growth of the volume per time: the trace of the velocities' gradient.
[[nodiscard]] double expansion_rate(const CornerVectors& positions, const CornerVectors& velocities);

/// Along each axis of the element: its length, and the difference of the velocities of its two sides, by its length.
struct AxialGradients {
    std::array<double, 3> length;
    std::array<double, 3> velocity;
};
[[nodiscard]] AxialGradients axial_gradients(const CornerVectors& positions, const CornerVectors& velocities,
                                             double volume);

} // namespace lapwing::bench::applications::hydro
