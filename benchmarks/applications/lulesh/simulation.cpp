#include "simulation.hpp"

#include "gas.hpp"
#include "hexahedron.hpp"
#include "mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>

namespace lapwing::bench::applications::hydro {
namespace {

/// The energy of the blast, at the start all in the element at its centre: the same density of energy for all meshes.
[[nodiscard]] double blast_energy(Number side) {
    const double scale = static_cast<double>(side) / 45;
    return 3.948746e+7 * scale * scale * scale;
}

/// The program, written once for all ways of reading what other ranks own. Each loop is over own elements or own nodes;
/// it reads anybody's elements, and writes its own.
template <class Group>
class SimulationBy final : public Simulation {
    using Access = typename Group::Access;

public:
    SimulationBy(Number side, const Access& access)
        : access_{access},
          mesh_{side, access.ranks(), access.rank()},
          motion_{access, mesh_.nodes, 6, flattened(mesh_.nodes_of)},
          forces_{access, mesh_.corners, 3, mesh_.corners_of},
          gradients_{access, mesh_.elements, 3, within_mesh(flattened(mesh_.neighbours))},
          blast_{blast_energy(side)} {
        for (auto& nodes : mesh_.nodes_of)
            for (Number& node : nodes) node = motion_.place(node);
        for (Number& corner : mesh_.corners_of) corner = forces_.place(corner);
        for (std::size_t e = 0; e < own_elements(); ++e)
            for (Number& neighbour : mesh_.neighbours[e]) {
                if (neighbour == mirrored) neighbour = mesh_.elements.first() + static_cast<Number>(e);
                if (neighbour != outside) neighbour = gradients_.place(neighbour);
            }
    }

    void start() override {
        for (std::size_t d = 0; d < 3; ++d) {
            std::ranges::copy(mesh_.position[d], motion_.own(d).begin());
            std::ranges::fill(motion_.own(3 + d), 0.0);
        }
        state_.assign(own_elements(), {});
        if (mesh_.elements.rank == 0) state_[0].energy = blast_;
        volume_.assign(own_elements(), 1.0);
        change_.assign(own_elements(), 0.0);
        length_.assign(own_elements(), 0.0);
        expansion_.assign(own_elements(), 0.0);
        extent_.assign(own_elements(), {});
        limits_ = {};
        clock_ = Clock{0.5 * std::cbrt(mesh_.volume_of_first) / std::sqrt(2 * blast_)};
        motion_.share();
    }

    void run(int cycles) override {
        while (!clock_.done() && clock_.cycles() < cycles) {
            clock_.begin_step(limits_);
            motion_.hint();
            stress();
            hourglass();
            forces_.share();
            move_nodes();
            motion_.share();
            deform();
            find_gradients();
            gradients_.share();
            change_state();
        }
    }

    [[nodiscard]] int cycles() const override { return clock_.cycles(); }
    [[nodiscard]] std::vector<double> energies() const override {
        std::vector<double> energies;
        for (const GasState& state : state_) energies.push_back(state.energy);
        return energies;
    }

private:
    [[nodiscard]] std::size_t own_elements() const { return mesh_.nodes_of.size(); }
    template <class Lists>
    [[nodiscard]] static std::vector<Number> flattened(const Lists& lists) {
        std::vector<Number> numbers;
        for (const auto& list : lists) numbers.insert(numbers.end(), list.begin(), list.end());
        return numbers;
    }
    [[nodiscard]] static std::vector<Number> within_mesh(std::vector<Number> numbers) {
        std::erase_if(numbers, [](Number number) { return number < 0; });
        return numbers;
    }

    // Of each array of three, from `first`.
    [[nodiscard]] static auto readers(const Group& group, std::size_t first) {
        return std::array{group.reader(first), group.reader(first + 1), group.reader(first + 2)};
    }
    [[nodiscard]] static std::array<std::span<double>, 3> own(Group& group, std::size_t first = 0) {
        return {group.own(first), group.own(first + 1), group.own(first + 2)};
    }

    /// What the nodes of an element have.
    template <class Reader>
    [[nodiscard]] CornerVectors at_nodes(const std::array<Reader, 3>& read, std::size_t element) const {
        CornerVectors values;
        for (std::size_t n = 0; n < 8; ++n)
            for (std::size_t d = 0; d < 3; ++d) values[d][n] = read[d](mesh_.nodes_of[element][n]);
        return values;
    }

    void stress() {
        const auto position = readers(motion_, 0);
        const auto forces = own(forces_);
        for (std::size_t e = 0; e < own_elements(); ++e) {
            const CornerVectors added = stress_forces(at_nodes(position, e), -state_[e].pressure - state_[e].viscosity);
            for (std::size_t d = 0; d < 3; ++d)
                std::ranges::copy(added[d], forces[d].begin() + static_cast<std::ptrdiff_t>(8 * e));
        }
    }

    void hourglass() {
        const auto position = readers(motion_, 0);
        const auto velocity = readers(motion_, 3);
        const auto forces = own(forces_);
        for (std::size_t e = 0; e < own_elements(); ++e) {
            const HourglassResistance resistance{
                .volume = mesh_.volume[e] * volume_[e], .sound_speed = state_[e].sound_speed, .mass = mesh_.volume[e]};
            const CornerVectors added = hourglass_forces(at_nodes(position, e), at_nodes(velocity, e), resistance);
            for (std::size_t d = 0; d < 3; ++d)
                for (std::size_t n = 0; n < 8; ++n) forces[d][8 * e + n] += added[d][n];
        }
    }

    /// Nodes gather what the elements around them have for them, in a fixed order: results do not depend on who owns
    /// what.
    void move_nodes() {
        constexpr double least_velocity = 1e-7;
        const auto force = readers(forces_, 0);
        const auto position = own(motion_);
        const auto velocity = own(motion_, 3);
        const double step = clock_.step();
        for (std::size_t node = 0; node < mesh_.mass.size(); ++node) {
            std::array<double, 3> total{};
            for (std::size_t k = mesh_.corners_begin[node]; k < mesh_.corners_begin[node + 1]; ++k)
                for (std::size_t d = 0; d < 3; ++d) total[d] += force[d](mesh_.corners_of[k]);
            for (std::size_t d = 0; d < 3; ++d) {
                const double acceleration = mesh_.on_plane[d][node] ? 0 : total[d] / mesh_.mass[node];
                const double now = velocity[d][node] + acceleration * step;
                velocity[d][node] = std::abs(now) < least_velocity ? 0 : now;
                position[d][node] += velocity[d][node] * step;
            }
        }
    }

    /// Volumes, and how fast they change, in the middle of the step.
    void deform() {
        const auto position = readers(motion_, 0);
        const auto velocity = readers(motion_, 3);
        const double half = 0.5 * clock_.step();
        for (std::size_t e = 0; e < own_elements(); ++e) {
            CornerVectors positions = at_nodes(position, e);
            const CornerVectors velocities = at_nodes(velocity, e);
            const double volume = volume_of(positions);
            const double relative = volume / mesh_.volume[e];
            if (relative <= 0) throw std::runtime_error{fmt::format("lulesh: an element of volume {}", volume)};
            change_[e] = relative - volume_[e];
            volume_[e] = relative;
            length_[e] = characteristic_length(positions, volume);
            for (std::size_t d = 0; d < 3; ++d)
                for (std::size_t n = 0; n < 8; ++n) positions[d][n] -= half * velocities[d][n];
            expansion_[e] = expansion_rate(positions, velocities);
        }
    }

    void find_gradients() {
        const auto position = readers(motion_, 0);
        const auto velocity = readers(motion_, 3);
        const auto gradients = own(gradients_);
        for (std::size_t e = 0; e < own_elements(); ++e) {
            const double volume = mesh_.volume[e] * volume_[e];
            const auto found = axial_gradients(at_nodes(position, e), at_nodes(velocity, e), volume);
            extent_[e] = found.length;
            for (std::size_t axis = 0; axis < 3; ++axis) gradients[axis][e] = found.velocity[axis];
        }
    }

    void change_state() {
        const auto gradient = readers(gradients_, 0);
        limits_ = {};
        const auto own_gradients = own(gradients_);
        for (std::size_t e = 0; e < own_elements(); ++e) {
            std::array<Neighbourhood, 3> gradients;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                const auto neighbour = [&](std::size_t k) {
                    const Number place = mesh_.neighbours[e][2 * axis + k];
                    return place == outside ? 0.0 : gradient[axis](place);
                };
                gradients[axis] = {own_gradients[axis][e], neighbour(0), neighbour(1)};
            }
            change_state(e, gradients);
        }
        std::array<double, 2> limits{limits_.courant, limits_.hydro};
        access_.min(limits);
        limits_ = {limits[0], limits[1]};
    }
    void change_state(std::size_t e, const std::array<Neighbourhood, 3>& gradients) {
        Viscosity viscosity;
        if (expansion_[e] <= 0) viscosity = monotonic_viscosity(1 / volume_[e], gradients, extent_[e]);
        state_[e] = advanced(state_[e], volume_[e], change_[e], viscosity);
        if (std::abs(volume_[e] - 1) < nearly_unchanged) volume_[e] = 1;
        lower(limits_, state_[e].sound_speed, length_[e], expansion_[e]);
    }

    static constexpr double nearly_unchanged = 1e-10; ///< of a relative volume

    Access access_;
    Mesh mesh_;       ///< its lists have places in place of numbers
    Group motion_;    ///< of nodes: positions, velocities
    Group forces_;    ///< of elements, at their corners
    Group gradients_; ///< of elements: of the velocity along their axes
    double blast_;

    // Of own elements.
    std::vector<GasState> state_;
    std::vector<double> volume_; ///< relative to that at the start
    std::vector<double> change_; ///< of it in this step
    std::vector<double> length_;
    std::vector<double> expansion_;
    std::vector<std::array<double, 3>> extent_; ///< length along each axis

    StepLimits limits_;
    Clock clock_{0};
};

} // namespace

std::unique_ptr<Simulation> simulation(Number side, const GlobalGroup::Access& access) {
    return std::make_unique<SimulationBy<GlobalGroup>>(side, access);
}

std::unique_ptr<Simulation> simulation(Number side, const MappedGroup::Access& access) {
    return std::make_unique<SimulationBy<MappedGroup>>(side, access);
}

std::unique_ptr<Simulation> simulation(Number side, const MessageGroup::Access& access) {
    return std::make_unique<SimulationBy<MessageGroup>>(side, access);
}

} // namespace lapwing::bench::applications::hydro
