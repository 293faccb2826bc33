#pragma once

#include "groups.hpp"
#include "parts.hpp"

#include <memory>
#include <vector>

namespace lapwing::bench::applications::hydro {

/// The Sedov blast on one rank's part of the mesh. Calls are collective.
class Simulation {
public:
    Simulation() = default;
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;
    virtual ~Simulation() = default;

    /// Everything as before the first cycle.
    virtual void start() = 0;
    /// To the end, or for so many cycles since start().
    virtual void run(int cycles) = 0;

    // Local calls.
    [[nodiscard]] virtual int cycles() const = 0;
    [[nodiscard]] virtual std::vector<double> energies() const = 0; ///< of own elements
};

/// Collective. The simulation of a cube of `side`^3 elements.
[[nodiscard]] std::unique_ptr<Simulation> simulation(Number side, const GlobalGroup::Access& access);
[[nodiscard]] std::unique_ptr<Simulation> simulation(Number side, const MappedGroup::Access& access);
[[nodiscard]] std::unique_ptr<Simulation> simulation(Number side, const MessageGroup::Access& access);

} // namespace lapwing::bench::applications::hydro
