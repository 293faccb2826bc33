// MG: V-cycles of a multigrid method for Poisson's equation on a cube with periodic boundaries. The grids are dealt in
// slabs of planes of constant z, in UPC and in MPI. NPB's own MPI program deals them in three dimensions, so that
// surfaces are smaller, which counts with many ranks. The comparison is one of the ways to communicate, not with NPB's
// program.
//
// A grid is dealt as long as each thread has two planes or more and there is enough to compute in them. The coarser
// ones are computed by every thread for itself: the finest of them is gathered by all on the way down, and on the way
// up nothing has to move. Their work is less than the time of the messages that it saves, and no thread ever waits
// without planes of its own.
#include "mg_grid.hpp"
#include "nas.hpp"
#include "sums.hpp"

#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace lapwing::nas {
namespace {

constexpr std::uint64_t seed = 314159265;
constexpr std::size_t charges_of_a_sign = 10;
constexpr std::int64_t largest_own_grid = 16; ///< that every thread computes for itself, whatever the number of threads

struct Problem {
    int levels; ///< grids of 2, 4, …, 2^levels points in each dimension
    int iterations;
    Smoother smoother;
    double norm; ///< expected
    [[nodiscard]] std::int64_t n() const noexcept { return std::int64_t{1} << levels; }
};
[[nodiscard]] Problem problem_of(Class size) {
    constexpr Smoother first{-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0};
    constexpr Smoother second{-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0};
    switch (size) {
    case Class::S: return {5, 4, first, 0.5307707005734e-4};
    case Class::W: return {7, 4, first, 0.6467329375339e-5};
    case Class::A: return {8, 4, first, 0.2433365309069e-5};
    case Class::B: return {8, 20, second, 0.1800564401355e-5};
    case Class::T: return {4, 2, first, 0.19026583928e-2};
    }
    return {};
}

struct Charge {
    std::int64_t x, y, z; ///< from 1, as the grid counts its points
    double value;
};

/// Where the ten largest of the random numbers on the grid are (+1), and the ten smallest (-1). Every thread goes
/// through all numbers: it is not timed, and needs no messages.
[[nodiscard]] std::vector<Charge> charges_of(std::int64_t n) {
    struct Extreme {
        double number;
        std::int64_t index;
    };
    std::vector<Extreme> largest; // ordered, the least of them at the end
    std::vector<Extreme> smallest;
    const auto consider = [](std::vector<Extreme>& extremes, double number, std::int64_t index, auto before) {
        if (extremes.size() == charges_of_a_sign && !before(number, extremes.back().number)) return;
        if (extremes.size() == charges_of_a_sign) extremes.pop_back();
        const auto place =
            std::ranges::find_if(extremes, [&](const Extreme& other) { return before(number, other.number); });
        extremes.insert(place, {number, index});
    };
    Random random{seed};
    std::vector<double> plane(static_cast<std::size_t>(n * n));
    for (std::int64_t z = 0; z < n; ++z) {
        random.fill(plane);
        for (std::int64_t i = 0; i < n * n; ++i) {
            const double number = plane[static_cast<std::size_t>(i)];
            consider(largest, number, z * n * n + i, [](double a, double b) { return a > b; });
            consider(smallest, number, z * n * n + i, [](double a, double b) { return a < b; });
        }
    }
    std::vector<Charge> charges;
    const auto add = [&](const std::vector<Extreme>& extremes, double value) {
        for (const auto& [number, index] : extremes)
            charges.push_back({index % n + 1, index / n % n + 1, index / (n * n) + 1, value});
    };
    add(largest, 1);
    add(smallest, -1);
    return charges;
}

// ---- In blocks: the optimised variant and MPI's.

/// How the grids are dealt. Level k has 2^k points in each dimension.
struct Slabs {
    int levels;
    int thread, threads;
    int own_levels; ///< up to this one every thread has the whole grid

    Slabs(const Problem& problem, int own, int all)
        : levels{problem.levels},
          thread{own},
          threads{all},
          own_levels{std::countr_zero(
              static_cast<std::uint64_t>(std::max<std::int64_t>(all, largest_own_grid)))} { // powers of two
        if (threads == 1) own_levels = levels;
    }
    [[nodiscard]] static std::int64_t n(int level) noexcept { return std::int64_t{1} << level; }
    [[nodiscard]] bool dealt(int level) const noexcept { return level > own_levels; }
    /// Planes that the thread computes of its slab, without the neighbours'; of a grid that all have, those that it
    /// gives to the others.
    [[nodiscard]] std::int64_t planes(int level) const noexcept { return n(level) / threads; }
    [[nodiscard]] static std::int64_t plane_points(int level) noexcept { return (n(level) + 2) * (n(level) + 2); }
    /// Points that a thread stores.
    [[nodiscard]] std::int64_t points(int level) const noexcept {
        return ((dealt(level) ? planes(level) : n(level)) + 2) * plane_points(level);
    }
};

enum class Field : std::uint8_t { solution, residual };

/// The grids that are communicated, and what moves between them. To send a thread's first and last plane starts
/// bringing them to its neighbours' ends; finish() returns when its own ends are there.
class MpiSlabs {
public:
    explicit MpiSlabs(const Problem& problem)
        : slabs_{problem, rank(), size()},
          solution_(static_cast<std::size_t>(problem.levels) + 1),
          residual_(solution_.size()) {
        for (int level = slabs_.own_levels; level <= slabs_.levels; ++level) {
            grids(Field::residual)[static_cast<std::size_t>(level)].resize(
                static_cast<std::size_t>(slabs_.points(level)));
            if (slabs_.dealt(level))
                grids(Field::solution)[static_cast<std::size_t>(level)].resize(
                    static_cast<std::size_t>(slabs_.points(level)));
        }
    }
    [[nodiscard]] const Slabs& slabs() const noexcept { return slabs_; }
    [[nodiscard]] double* grid(Field field, int level) { return grids(field)[static_cast<std::size_t>(level)].data(); }
    void send_first(Field field, int level) {
        double* const planes = grid(field, level);
        const std::int64_t plane = Slabs::plane_points(level);
        const std::int64_t last = slabs_.planes(level);
        MPI_Irecv(planes, static_cast<int>(plane), MPI_DOUBLE, below(), upwards, MPI_COMM_WORLD, &requests_[0]);
        MPI_Irecv(planes + (last + 1) * plane, static_cast<int>(plane), MPI_DOUBLE, above(), downwards, MPI_COMM_WORLD,
                  &requests_[1]);
        MPI_Isend(planes + plane, static_cast<int>(plane), MPI_DOUBLE, below(), downwards, MPI_COMM_WORLD,
                  &requests_[2]);
    }
    void send_last(Field field, int level) {
        const std::int64_t plane = Slabs::plane_points(level);
        MPI_Isend(grid(field, level) + slabs_.planes(level) * plane, static_cast<int>(plane), MPI_DOUBLE, above(),
                  upwards, MPI_COMM_WORLD, &requests_[3]);
    }
    void finish() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE); }
    /// Gives the residual's own planes, of the finest grid that all have, to all.
    void gather() {
        const int level = slabs_.own_levels;
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, grid(Field::residual, level) + Slabs::plane_points(level),
                      static_cast<int>(slabs_.planes(level) * Slabs::plane_points(level)), MPI_DOUBLE, MPI_COMM_WORLD);
    }
    [[nodiscard]] double sum(double mine) {
        MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return mine;
    }

private:
    static constexpr int downwards = 0; // tags
    static constexpr int upwards = 1;
    [[nodiscard]] static int rank() {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank;
    }
    [[nodiscard]] static int size() {
        int size = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        return size;
    }
    [[nodiscard]] int below() const noexcept { return (slabs_.thread + slabs_.threads - 1) % slabs_.threads; }
    [[nodiscard]] int above() const noexcept { return (slabs_.thread + 1) % slabs_.threads; }
    [[nodiscard]] std::vector<std::vector<double>>& grids(Field field) {
        return field == Field::solution ? solution_ : residual_;
    }

    Slabs slabs_;
    std::vector<std::vector<double>> solution_, residual_; // by level
    std::array<MPI_Request, 4> requests_{};
};

/// The planes are put where the neighbour has its ends. One barrier for each exchange is enough: between two that write
/// the same planes lies one of other planes, in which the owner has read these.
class UpcSlabs {
public:
    explicit UpcSlabs(const Problem& problem)
        : slabs_{problem, upc::mythread(), upc::threads()},
          solution_(static_cast<std::size_t>(problem.levels) + 1),
          residual_(solution_.size()) {
        for (int level = slabs_.own_levels; level <= slabs_.levels; ++level) {
            const auto mine = static_cast<std::size_t>(slabs_.points(level));
            const std::size_t all = mine * static_cast<std::size_t>(slabs_.threads);
            residual_[static_cast<std::size_t>(level)] = std::make_unique<Array>(all, mine);
            if (slabs_.dealt(level)) solution_[static_cast<std::size_t>(level)] = std::make_unique<Array>(all, mine);
        }
    }
    [[nodiscard]] static std::uint64_t heap_bytes(const Problem& problem, int threads) {
        const Slabs slabs{problem, 0, threads};
        std::uint64_t bytes = Sums<1>::heap_bytes(threads);
        for (int level = slabs.own_levels; level <= slabs.levels; ++level)
            bytes +=
                (slabs.dealt(level) ? 2 : 1) * (static_cast<std::uint64_t>(slabs.points(level)) * sizeof(double) + 64);
        return bytes;
    }
    [[nodiscard]] const Slabs& slabs() const noexcept { return slabs_; }
    [[nodiscard]] double* grid(Field field, int level) { return array(field, level).local(); }
    void send_first(Field field, int level) {
        first_ =
            put_plane(field, level, 1, (slabs_.thread + slabs_.threads - 1) % slabs_.threads, slabs_.planes(level) + 1);
    }
    void send_last(Field field, int level) {
        last_ = put_plane(field, level, slabs_.planes(level), (slabs_.thread + 1) % slabs_.threads, 0);
    }
    void finish() {
        first_.wait();
        last_.wait();
        upc::barrier();
    }
    void gather() {
        const int level = slabs_.own_levels;
        const std::int64_t first = (1 + slabs_.thread * slabs_.planes(level)) * Slabs::plane_points(level);
        const auto bytes = static_cast<std::size_t>(slabs_.planes(level) * Slabs::plane_points(level)) * sizeof(double);
        for (int k = 1; k < slabs_.threads; ++k) {
            const int t = (slabs_.thread + k) % slabs_.threads; // not all to the same one at a time
            upc::memput_nbi(array(Field::residual, level) + (t * slabs_.points(level) + first),
                            grid(Field::residual, level) + first, bytes);
        }
        upc::synci();
        upc::barrier();
    }
    [[nodiscard]] double sum(double mine) { return sums_({mine})[0]; }

private:
    using Array = upc::SharedArray<double, upc::dynamic_block>;

    [[nodiscard]] Array& array(Field field, int level) {
        return *(field == Field::solution ? solution_ : residual_)[static_cast<std::size_t>(level)];
    }
    [[nodiscard]] upc::Handle put_plane(Field field, int level, std::int64_t from, int thread, std::int64_t to) {
        const std::int64_t plane = Slabs::plane_points(level);
        return upc::memput_nb(array(field, level) + (thread * slabs_.points(level) + to * plane),
                              grid(field, level) + from * plane, static_cast<std::size_t>(plane) * sizeof(double));
    }

    Slabs slabs_;
    std::vector<std::unique_ptr<Array>> solution_, residual_; // by level: shared [points] double grid[points * THREADS]
    upc::Handle first_, last_;
    Sums<1> sums_;
};

template <class Communication>
class SlabSolver {
public:
    explicit SlabSolver(const Problem& problem)
        : problem_{problem},
          communication_{problem},
          slabs_{communication_.slabs()},
          own_solution_(static_cast<std::size_t>(problem.levels) + 1),
          own_residual_(own_solution_.size()),
          around_{problem.n()} {
        for (int level = 1; level <= slabs_.own_levels; ++level) {
            own_solution_[static_cast<std::size_t>(level)].resize(static_cast<std::size_t>(slabs_.points(level)));
            if (level < slabs_.own_levels)
                own_residual_[static_cast<std::size_t>(level)].resize(static_cast<std::size_t>(slabs_.points(level)));
        }
        right_.resize(static_cast<std::size_t>(slabs_.points(problem.levels)));
        const std::int64_t first = slabs_.dealt(problem.levels) ? slabs_.thread * slabs_.planes(problem.levels) : 0;
        for (const auto& [x, y, z, value] : charges_of(problem.n()))
            if (z > first && z <= first + planes(problem.levels)) right().row(z - first, y)[x] = value;
    }

    /// The residual of u = 0. Collective.
    void start() {
        const PlainGrid u = grid(Field::solution, problem_.levels);
        for (std::int64_t z = 0; z < planes(problem_.levels) + 2; ++z) clear_plane(u, z);
        residual(problem_.levels, right());
    }
    /// A V-cycle, and then the residual. Collective.
    void step() {
        for (int level = problem_.levels; level > 1; --level) restrict_to(level - 1);
        clear(1);
        smooth(1);
        for (int level = 2; level <= problem_.levels; ++level) {
            interpolate(level, level < problem_.levels);
            residual(level, level < problem_.levels ? grid(Field::residual, level) : right());
            smooth(level);
        }
        residual(problem_.levels, right());
    }
    /// The root of the mean square of the residual. Collective.
    [[nodiscard]] double norm() {
        const PlainGrid r = grid(Field::residual, problem_.levels);
        double sum = 0;
        for (std::int64_t z = 1; z <= planes(problem_.levels); ++z) sum += square_of_plane(r, z);
        if (slabs_.dealt(problem_.levels)) sum = communication_.sum(sum);
        const auto n = static_cast<double>(problem_.n());
        return std::sqrt(sum / (n * n * n));
    }

private:
    [[nodiscard]] PlainGrid grid(Field field, int level) {
        const auto i = static_cast<std::size_t>(level);
        const std::int64_t n = Slabs::n(level);
        if (slabs_.dealt(level) || (field == Field::residual && level == slabs_.own_levels))
            return {communication_.grid(field, level), n};
        return {(field == Field::solution ? own_solution_ : own_residual_)[i].data(), n};
    }
    [[nodiscard]] PlainGrid right() { return {right_.data(), problem_.n()}; }
    /// Planes that the thread computes.
    [[nodiscard]] std::int64_t planes(int level) const noexcept {
        return slabs_.dealt(level) ? slabs_.planes(level) : Slabs::n(level);
    }

    /// Computes a grid by its planes, and its ends. Those that neighbours need come first, and move while the others
    /// are computed.
    template <class Plane>
    void on_planes(Field field, int level, Plane plane) {
        const PlainGrid result = grid(field, level);
        const auto compute = [&](std::int64_t z) {
            plane(z);
            wrap_plane(result, z);
        };
        const std::int64_t last = planes(level);
        if (!slabs_.dealt(level)) {
            for (std::int64_t z = 1; z <= last; ++z) compute(z);
            wrap_own(result);
            return;
        }
        compute(1);
        communication_.send_first(field, level);
        if (last > 1) compute(last);
        communication_.send_last(field, level);
        for (std::int64_t z = 2; z < last; ++z) compute(z);
        communication_.finish();
    }
    /// The ends in z of a grid that the thread has as a whole.
    static void wrap_own(const PlainGrid& grid) {
        const std::int64_t plane = (grid.n + 2) * (grid.n + 2);
        std::copy_n(grid.row(grid.n, 0), plane, grid.row(0, 0));
        std::copy_n(grid.row(1, 0), plane, grid.row(grid.n + 1, 0));
    }

    void residual(int level, const PlainGrid& v) {
        const PlainGrid u = grid(Field::solution, level);
        const PlainGrid r = grid(Field::residual, level);
        on_planes(Field::residual, level, [&](std::int64_t z) { residual_plane(u, v, r, z, around_); });
    }
    void smooth(int level) {
        const PlainGrid u = grid(Field::solution, level);
        const PlainGrid r = grid(Field::residual, level);
        on_planes(Field::solution, level, [&](std::int64_t z) { smooth_plane(r, u, problem_.smoother, z, around_); });
    }
    void clear(int level) {
        const PlainGrid u = grid(Field::solution, level);
        for (std::int64_t z = 0; z < planes(level) + 2; ++z) clear_plane(u, z);
    }
    /// The residual of the next finer grid to this one.
    void restrict_to(int level) {
        const PlainGrid fine = grid(Field::residual, level + 1);
        const PlainGrid coarse = grid(Field::residual, level);
        if (slabs_.dealt(level + 1) && !slabs_.dealt(level)) {
            const std::int64_t first = slabs_.thread * slabs_.planes(level);
            for (std::int64_t z = 1; z <= slabs_.planes(level); ++z) {
                restrict_plane(fine, 2 * z, coarse, first + z, around_);
                wrap_plane(coarse, first + z);
            }
            communication_.gather();
            wrap_own(coarse);
            return;
        }
        on_planes(Field::residual, level, [&](std::int64_t z) { restrict_plane(fine, 2 * z, coarse, z, around_); });
    }
    /// The solution of the next coarser grid, added to this one, which is zero before if it is cleared. The ends come
    /// from the coarse grid's.
    void interpolate(int level, bool cleared) {
        const PlainGrid fine = grid(Field::solution, level);
        PlainGrid coarse = grid(Field::solution, level - 1);
        if (slabs_.dealt(level) && !slabs_.dealt(level - 1))
            coarse.base = coarse.row(slabs_.thread * slabs_.planes(level - 1), 0);
        for (std::int64_t z = 0; z < planes(level) + 2; ++z) {
            if (cleared) clear_plane(fine, z);
            interpolate_plane(coarse, fine, z, around_);
        }
    }

    Problem problem_;
    Communication communication_;
    Slabs slabs_;
    std::vector<std::vector<double>> own_solution_,
        own_residual_;          // by level, of the grids that the thread has as a whole
    std::vector<double> right_; // v, dealt as the finest grid
    Neighbourhood around_;
};

// ---- As one writes it first: grids in shared arrays, and planes read wherever they are.

class NaiveGrid {
public:
    /// Of a level, in blocks of whole planes: as many for each thread, or one for each of the first threads.
    NaiveGrid(int level, int threads)
        : n{Slabs::n(level)},
          points_{static_cast<std::size_t>(n * Slabs::plane_points(level)),
                  static_cast<std::size_t>(std::max<std::int64_t>(n / threads, 1) * Slabs::plane_points(level))} {}
    [[nodiscard]] static std::uint64_t heap_bytes(int level, int threads) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(Slabs::n(level) / threads, 1) *
                                          Slabs::plane_points(level)) *
                   sizeof(double) +
               64;
    }

    /// shared [] double* row = (shared [] double*)&points[z - 1][y][0]: a row lies with one thread.
    using Row = upc::Pointer<double, upc::indefinite>;
    [[nodiscard]] Row row(std::int64_t z, std::int64_t y) const {
        return Row{points_ + (first_of_plane(plane_inside(z)) + y * (n + 2))};
    }
    [[nodiscard]] const double* loaded(std::int64_t z, std::int64_t y, double* room) const {
        const Row from = row(z, y);
        for (std::int64_t x = 0; x < n + 2; ++x) room[x] = from[x];
        return room;
    }
    /// Before its planes are read.
    void refresh() const noexcept {}
    void fetch(std::int64_t /*z*/) const noexcept {}
    [[nodiscard]] Row beside(std::int64_t z, std::int64_t y) const { return row(z, y); }
    /// upc_forall (z = 1; z <= n; z++; &grid[z][0][0])
    template <class Body>
    void for_own_planes(Body body) const {
        upc::forall(1, n + 1, [this](std::int64_t z) { return points_ + first_of_plane(z); }, body);
    }

    std::int64_t n;

protected:
    [[nodiscard]] std::int64_t first_of_plane(std::int64_t z) const noexcept { return (z - 1) * (n + 2) * (n + 2); }
    /// Planes 0 and n + 1 are those of the other side.
    [[nodiscard]] std::int64_t plane_inside(std::int64_t z) const noexcept { return z == 0 ? n : z == n + 1 ? 1 : z; }
    [[nodiscard]] const upc::SharedArray<double, upc::dynamic_block>& points() const noexcept { return points_; }

private:
    upc::SharedArray<double, upc::dynamic_block> points_; // shared [B] double points[n][n + 2][n + 2]
};

/// The same with upc_memget of what lies one after another in a thread's memory: a plane beside the one that is
/// computed, and a row of that one.
class PlaneGrid : public NaiveGrid {
public:
    PlaneGrid(int level, int threads) : NaiveGrid{level, threads} {
        for (std::vector<double>& plane : planes_) plane.resize(static_cast<std::size_t>((n + 2) * (n + 2)));
    }
    [[nodiscard]] const double* loaded(std::int64_t z, std::int64_t y, double* room) const {
        upc::memget(room, row(z, y), static_cast<std::size_t>(n + 2) * sizeof *room);
        return room;
    }
    void fetch(std::int64_t z) const {
        std::vector<double>& plane = plane_of(z);
        upc::memget(plane.data(), row(z, 0), plane.size() * sizeof(double));
    }
    [[nodiscard]] const double* beside(std::int64_t z, std::int64_t y) const {
        return plane_of(z).data() + y * (n + 2);
    }

private:
    /// Those at both sides of a plane have different places, and so do two neighbours.
    [[nodiscard]] std::vector<double>& plane_of(std::int64_t z) const {
        return planes_[static_cast<std::size_t>(z % 3)];
    }

    mutable std::array<std::vector<double>, 3> planes_;
};

/// The same of a mapped array: own planes and those beside them, or, of a grid that is dealt otherwise than the one
/// that is computed from it, all.
class MappedGrid : public NaiveGrid {
public:
    MappedGrid(int level, int threads) : NaiveGrid{level, threads}, planes_{upc::mapped(points(), read(threads))} {}
    void refresh() const { planes_.refresh(); }
    /// Of a plane of the thread's own.
    [[nodiscard]] double* row(std::int64_t z, std::int64_t y) const { return NaiveGrid::row(z, y).cast(); }
    [[nodiscard]] const double* loaded(std::int64_t z, std::int64_t y, double* /*room*/) const noexcept {
        return beside(z, y);
    }
    [[nodiscard]] const double* beside(std::int64_t z, std::int64_t y) const noexcept {
        return planes_.data() + (first_of_plane(plane_inside(z)) + y * (n + 2));
    }

private:
    [[nodiscard]] std::vector<Range> read(int threads) const {
        const std::int64_t each = n / threads;
        if (each < 2) return {{0, n * (n + 2) * (n + 2)}};
        const std::int64_t first = upc::mythread() * each + 1;
        std::vector<Range> ranges{planes(first, first + each)};
        for (const std::int64_t z : {first - 1, first + each})
            ranges.push_back(planes(plane_inside(z), plane_inside(z) + 1));
        return ranges;
    }
    [[nodiscard]] Range planes(std::int64_t first, std::int64_t end) const {
        return {first_of_plane(first), first_of_plane(end)};
    }

    MappedArray<double, 1> planes_;
};

template <class Grid>
class NaiveSolver {
public:
    explicit NaiveSolver(const Problem& problem)
        : problem_{problem}, right_{problem.levels, upc::threads()}, around_{problem.n()} {
        for (int level = 1; level <= problem.levels; ++level) {
            solution_.push_back(std::make_unique<Grid>(level, upc::threads()));
            residual_.push_back(std::make_unique<Grid>(level, upc::threads()));
        }
        const std::vector<Charge> charges = charges_of(problem.n());
        right_.for_own_planes([&](std::int64_t z) {
            for (const Charge& charge : charges)
                if (charge.z == z) right_.row(z, charge.y)[charge.x] = charge.value;
        });
    }
    [[nodiscard]] static std::uint64_t heap_bytes(const Problem& problem, int threads) {
        std::uint64_t bytes = Grid::heap_bytes(problem.levels, threads) + sizeof(double) + 64;
        for (int level = 1; level <= problem.levels; ++level) bytes += 2 * Grid::heap_bytes(level, threads);
        return bytes;
    }

    void start() {
        clear(problem_.levels);
        residual(problem_.levels, right_);
    }
    void step() {
        for (int level = problem_.levels; level > 1; --level) restrict_to(level - 1);
        clear(1);
        smooth(1);
        for (int level = 2; level <= problem_.levels; ++level) {
            if (level < problem_.levels) clear(level);
            const Grid& fine = u(level);
            u(level - 1).refresh();
            fine.for_own_planes([&](std::int64_t z) { interpolate_plane(u(level - 1), fine, z, around_); });
            upc::barrier();
            residual(level, level < problem_.levels ? r(level) : right_);
            smooth(level);
        }
        residual(problem_.levels, right_);
    }
    [[nodiscard]] double norm() {
        double sum = 0;
        r(problem_.levels).for_own_planes([&](std::int64_t z) { sum += square_of_plane(r(problem_.levels), z); });
        partial_[upc::mythread()] = sum;
        upc::barrier();
        double all = 0;
        for (int t = 0; t < upc::threads(); ++t) all += partial_[t];
        upc::barrier();
        const auto n = static_cast<double>(problem_.n());
        return std::sqrt(all / (n * n * n));
    }

private:
    [[nodiscard]] const Grid& u(int level) const { return *solution_[static_cast<std::size_t>(level) - 1]; }
    [[nodiscard]] const Grid& r(int level) const { return *residual_[static_cast<std::size_t>(level) - 1]; }

    /// Computes a grid by its planes; after a barrier all threads see it.
    template <class Plane>
    void on_planes(const Grid& result, Plane plane) {
        result.for_own_planes([&](std::int64_t z) {
            plane(z);
            wrap_plane(result, z);
        });
        upc::barrier();
    }
    void clear(int level) {
        u(level).for_own_planes([&](std::int64_t z) { clear_plane(u(level), z); });
        upc::barrier();
    }
    void residual(int level, const Grid& v) {
        u(level).refresh();
        on_planes(r(level), [&](std::int64_t z) { residual_plane(u(level), v, r(level), z, around_); });
    }
    void smooth(int level) {
        r(level).refresh();
        on_planes(u(level), [&](std::int64_t z) { smooth_plane(r(level), u(level), problem_.smoother, z, around_); });
    }
    void restrict_to(int level) {
        r(level + 1).refresh();
        on_planes(r(level), [&](std::int64_t z) { restrict_plane(r(level + 1), 2 * z, r(level), z, around_); });
    }

    Problem problem_;
    Grid right_;
    std::vector<std::unique_ptr<Grid>> solution_, residual_;                     // by level, from 1
    upc::SharedArray<double> partial_{static_cast<std::size_t>(upc::threads())}; // shared double partial[THREADS]
    Neighbourhood around_;
};

struct Measured {
    double seconds;
    double norm;
};

template <class Solver>
[[nodiscard]] Measured measure(const Problem& problem, Variant variant) {
    Solver solver{problem};
    solver.start(); // as NPB does, so that everything has been touched
    solver.step();
    double norm = 0;
    const double seconds = seconds_of(variant, [&] {
        solver.start();
        (void)solver.norm();
        for (int k = 0; k < problem.iterations; ++k) solver.step();
        norm = solver.norm();
    });
    return {seconds, norm};
}

} // namespace

HeapNeeds multigrid_heap(Class size, int ranks) {
    const Problem problem = problem_of(size);
    return {.blocks =
                std::max(UpcSlabs::heap_bytes(problem, ranks), NaiveSolver<NaiveGrid>::heap_bytes(problem, ranks)) +
                (std::uint64_t{1} << 16),
            .local = std::uint64_t{1} << 16};
}

Result multigrid(Class size, Variant variant) {
    const Problem problem = problem_of(size);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!std::has_single_bit(static_cast<unsigned>(ranks)) || 2 * ranks > problem.n())
        throw std::invalid_argument{fmt::format(
            "{} threads; each has as many planes as the others of {}, and two at least: run a power of two, at most {}",
            ranks, problem.n(), problem.n() / 2)};
    Measured measured{};
    switch (variant) {
    case Variant::mpi_overlapped:
    case Variant::mpi: measured = measure<SlabSolver<MpiSlabs>>(problem, variant); break;
    case Variant::optimised: measured = measure<SlabSolver<UpcSlabs>>(problem, variant); break;
    case Variant::naive: measured = measure<NaiveSolver<NaiveGrid>>(problem, variant); break;
    case Variant::naive_rows: measured = measure<NaiveSolver<PlaneGrid>>(problem, variant); break;
    case Variant::naive_mapped: measured = measure<NaiveSolver<MappedGrid>>(problem, variant); break;
    }
    const auto n = static_cast<double>(problem.n());
    return {.seconds = measured.seconds,
            .million_operations = 58e-6 * problem.iterations * n * n * n,
            .verified = std::abs(measured.norm - problem.norm) / problem.norm <= 1e-8,
            .detail = fmt::format("norm of the residual {:.13e}, expected {:.13e}", measured.norm, problem.norm)};
}

} // namespace lapwing::nas
