#pragma once

#include "model/access_platform.hpp"
#include "model/program_description.hpp"

namespace lapwing::detail::model {

/// Equation 6.2 (Zhang 2007): the speed-up from the G values alone.
struct SpeedUp {
    double sequential = 0; ///< N_s: accesses of the sequential program
    double normalised = 0; ///< N_p: a thread's accesses, on average, each as so many private ones as it takes as long
    [[nodiscard]] double value() const noexcept { return normalised > 0 ? sequential / normalised : 0; }
};

/// The program's accesses in their patterns, each weighted by how much longer it takes than a private one. Caches count
/// by what the platform's rates and patterns say of them. Throws UsageError for an invalid description, and for a rate
/// that is needed and unknown, that of private memory among them.
[[nodiscard]] SpeedUp predicted_speed_up(const ProgramDescription& program, const AccessPlatform& platform);

} // namespace lapwing::detail::model
