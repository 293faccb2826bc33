#include "hexahedron.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lapwing::bench::applications::hydro {
namespace {

using Vector = std::array<double, 3>;
using Face = std::array<std::size_t, 4>; ///< its corners in turn

/// The corner across the whole element from each of the first four.
constexpr std::array<std::size_t, 4> opposite{6, 7, 4, 5};
/// Seen from inside the element, all go around the same way.
constexpr std::array<Face, 6> faces{
    {{0, 1, 2, 3}, {0, 4, 5, 1}, {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 4, 0}, {4, 7, 6, 5}}};

[[nodiscard]] Vector cross(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
[[nodiscard]] double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
[[nodiscard]] Vector scaled(const Vector& a, double factor) { return {a[0] * factor, a[1] * factor, a[2] * factor}; }
[[nodiscard]] Vector sum(const Vector& a, const Vector& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }

/// From one corner to another.
[[nodiscard]] Vector edge(const CornerVectors& at, std::size_t from, std::size_t to) {
    return {at[0][to] - at[0][from], at[1][to] - at[1][from], at[2][to] - at[2][from]};
}

/// How a vector at the corners changes along an axis of the element, on average from its middle to a side.
[[nodiscard]] Vector change_along(std::size_t axis, const CornerVectors& at) {
    Vector change{};
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::size_t n = 0; n < 4; ++n) change[d] += side[axis][n] * (at[d][n] - at[d][opposite[n]]);
        change[d] *= 0.125;
    }
    return change;
}

/// The derivative by one coordinate of a corner of twelve times the volume, from the two other coordinates of the
/// corners that share a face with it: 0 to 2 and 3 to 5, as in `around`.
[[nodiscard]] double volume_derivative(const Corners& y, const Corners& z, const std::array<std::size_t, 6>& c) {
    const auto sum_of = [&c](const Corners& values, std::size_t i, std::size_t j) {
        return values[c[i]] + values[c[j]];
    };
    return sum_of(y, 1, 2) * sum_of(z, 0, 1) - sum_of(y, 0, 1) * sum_of(z, 1, 2) + //
           sum_of(y, 0, 4) * sum_of(z, 3, 4) - sum_of(y, 3, 4) * sum_of(z, 0, 4) + //
           sum_of(y, 3, 5) * sum_of(z, 2, 5) - sum_of(y, 2, 5) * sum_of(z, 3, 5);
}
/// For each corner: the others of its lower (or upper) face in turn; of the other face the one that it has an edge to,
/// and those of the first and of the third.
constexpr std::array<std::array<std::size_t, 6>, 8> around{{{1, 2, 3, 4, 5, 7},
                                                            {2, 3, 0, 5, 6, 4},
                                                            {3, 0, 1, 6, 7, 5},
                                                            {0, 1, 2, 7, 4, 6},
                                                            {7, 6, 5, 0, 3, 1},
                                                            {4, 7, 6, 1, 0, 2},
                                                            {5, 4, 7, 2, 1, 3},
                                                            {6, 5, 4, 3, 2, 0}}};

/// The four ways in which corners move against each other and the faces' middles do not move.
constexpr std::array<Corners, 4> hourglass_modes = [] {
    std::array<Corners, 4> modes{};
    for (std::size_t n = 0; n < 8; ++n) {
        modes[0][n] = side[1][n] * side[2][n];
        modes[1][n] = side[2][n] * side[0][n];
        modes[2][n] = side[0][n] * side[1][n];
        modes[3][n] = side[0][n] * side[1][n] * side[2][n];
    }
    return modes;
}();
constexpr double hourglass_coefficient = 3.0;

} // namespace

double volume_of(const CornerVectors& at) {
    const double first = dot(sum(edge(at, 1, 3), edge(at, 2, 7)), cross(edge(at, 3, 6), edge(at, 0, 2)));
    const double second = dot(sum(edge(at, 3, 4), edge(at, 7, 5)), cross(edge(at, 4, 6), edge(at, 0, 7)));
    const double third = dot(sum(edge(at, 4, 1), edge(at, 5, 2)), cross(edge(at, 1, 6), edge(at, 0, 5)));
    return (first + second + third) / 12;
}

double characteristic_length(const CornerVectors& at, double volume) {
    double largest = 0; // (4 area)^2
    for (const Face& face : faces) {
        const Vector one = edge(at, face[0], face[2]);
        const Vector other = edge(at, face[1], face[3]);
        const Vector difference = sum(one, scaled(other, -1));
        const Vector total = sum(one, other);
        const double product = dot(difference, total);
        largest = std::max(largest, dot(difference, difference) * dot(total, total) - product * product);
    }
    return 4 * volume / std::sqrt(largest);
}

CornerVectors stress_forces(const CornerVectors& at, double stress) {
    CornerVectors forces{};
    for (const Face& face : faces) {
        const Vector across = scaled(sum(edge(at, face[0], face[3]), edge(at, face[1], face[2])), 0.5);
        const Vector along = scaled(sum(edge(at, face[0], face[1]), edge(at, face[3], face[2])), 0.5);
        const Vector quarter = scaled(cross(across, along), 0.25);
        for (const std::size_t n : face)
            for (std::size_t d = 0; d < 3; ++d) forces[d][n] -= stress * quarter[d];
    }
    return forces;
}

CornerVectors hourglass_forces(const CornerVectors& at, const CornerVectors& velocities,
                               const HourglassResistance& resistance) {
    CornerVectors forces{};
    CornerVectors derivative;
    for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t n = 0; n < 8; ++n)
            derivative[d][n] = volume_derivative(at[(d + 1) % 3], at[(d + 2) % 3], around[n]) / 12;
    const double coefficient =
        -hourglass_coefficient * 0.01 * resistance.sound_speed * resistance.mass / std::cbrt(resistance.volume);
    for (const Corners& mode : hourglass_modes) {
        Vector moment{};
        for (std::size_t d = 0; d < 3; ++d)
            for (std::size_t n = 0; n < 8; ++n) moment[d] += at[d][n] * mode[n];
        // What is left of the mode without the part that changes the volume.
        Corners shape;
        for (std::size_t n = 0; n < 8; ++n)
            shape[n] =
                mode[n] - (derivative[0][n] * moment[0] + derivative[1][n] * moment[1] + derivative[2][n] * moment[2]) /
                              resistance.volume;
        for (std::size_t d = 0; d < 3; ++d) {
            double rate = 0;
            for (std::size_t n = 0; n < 8; ++n) rate += shape[n] * velocities[d][n];
            for (std::size_t n = 0; n < 8; ++n) forces[d][n] += coefficient * (shape[n] * rate);
        }
    }
    return forces;
}

double expansion_rate(const CornerVectors& at, const CornerVectors& velocities) {
    std::array<Vector, 3> axes;
    for (std::size_t axis = 0; axis < 3; ++axis) axes[axis] = change_along(axis, at);
    std::array<Vector, 3> cofactors;
    for (std::size_t axis = 0; axis < 3; ++axis) cofactors[axis] = cross(axes[(axis + 1) % 3], axes[(axis + 2) % 3]);
    const double volume = 8 * dot(axes[1], cofactors[1]);
    double rate = 0;
    for (std::size_t d = 0; d < 3; ++d)
        for (std::size_t n = 0; n < 4; ++n) {
            const double derivative =
                side[0][n] * cofactors[0][d] + side[1][n] * cofactors[1][d] + side[2][n] * cofactors[2][d];
            rate += derivative * (velocities[d][n] - velocities[d][opposite[n]]);
        }
    return rate / volume;
}

AxialGradients axial_gradients(const CornerVectors& at, const CornerVectors& velocities, double volume) {
    constexpr double tiny = 1e-36; // so that nothing is divided by zero
    std::array<Vector, 3> axes;
    for (std::size_t axis = 0; axis < 3; ++axis) axes[axis] = scaled(change_along(axis, at), 2);
    AxialGradients gradients;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const Vector across = cross(axes[(axis + 1) % 3], axes[(axis + 2) % 3]);
        gradients.length[axis] = volume / std::sqrt(dot(across, across) + tiny);
        gradients.velocity[axis] = dot(across, scaled(change_along(axis, velocities), 2)) / (volume + tiny);
    }
    return gradients;
}

} // namespace lapwing::bench::applications::hydro
