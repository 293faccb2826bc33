#pragma once

#include "minimd/atoms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace lapwing::bench::applications::minimd_model {

/// Puts the initial atoms of own bins there.
inline void place_initial_atoms(const Problem& problem, const Box& box, const NearBins& near, const OwnAtoms& own) {
    std::ranges::fill(own.counts, 0);
    for (const Atom& atom : initial_atoms(problem)) {
        const std::uint32_t bin = near.place(box.bin_of(atom.position));
        if (bin >= near.own()) continue;
        const std::size_t k = bin * bin_capacity + static_cast<std::size_t>(own.counts[bin]++);
        own.positions[k] = atom.position;
        own.velocities[k] = atom.velocity;
    }
}

/// The simulation on the atoms of one of the ways. All that is added up is added in an order that does not depend on
/// the ranks, with one exception: with Newton's third law what other ranks have computed of a force comes last.
template <class Atoms>
class Simulation {
public:
    Simulation(const Problem& problem, const Box& box, const NearBins& near, Atoms& atoms)
        : problem_{problem},
          box_{box},
          near_{near},
          atoms_{atoms},
          own_{atoms.own()},
          counts_(near.count()),
          forces_(near.count() * bin_capacity),
          sums_(near.own()) {}

    /// Collective, from atoms in own bins. Returns the sums over all atoms before the first and after the last step.
    [[nodiscard]] std::vector<Sums> run() {
        std::vector<Sums> found;
        atoms_.publish_atoms();
        rebuild();
        compute_forces();
        found.push_back(total());
        for (int step = 1; step <= problem_.steps; ++step) {
            accelerate();
            for_each_own([this](std::size_t k) { own_.positions[k] += problem_.time_step * own_.velocities[k]; });
            if (step % problem_.rebuild_every == 0) {
                atoms_.publish_atoms();
                rebuild();
            } else atoms_.publish_positions();
            compute_forces();
            accelerate();
        }
        found.push_back(total());
        return found;
    }

private:
    struct Neighbour {
        std::uint32_t bin;
        std::uint16_t slot;
        std::uint16_t image;
    };

    /// By the forces, for half a time step.
    void accelerate() {
        for_each_own([this](std::size_t k) { own_.velocities[k] += 0.5 * problem_.time_step * forces_[k]; });
    }
    template <class Function>
    void for_each_own(const Function& function) const {
        for (std::size_t bin = 0; bin < near_.own(); ++bin)
            for (std::size_t slot = 0; slot < static_cast<std::size_t>(own_.counts[bin]); ++slot)
                function(bin * bin_capacity + slot);
    }

    /// Atoms go to the bins where they are now: each rank finds those of its own bins among the atoms of these and of
    /// the bins next to them. Then neighbours are listed anew.
    void rebuild() {
        std::vector<std::vector<Atom>> arrived(near_.own());
        for (const std::uint32_t bin : near_.adjacent())
            for (std::size_t slot = 0; slot < static_cast<std::size_t>(atoms_.count_of(bin)); ++slot) {
                const Vector position = box_.wrapped(atoms_.position_of(bin, slot));
                const std::uint32_t to = near_.place(box_.bin_of(position));
                if (to < near_.own()) arrived[to].push_back({position, atoms_.velocity_of(bin, slot)});
            }
        atoms_.finish_reading();
        for (std::size_t bin = 0; bin < near_.own(); ++bin) {
            if (arrived[bin].size() > bin_capacity)
                throw std::runtime_error{fmt::format("minimd: {} atoms are in one bin, which has room for {}",
                                                     arrived[bin].size(), bin_capacity)};
            own_.counts[bin] = static_cast<std::int32_t>(arrived[bin].size());
            for (std::size_t slot = 0; slot < arrived[bin].size(); ++slot) {
                own_.positions[bin * bin_capacity + slot] = arrived[bin][slot].position;
                own_.velocities[bin * bin_capacity + slot] = arrived[bin][slot].velocity;
            }
        }
        atoms_.publish_atoms();
        list_neighbours();
    }

    void list_neighbours() {
        for (std::size_t bin = 0; bin < near_.count(); ++bin) counts_[bin] = atoms_.count_of(bin);
        neighbours_.clear();
        ends_.clear();
        std::array<std::vector<Neighbour>, bin_capacity> of_bin;
        for (std::size_t bin = 0; bin < near_.own(); ++bin) {
            for (auto& list : of_bin) list.clear();
            for (const Index<3>& offset : box_.offsets()) list_between(bin, offset, of_bin);
            for (std::size_t slot = 0; slot < static_cast<std::size_t>(counts_[bin]); ++slot) {
                neighbours_.insert(neighbours_.end(), of_bin[slot].begin(), of_bin[slot].end());
                ends_.push_back(neighbours_.size());
            }
        }
    }
    /// The neighbours of the atoms of a bin in the bin at an offset from it; with Newton's law those of one of two
    /// opposite offsets.
    void list_between(std::size_t bin, const Index<3>& offset,
                      std::array<std::vector<Neighbour>, bin_capacity>& lists) {
        constexpr Index<3> same{};
        if (problem_.newton && offset < same) return;
        const Index<3>& from = near_[bin];
        const Index<3> unwrapped{from[0] + offset[0], from[1] + offset[1], from[2] + offset[2]};
        const std::uint32_t other = near_.place(unwrapped);
        const std::uint16_t image = box_.image(unwrapped);
        std::array<Vector, bin_capacity> positions;
        const auto others = static_cast<std::uint16_t>(counts_[other]);
        for (std::uint16_t k = 0; k < others; ++k)
            positions[k] = atoms_.position_of(other, k) + box_.displacement(image);
        for (std::uint16_t slot = 0; slot < counts_[bin]; ++slot)
            for (std::uint16_t k = 0; k < others; ++k) {
                if (offset == same && (problem_.newton ? k <= slot : k == slot)) continue;
                const Vector apart = own_.positions[bin * bin_capacity + slot] - positions[k];
                if (dot(apart, apart) <= problem_.reach() * problem_.reach()) lists[slot].push_back({other, k, image});
            }
    }

    void compute_forces() {
        std::ranges::fill(forces_, Vector{});
        const double cutoff_squared = problem_.cutoff * problem_.cutoff;
        const double share = problem_.newton ? 1 : 0.5; // of a pair's energy, for each of its occurrences
        std::size_t atom = 0;
        std::size_t next = 0;
        for (std::size_t bin = 0; bin < near_.own(); ++bin) {
            atoms_.read_ahead(bin, counts_);
            double energy = 0;
            double virial = 0;
            for (std::size_t slot = 0; slot < static_cast<std::size_t>(counts_[bin]); ++slot) {
                const std::size_t own = bin * bin_capacity + slot;
                const Vector position = own_.positions[own];
                Vector force;
                for (; next < ends_[atom]; ++next) {
                    const Neighbour& neighbour = neighbours_[next];
                    const Vector apart = position - (atoms_.position_of(neighbour.bin, neighbour.slot) +
                                                     box_.displacement(neighbour.image));
                    const double squared = dot(apart, apart);
                    if (squared >= cutoff_squared) continue;
                    const double inverse = 1 / squared;
                    const double sixth = inverse * inverse * inverse;
                    const double factor = 48 * sixth * (sixth - 0.5) * inverse;
                    force += factor * apart;
                    if (problem_.newton) forces_[neighbour.bin * bin_capacity + neighbour.slot] -= factor * apart;
                    energy += 4 * sixth * (sixth - 1);
                    virial += factor * squared;
                }
                forces_[own] += force;
                ++atom;
            }
            sums_[bin].energy = share * energy;
            sums_[bin].virial = share * virial;
        }
        if (problem_.newton) atoms_.exchange_forces(forces_, counts_);
        else atoms_.finish_reading();
    }

    /// Collective. After compute_forces(): the sums of all bins, added in ascending order of the bins.
    [[nodiscard]] Sums total() {
        for (std::size_t bin = 0; bin < near_.own(); ++bin) {
            Sums sums{.energy = sums_[bin].energy, .virial = sums_[bin].virial};
            for (std::size_t k = bin * bin_capacity; k < bin * bin_capacity + static_cast<std::size_t>(counts_[bin]);
                 ++k) {
                sums.atoms += 1;
                sums.momentum += own_.velocities[k];
                sums.speed_squared += dot(own_.velocities[k], own_.velocities[k]);
                sums.force += forces_[k];
                sums.force_squared += dot(forces_[k], forces_[k]);
            }
            sums_[bin] = sums;
        }
        Sums all;
        for (const Sums& sums : atoms_.collected(sums_)) all += sums;
        return all;
    }

    const Problem& problem_;
    const Box& box_;
    const NearBins& near_;
    Atoms& atoms_;
    OwnAtoms own_;
    std::vector<std::int32_t> counts_; ///< of atoms in all near bins, since the last rebuild()
    std::vector<Vector> forces_;       ///< on the atoms of all near bins
    std::vector<Sums> sums_;
    std::vector<Neighbour> neighbours_;
    std::vector<std::size_t> ends_; ///< of each own atom's neighbours
};

} // namespace lapwing::bench::applications::minimd_model
