#pragma once

#include <array>
#include <cstdint>

/// LULESH's material: an ideal gas with an artificial viscosity, and the time step that it allows.
namespace lapwing::bench::applications::hydro {

/// Of an element.
struct GasState {
    double energy = 0;
    double pressure = 0;
    double viscosity = 0; ///< q, which acts as a pressure
    double sound_speed = 0;
};

/// The two terms of the artificial viscosity, by how fast the element is compressed.
struct Viscosity {
    double linear = 0;
    double quadratic = 0;
};

/// Gradients of the velocity along one axis: of the element and of its two neighbours there.
struct Neighbourhood {
    double own;
    double before;
    double after;
};

/// The monotonic viscosity of an element that is compressed, with these gradients and lengths along its axes: less of
/// it where the velocity changes evenly, all of it at a shock.
[[nodiscard]] Viscosity monotonic_viscosity(double density, const std::array<Neighbourhood, 3>& gradients,
                                            const std::array<double, 3>& lengths);

/// The state after a step in which the relative volume has become `volume`, by `change`. Throws std::runtime_error if
/// the viscosity is beyond all bounds.
[[nodiscard]] GasState advanced(const GasState& before, double volume, double change, const Viscosity& viscosity);

/// What an element allows a time step to be. An element that neither grows nor shrinks allows any.
struct StepLimits {
    double courant = 1e20; ///< sound crosses the element
    double hydro = 1e20;   ///< the volume changes by a tenth
};
void lower(StepLimits& limits, double sound_speed, double length, double expansion_rate);

/// Time, and the length of the next step.
class Clock {
public:
    explicit Clock(double first_step) : step_{first_step} {}
    [[nodiscard]] bool done() const { return time_ >= end; }
    [[nodiscard]] int cycles() const { return cycles_; }
    [[nodiscard]] double step() const { return step_; }
    /// Begins a step of step(), as long as the limits of the last one, of all elements, allow.
    void begin_step(const StepLimits& limits);

private:
    static constexpr double end = 1e-2;
    double time_ = 0;
    double step_;
    int cycles_ = 0;
};

} // namespace lapwing::bench::applications::hydro
