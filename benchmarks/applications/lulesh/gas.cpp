#include "gas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace lapwing::bench::applications::hydro {
namespace {

constexpr double tiny = 1e-36; // so that nothing is divided by zero
constexpr double least_energy = -1e15;
constexpr double least_pressure = 0;
constexpr double least_volume = 1e-9; // relative, as the next one
constexpr double largest_volume = 1e9;
constexpr double largest_viscosity = 1e12;
constexpr double reference_density = 1;

/// Values below this are noise.
[[nodiscard]] double without_noise(double value) { return std::abs(value) < 1e-7 ? 0 : value; }
[[nodiscard]] double bounded_energy(double energy) { return std::max(without_noise(energy), least_energy); }

constexpr double pressure_by_energy = 2.0 / 3; // of the uncompressed gas: its adiabatic exponent less 1

[[nodiscard]] double pressure_of(double energy, double compression, double volume) {
    const double pressure = without_noise(pressure_by_energy * (compression + 1) * energy);
    return std::max(volume >= largest_volume ? 0.0 : pressure, least_pressure);
}

/// `volume` is that of the energy and the pressure; `compression` that of the pressure.
[[nodiscard]] double sound_speed_of(double energy, double pressure, double compression, double volume) {
    const double square =
        (pressure_by_energy * energy + volume * volume * (pressure_by_energy * (compression + 1)) * pressure) /
        reference_density;
    return square <= 0.1111111e-36 ? 0.3333333e-18 : std::sqrt(square);
}

/// 0 at a shock, 1 where the velocity changes evenly.
[[nodiscard]] double monotonic_limit(const Neighbourhood& gradients) {
    constexpr double multiplier = 2;
    constexpr double largest = 1;
    const double norm = 1 / (gradients.own + tiny);
    const double before = gradients.before * norm;
    const double after = gradients.after * norm;
    const double limit = std::min({0.5 * (before + after), before * multiplier, after * multiplier});
    return std::clamp(limit, 0.0, largest);
}

} // namespace

Viscosity monotonic_viscosity(double density, const std::array<Neighbourhood, 3>& gradients,
                              const std::array<double, 3>& lengths) {
    constexpr double linear_factor = 0.5;
    constexpr double quadratic_factor = 2.0 / 3;
    double linear = 0;
    double quadratic = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double limit = monotonic_limit(gradients[axis]);
        const double difference = std::min(gradients[axis].own * lengths[axis], 0.0); // compression only
        linear += difference * (1 - limit);
        quadratic += difference * difference * (1 - limit * limit);
    }
    return {-linear_factor * density * linear, quadratic_factor * density * quadratic};
}

GasState advanced(const GasState& before, double volume, double change, const Viscosity& viscosity) {
    volume = std::clamp(volume, least_volume, largest_volume);
    double compression = 1 / volume - 1;
    double half_compression = 1 / (volume - 0.5 * change) - 1;
    double old_pressure = before.pressure;
    if (volume <= least_volume) half_compression = compression;
    if (volume >= largest_volume) old_pressure = compression = half_compression = 0;
    const double old_total = old_pressure + before.viscosity;
    const auto viscosity_at = [&](double energy, double pressure, double compressed, double at_volume) {
        if (change > 0) return 0.0;
        return sound_speed_of(energy, pressure, compressed, at_volume) * viscosity.linear + viscosity.quadratic;
    };

    // To the middle of the step, to its end, and once more with the pressure that was found there.
    double energy = std::max(before.energy - 0.5 * change * old_total, least_energy);
    const double half_pressure = pressure_of(energy, half_compression, volume);
    const double half_volume = 1 / (1 + half_compression);
    const double half_viscosity = viscosity_at(energy, half_pressure, half_compression, half_volume);
    const double half_total = half_pressure + half_viscosity;
    energy = bounded_energy(energy + 0.5 * change * (3 * old_total - 4 * half_total));

    double pressure = pressure_of(energy, compression, volume);
    const double total = pressure + viscosity_at(energy, pressure, compression, volume);
    energy = bounded_energy(energy - (7 * old_total - 8 * half_total + total) * change / 6);

    pressure = pressure_of(energy, compression, volume);
    const double q = change > 0 ? half_viscosity : without_noise(viscosity_at(energy, pressure, compression, volume));
    if (q > largest_viscosity) throw std::runtime_error{fmt::format("lulesh: a viscosity of {}", q)};
    return {energy, pressure, q, sound_speed_of(energy, pressure, compression, volume)};
}

void lower(StepLimits& limits, double sound_speed, double length, double expansion_rate) {
    constexpr double quadratic_factor = 2;
    constexpr double largest_change = 0.1;
    if (expansion_rate == 0) return;
    double square = sound_speed * sound_speed;
    if (expansion_rate < 0)
        square += 64 * quadratic_factor * quadratic_factor * length * length * expansion_rate * expansion_rate;
    limits.courant = std::min(limits.courant, length / std::sqrt(square));
    limits.hydro = std::min(limits.hydro, largest_change / (std::abs(expansion_rate) + 1e-20));
}

void Clock::begin_step(const StepLimits& limits) {
    constexpr double largest_step = 1e-2;
    constexpr double least_growth = 1.1; // a smaller one is not worth it
    constexpr double largest_growth = 1.2;
    if (cycles_ > 0) {
        double next = 1e20;
        if (limits.courant < next) next = limits.courant / 2;
        if (limits.hydro < next) next = limits.hydro * 2 / 3;
        const double growth = next / step_;
        if (growth >= 1 && growth < least_growth) next = step_;
        else if (growth > largest_growth) next = step_ * largest_growth;
        step_ = std::min(next, largest_step);
    }
    double left = end - time_;
    // The last two steps are of about the same length.
    if (left > step_ && left < step_ * 4 / 3) left = step_ * 2 / 3;
    step_ = std::min(step_, left);
    time_ += step_;
    ++cycles_;
}

} // namespace lapwing::bench::applications::hydro
