// LULESH, the Sedov blast by Lagrangian hydrodynamics on hexahedra (Karlin and others, LLNL-TR-490254), as a program of
// element-wise loops over distributed arrays: elements and nodes in blocks of one dimension, joined by lists of
// indices.
#include "application.hpp"
#include "lulesh/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace lapwing::bench::applications {
namespace {

using hydro::GlobalGroup;
using hydro::MappedGroup;
using hydro::MessageGroup;
using hydro::Simulation;

constexpr int to_the_end = std::numeric_limits<int>::max();

/// Results of whole runs, as published with the specification.
struct Published {
    Number side;
    int cycles;
    double energy; ///< at the origin, in seven digits
};
constexpr Published published[] = {
    {5, 72, 7.853665e+03}, {10, 231, 2.720531e+04}, {30, 932, 2.025075e+05}, {45, 1477, 4.234875e+05}};

/// What the program computes on one rank, without messages.
struct Solution {
    int cycles = 0;
    std::vector<double> energies;
    std::string fault; ///< that is known of it alone
};

/// The lowest layer of elements is the same to both sides of its diagonal, but for rounding.
[[nodiscard]] std::string asymmetry(const std::vector<double>& energies, Number side) {
    const auto at = [&](Number x, Number y) { return energies[static_cast<std::size_t>(y * side + x)]; };
    for (Number y = 0; y < side; ++y)
        for (Number x = y + 1; x < side; ++x)
            if (const double one = at(x, y), other = at(y, x); std::abs(one - other) > 1e-8 * std::abs(other))
                return fmt::format("elements ({}, {}) and ({}, {}) have energies of {} and {}", x, y, y, x, one, other);
    return {};
}

[[nodiscard]] Solution solved_on_one_rank(Number side, int cycles) {
    const std::unique_ptr<Simulation> simulation = hydro::simulation(side, MessageGroup::Access{MPI_COMM_SELF});
    simulation->start();
    simulation->run(cycles);
    Solution solution{simulation->cycles(), simulation->energies(), {}};
    solution.fault = asymmetry(solution.energies, side);
    if (cycles != to_the_end) return solution;
    for (const auto& [its_side, its_cycles, energy] : published)
        if (side == its_side &&
            (solution.cycles != its_cycles || std::abs(solution.energies[0] - energy) > 0.51e-6 * energy))
            solution.fault = fmt::format("{} cycles and the energy {:.6e} at the origin instead of {} and {:.6e}",
                                         solution.cycles, solution.energies[0], its_cycles, energy);
    return solution;
}

class Lulesh : public Application {
public:
    Lulesh(Ranks ranks, Number side, int cycles) : ranks_{ranks}, side_{side}, cycles_{cycles} {}

    void prepare(Way way) override {
        if (way == Way::mpi) {
            if (by_messages_ == nullptr) by_messages_ = made(way);
        } else if (by_arrays_ == nullptr || way != way_of_arrays_) {
            // One at a time: barriers are for all arrays that there are.
            by_arrays_.reset();
            by_arrays_ = made(way);
            way_of_arrays_ = way;
        }
        simulation(way).start();
    }

    void run(Way way) override { simulation(way).run(cycles_); }

    std::string fault(Way way) override {
        const Solution& right = solution();
        if (!right.fault.empty()) return right.fault;
        if (const int cycles = simulation(way).cycles(); cycles != right.cycles)
            return fmt::format("{} cycles instead of {}", cycles, right.cycles);
        const Parts elements{side_ * side_ * side_, ranks_.runtime.size(), ranks_.runtime.rank().value};
        const std::vector<double> found = simulation(way).energies();
        for (std::size_t k = 0; k < found.size(); ++k)
            if (const std::size_t element = static_cast<std::size_t>(elements.first()) + k;
                found[k] != right.energies[element])
                return fmt::format("element {} has the energy {} instead of {}", element, found[k],
                                   right.energies[element]);
        return {};
    }

    double operations() const override {
        return static_cast<double>(side_ * side_ * side_) * static_cast<double>(by_messages_->cycles());
    }

private:
    [[nodiscard]] std::unique_ptr<Simulation> made(Way way) const {
        const bool cached = way == Way::cached || way == Way::hinted;
        if (way == Way::mpi) return hydro::simulation(side_, MessageGroup::Access{ranks_.world});
        if (way == Way::mapped) return hydro::simulation(side_, MappedGroup::Access{ranks_.runtime});
        return hydro::simulation(side_,
                                 GlobalGroup::Access{.runtime = ranks_.runtime,
                                                     .cache = {.mode = cached ? CacheMode::epoch : CacheMode::off},
                                                     .hints = way == Way::hinted,
                                                     .prefetch = way == Way::prefetched});
    }
    [[nodiscard]] Simulation& simulation(Way way) { return *(way == Way::mpi ? by_messages_ : by_arrays_); }

    /// Collective. Found once.
    [[nodiscard]] const Solution& solution() {
        if (solution_.cycles > 0) return solution_;
        int rank = 0;
        MPI_Comm_rank(ranks_.world, &rank);
        if (rank == 0) solution_ = solved_on_one_rank(side_, cycles_);
        solution_.energies.resize(static_cast<std::size_t>(side_ * side_ * side_));
        MPI_Bcast(&solution_.cycles, 1, MPI_INT, 0, ranks_.world);
        MPI_Bcast(solution_.energies.data(), static_cast<int>(solution_.energies.size()), MPI_DOUBLE, 0, ranks_.world);
        return solution_;
    }

    Ranks ranks_;
    Number side_;
    int cycles_;
    std::unique_ptr<Simulation> by_messages_;
    std::unique_ptr<Simulation> by_arrays_;
    Way way_of_arrays_ = Way::mpi; ///< the only one that is kept
    Solution solution_;
};

} // namespace

ApplicationKind lulesh() {
    const auto input = [](Number side, int cycles) {
        return [=](Ranks ranks) { return std::make_unique<Lulesh>(ranks, side, cycles); };
    };
    const std::vector<Way> element_wise{Way::cached, Way::hinted, Way::elements};
    const std::vector<Way> all_but_elements{Way::mapped, Way::prefetched, Way::cached, Way::hinted};
    return {.name = "applications/lulesh",
            .summary = "LULESH, a blast by Lagrangian hydrodynamics; fails unless all ways have the same bits",
            .operations = "elements",
            .inputs = {{"15^3, 10 cycles", element_wise, input(15, 10)},
                       {"30^3, 30 cycles", all_but_elements, input(30, 30)},
                       {"15^3", all_but_elements, input(15, to_the_end), Size::full},
                       {"5^3", all_but_elements, input(5, to_the_end), Size::small},
                       {"5^3, 10 cycles", {Way::elements}, input(5, 10), Size::small}}};
}

} // namespace lapwing::bench::applications
