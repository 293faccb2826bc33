#include "minimd/model.hpp"

#include "../irregular/random_numbers.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/rank.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lapwing::bench::applications::minimd_model {
namespace {

double side_of(const Problem& problem) { return std::cbrt(problem.atoms() / problem.density); }

double wrapped_number(double number, double side) {
    if (number < 0) return number + side;
    return number >= side ? number - side : number;
}

/// The indices of all bins at most `depth` away from those of a block, of which any may be images.
std::vector<Index<3>> around(const Box& box, const Domain<3>& block, std::int64_t depth) {
    std::vector<Index<3>> bins;
    if (block.empty()) return bins;
    for (const Index<3>& bin : block.expand(depth)) bins.push_back(box.wrapped(bin));
    std::ranges::sort(bins);
    const auto repeated = std::ranges::unique(bins);
    bins.erase(repeated.begin(), repeated.end());
    return bins;
}

} // namespace

std::vector<Atom> initial_atoms(const Problem& problem) {
    constexpr std::uint64_t velocity_stream = 700;
    constexpr std::array<Vector, 4> cell{{{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}}};
    const double length = side_of(problem) / problem.size;
    const auto random = [](std::uint64_t k) {
        return static_cast<double>(irregular::random_number(velocity_stream, k) >> 11) * 0x1p-53 - 0.5;
    };
    std::vector<Atom> atoms;
    for (const Index<3>& at : Domain<3>{{0, problem.size}, {0, problem.size}, {0, problem.size}}) {
        const Vector corner{static_cast<double>(at[0]), static_cast<double>(at[1]), static_cast<double>(at[2])};
        for (const Vector& place : cell) {
            const std::uint64_t k = 3 * atoms.size();
            atoms.push_back({length * (corner + place), {random(k), random(k + 1), random(k + 2)}});
        }
    }
    const double count = problem.atoms();
    Vector mean;
    for (const Atom& atom : atoms) mean += 1 / count * atom.velocity;
    double speed_squared = 0;
    for (Atom& atom : atoms) {
        atom.velocity -= mean;
        speed_squared += dot(atom.velocity, atom.velocity);
    }
    const double factor = std::sqrt(problem.temperature * (3 * count - 3) / speed_squared);
    for (Atom& atom : atoms) atom.velocity = factor * atom.velocity;
    return atoms;
}

Box::Box(const Problem& problem)
    : side_{side_of(problem)},
      bins_{problem.size * 5 / 6},
      bins_per_length_{static_cast<double>(bins_) / side_},
      depth_{static_cast<std::int64_t>(std::ceil(problem.reach() * bins_per_length_))} {
    // The bins next to one must be different ones, and none may be two sides away.
    if (bins_ < 3 || depth_ > bins_)
        throw std::invalid_argument{
            fmt::format("minimd: {} cells in each dimension are too few; take 4 or more", problem.size)};
    for (const Index<3>& offset : Domain<3>{{0, 1}, {0, 1}, {0, 1}}.expand(depth_)) {
        double squared = 0; // of the least distance between atoms of two such bins
        for (const std::int64_t k : offset) {
            const double gap = static_cast<double>(std::max<std::int64_t>(std::abs(k) - 1, 0)) / bins_per_length_;
            squared += gap * gap;
        }
        if (squared < problem.reach() * problem.reach()) offsets_.push_back(offset);
    }
    for (const Index<3>& at : Domain<3>{{0, 3}, {0, 3}, {0, 3}})
        displacements_[static_cast<std::size_t>(at[0] * 9 + at[1] * 3 + at[2])] =
            side_ *
            Vector{static_cast<double>(at[0] - 1), static_cast<double>(at[1] - 1), static_cast<double>(at[2] - 1)};
}

Vector Box::wrapped(Vector position) const {
    return {wrapped_number(position.x, side_), wrapped_number(position.y, side_), wrapped_number(position.z, side_)};
}

Index<3> Box::wrapped(Index<3> bin) const {
    for (std::int64_t& k : bin) k = (k + bins_) % bins_;
    return bin;
}

Index<3> Box::bin_of(const Vector& position) const {
    const auto along = [this](double x) {
        return std::min(static_cast<std::int64_t>(x * bins_per_length_), bins_ - 1); // rounding may reach the end
    };
    return {along(position.x), along(position.y), along(position.z)};
}

std::uint16_t Box::image(const Index<3>& bin) const {
    std::uint16_t image = 0;
    for (const std::int64_t k : bin) image = static_cast<std::uint16_t>(image * 3 + (k < 0 ? 0 : k < bins_ ? 1 : 2));
    return image;
}

NearBins::NearBins(const Box& box, int ranks, int rank)
    : box_{&box},
      map_{Block{}.map(Extents<3>{box.bins(), box.bins(), box.bins()}, ranks)},
      places_(box.all_bins(), UINT32_MAX) {
    const Domain<3> block = map_.domain_count(Rank{rank}) == 0 ? Domain<3>{} : map_.domain(Rank{rank}, 0);
    for (const Index<3>& bin : block) bins_.push_back(bin);
    own_ = bins_.size();
    for (const Index<3>& bin : around(box, block, box.depth()))
        if (!block.contains(bin)) bins_.push_back(bin);
    for (std::size_t k = 0; k < bins_.size(); ++k) places_[box.number(bins_[k])] = static_cast<std::uint32_t>(k);
    for (const Index<3>& bin : around(box, block, 1)) adjacent_.push_back(place(bin));
}

std::vector<int> NearBins::grid() const {
    std::vector<int> grid;
    for (const auto& dimension : map_.dimensions()) grid.push_back(dimension.processes());
    return grid;
}

Sums& Sums::operator+=(const Sums& other) {
    atoms += other.atoms;
    speed_squared += other.speed_squared;
    energy += other.energy;
    virial += other.virial;
    force_squared += other.force_squared;
    momentum += other.momentum;
    force += other.force;
    return *this;
}

Thermo thermo(const Problem& problem, const Box& box, const Sums& sums) {
    const double freedoms = 3.0 * problem.atoms() - 3; // the centre of mass rests
    return {.temperature = sums.speed_squared / freedoms,
            .energy = sums.energy / problem.atoms(),
            .pressure = (sums.speed_squared + sums.virial) / (3 * box.side() * box.side() * box.side())};
}

} // namespace lapwing::bench::applications::minimd_model
