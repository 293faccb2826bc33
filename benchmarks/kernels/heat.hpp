#pragma once

#include <lapwing/global_array.hpp>

#include <cstdint>
#include <vector>

/// Diffusion of heat in a cube, by explicit time steps with the seven-point stencil. The temperature of the faces is
/// fixed.
namespace lapwing::detail::kernels {

using Temperature = GlobalArray<double, 3>;

/// a * dt / dx^2, with the diffusivity a, the time step dt and the spacing dx. The steps are stable up to 1/6.
inline constexpr double fourier_number = 0.15;

/// Temperature at (i, j, k) one step later; `now(i, j, k)` is the temperature.
template <class Field>
[[nodiscard]] double diffused(const Field& now, std::int64_t i, std::int64_t j, std::int64_t k) {
    const double here = now(i, j, k);
    const double neighbours = (now(i - 1, j, k) + now(i + 1, j, k)) + (now(i, j - 1, k) + now(i, j + 1, k)) +
                              (now(i, j, k - 1) + now(i, j, k + 1));
    return here + fourier_number * (neighbours - 6.0 * here);
}

/// The start: one face of an n x n x n cube is hot, and a ball in it.
[[nodiscard]] double initial_temperature(std::int64_t n, std::int64_t i, std::int64_t j, std::int64_t k);

/// Sets both arrays to the start. Collective.
void set_initial_temperature(Temperature& now, Temperature& next);

/// Takes `now` some steps on; `next` is work space. Both are cubes of the same size with the distribution Block, set by
/// set_initial_temperature(). Collective; complete on all ranks on return.
///
/// All, and the serial one, do the same operations on each element in the same order, so that their results are the
/// same to the bit (the build keeps the compiler from contracting them in different ways).
void heat_naive(Temperature& now, Temperature& next, std::int64_t steps);
void heat_bulk(Temperature& now, Temperature& next, std::int64_t steps);
void heat_mapped(Temperature& now, Temperature& next, std::int64_t steps);
/// The whole cube, row-major, from the start on.
[[nodiscard]] std::vector<double> heat_serial(std::int64_t n, std::int64_t steps);

} // namespace lapwing::detail::kernels
