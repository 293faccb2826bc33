#pragma once

#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What is simulated: atoms of the Lennard-Jones potential in a periodic cube that is divided into bins, in reduced
/// units.
namespace lapwing::bench::applications::minimd_model {

struct Vector {
    double x = 0;
    double y = 0;
    double z = 0;

    Vector& operator+=(const Vector& b) { return *this = *this + b; }
    Vector& operator-=(const Vector& b) { return *this = *this - b; }
    friend Vector operator+(const Vector& a, const Vector& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
    friend Vector operator-(const Vector& a, const Vector& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
    friend Vector operator*(double factor, const Vector& a) { return {factor * a.x, factor * a.y, factor * a.z}; }
    friend double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
};

/// Mantevo's input in.lj.miniMD.
struct Problem {
    int size = 10; ///< face-centred cubic cells in each dimension, of four atoms each
    int steps = 100;
    bool newton = false; ///< whether each pair is computed once, by Newton's third law
    int rebuild_every = 20;
    double density = 0.8442;
    double temperature = 1.44;
    double time_step = 0.005;
    double cutoff = 2.5;
    double skin = 0.3; ///< beyond the cutoff, for neighbour lists

    [[nodiscard]] int atoms() const { return 4 * size * size * size; }
    [[nodiscard]] double reach() const { return cutoff + skin; }
};

struct Atom {
    Vector position;
    Vector velocity;
};
/// All atoms at the start: at the places of a lattice, with random velocities of the problem's temperature and no
/// momentum.
[[nodiscard]] std::vector<Atom> initial_atoms(const Problem& problem);

/// Atoms that a bin has room for.
inline constexpr std::size_t bin_capacity = 16;

/// The cube and its bins, 5/6 as many in each dimension as there are cells. An index outside of the cube is that of a
/// periodic image.
class Box {
public:
    explicit Box(const Problem& problem);

    [[nodiscard]] double side() const { return side_; }
    /// Bins in each dimension.
    [[nodiscard]] std::int64_t bins() const { return bins_; }
    [[nodiscard]] std::size_t all_bins() const { return static_cast<std::size_t>(bins_ * bins_ * bins_); }
    /// How many bins away an atom within reach can be, in each dimension.
    [[nodiscard]] std::int64_t depth() const { return depth_; }
    /// From a bin to those with atoms within reach, itself included, in ascending order.
    [[nodiscard]] std::span<const Index<3>> offsets() const { return offsets_; }

    /// The same place in the cube, for an atom that has left it by less than its side.
    [[nodiscard]] Vector wrapped(Vector position) const;
    [[nodiscard]] Index<3> wrapped(Index<3> bin) const;
    /// The bin of a place in the cube.
    [[nodiscard]] Index<3> bin_of(const Vector& position) const;
    /// In row-major order.
    [[nodiscard]] std::size_t number(const Index<3>& bin) const {
        return static_cast<std::size_t>((bin[0] * bins_ + bin[1]) * bins_ + bin[2]);
    }

    /// Which image of the cube a bin is in, and by what its atoms are displaced there.
    [[nodiscard]] std::uint16_t image(const Index<3>& bin) const;
    [[nodiscard]] const Vector& displacement(std::uint16_t image) const { return displacements_[image]; }

private:
    double side_;
    std::int64_t bins_;
    double bins_per_length_;
    std::int64_t depth_;
    std::vector<Index<3>> offsets_;
    std::array<Vector, 27> displacements_;
};

/// The bins that a rank's atoms depend on, in a block distribution: first its own ones, then the ghosts, which other
/// ranks own. Both are in ascending order. A bin stands for its periodic images, too.
class NearBins {
public:
    NearBins(const Box& box, int ranks, int rank);

    /// The distribution of an array with an element for each bin.
    [[nodiscard]] const BlockCyclicMap<3>& map() const { return map_; }
    /// Processes in each dimension.
    [[nodiscard]] std::vector<int> grid() const;

    [[nodiscard]] std::size_t own() const { return own_; }
    [[nodiscard]] std::size_t count() const { return bins_.size(); }
    [[nodiscard]] const Index<3>& operator[](std::size_t k) const { return bins_[k]; }
    [[nodiscard]] std::span<const Index<3>> bins() const { return bins_; }
    /// Where this list has a bin, or the bin that it is an image of; UINT32_MAX if it has not.
    [[nodiscard]] std::uint32_t place(const Index<3>& bin) const { return places_[box_->number(box_->wrapped(bin))]; }
    /// The places of own bins and of those next to them, in ascending order of the bins.
    [[nodiscard]] std::span<const std::uint32_t> adjacent() const { return adjacent_; }

private:
    const Box* box_;
    BlockCyclicMap<3> map_;
    std::size_t own_ = 0;
    std::vector<Index<3>> bins_;
    std::vector<std::uint32_t> places_; ///< of all bins of the box
    std::vector<std::uint32_t> adjacent_;
};

/// Sums over the atoms of one bin, or of all.
struct Sums {
    double atoms = 0;
    double speed_squared = 0;
    double energy = 0; ///< potential
    double virial = 0; ///< of force and distance, over pairs
    double force_squared = 0;
    Vector momentum{};
    Vector force{};

    Sums& operator+=(const Sums& other);
};

/// What is printed now and then.
struct Thermo {
    double temperature = 0;
    double energy = 0; ///< potential, of one atom
    double pressure = 0;
};
[[nodiscard]] Thermo thermo(const Problem& problem, const Box& box, const Sums& sums);

} // namespace lapwing::bench::applications::minimd_model
