// FT: a diffusion equation, solved by Fourier transforms in three dimensions. The array is dealt in slabs: while lines
// along x and y are transformed, each thread has some planes of constant z, and while lines along z are, some planes of
// constant y. Between the two everything moves.
#include "ft_lines.hpp"
#include "nas.hpp"
#include "sums.hpp"

#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace lapwing::nas {
namespace {

constexpr std::uint64_t seed = 314159265;
constexpr double diffusion = 1e-6;
constexpr int checksum_terms = 1024;

constexpr std::array<Complex, 6> checksums_s{{{5.546087004964e2, 4.845363331978e2},
                                              {5.546385409189e2, 4.865304269511e2},
                                              {5.546148406171e2, 4.883910722336e2},
                                              {5.545423607415e2, 4.901273169046e2},
                                              {5.544255039624e2, 4.917475857993e2},
                                              {5.542683411902e2, 4.932597244941e2}}};
constexpr std::array<Complex, 6> checksums_w{{{5.673612178944e2, 5.293246849175e2},
                                              {5.631436885271e2, 5.282149986629e2},
                                              {5.594024089970e2, 5.270996558037e2},
                                              {5.560698047020e2, 5.260027904925e2},
                                              {5.530898991250e2, 5.249400845633e2},
                                              {5.504159734538e2, 5.239212247086e2}}};
constexpr std::array<Complex, 6> checksums_a{{{5.046735008193e2, 5.114047905510e2},
                                              {5.059412319734e2, 5.098809666433e2},
                                              {5.069376896287e2, 5.098144042213e2},
                                              {5.077892868474e2, 5.101336130759e2},
                                              {5.085233095391e2, 5.104914655194e2},
                                              {5.091487099959e2, 5.107917842803e2}}};
constexpr std::array<Complex, 20> checksums_b{
    {{5.177643571579e2, 5.077803458597e2}, {5.154521291263e2, 5.088249431599e2}, {5.146409228649e2, 5.096208912659e2},
     {5.142378756213e2, 5.101023387619e2}, {5.139626667737e2, 5.103976610617e2}, {5.137423460082e2, 5.105948019802e2},
     {5.135547056878e2, 5.107404165783e2}, {5.133910925466e2, 5.108576573661e2}, {5.132470705390e2, 5.109577278523e2},
     {5.131197729984e2, 5.110460304483e2}, {5.130070319283e2, 5.111252433800e2}, {5.129070537032e2, 5.111968077718e2},
     {5.128182883502e2, 5.112616233064e2}, {5.127393733383e2, 5.113203605551e2}, {5.126691062020e2, 5.113735928093e2},
     {5.126064276004e2, 5.114218460548e2}, {5.125504076570e2, 5.114656139760e2}, {5.125002331720e2, 5.115053595966e2},
     {5.124551951846e2, 5.115415130407e2}, {5.124146770029e2, 5.115744692211e2}}};

constexpr std::array<Complex, 1> checksums_t{{{5.897565646596e2, 6.297896926750e2}}};

struct Problem {
    std::int64_t nx, ny, nz;
    std::span<const Complex> checksums; ///< one an iteration
    [[nodiscard]] std::int64_t points() const noexcept { return nx * ny * nz; }
};
[[nodiscard]] Problem problem_of(Class size) {
    switch (size) {
    case Class::S: return {64, 64, 64, checksums_s};
    case Class::W: return {128, 128, 32, checksums_w};
    case Class::A: return {256, 256, 128, checksums_a};
    case Class::B: return {512, 256, 256, checksums_b};
    case Class::T: return {32, 32, 16, checksums_t};
    }
    return {};
}

/// The part of a thread: planes of z, or planes of y.
struct Slab {
    Problem problem;
    int thread, threads;
    std::int64_t z_planes, y_planes; ///< of each thread
    std::int64_t chunk;              ///< points that move from a thread to another

    Slab(const Problem& whole, int own, int all)
        : problem{whole},
          thread{own},
          threads{all},
          z_planes{whole.nz / all},
          y_planes{whole.ny / all},
          chunk{z_planes * y_planes * whole.nx} {}
    [[nodiscard]] std::size_t points() const noexcept { return static_cast<std::size_t>(chunk * threads); }
    [[nodiscard]] std::int64_t first_z() const noexcept { return thread * z_planes; }
    [[nodiscard]] std::int64_t first_y() const noexcept { return thread * y_planes; }
};

/// What a step multiplies an element with: the product of a number for each dimension, exp(-4 alpha pi^2 k^2) of the
/// element's frequency k there.
struct Factors {
    explicit Factors(const Problem& problem) : x(factors(problem.nx)), y(factors(problem.ny)), z(factors(problem.nz)) {}
    [[nodiscard]] static std::vector<double> factors(std::int64_t size) {
        std::vector<double> result;
        result.reserve(static_cast<std::size_t>(size));
        for (std::int64_t i = 0; i < size; ++i) {
            const auto frequency = static_cast<double>(i < size / 2 ? i : i - size);
            result.push_back(std::exp(-4 * diffusion * std::numbers::pi * std::numbers::pi * frequency * frequency));
        }
        return result;
    }
    std::vector<double> x, y, z;
};

/// Calls set(y, x, value) for the initial values of plane z: two random numbers a point.
template <class Set>
void initial_plane(const Problem& problem, std::int64_t z, Set set) {
    Random random{seed};
    random.skip(static_cast<std::uint64_t>(2 * problem.nx * problem.ny * z));
    std::vector<double> row(static_cast<std::size_t>(2 * problem.nx));
    for (std::int64_t y = 0; y < problem.ny; ++y) {
        random.fill(row);
        for (std::size_t x = 0; x < row.size() / 2; ++x)
            set(y, static_cast<std::int64_t>(x), Complex{row[2 * x], row[2 * x + 1]});
    }
}

/// Adds up value(x, y, z) over the checksum's points whose z is in the thread's slab.
template <class Value>
[[nodiscard]] std::array<double, 2> checksum_of(const Slab& slab, Value value) {
    std::array<double, 2> sum{};
    for (std::int64_t j = 1; j <= checksum_terms; ++j) {
        const std::int64_t z = 5 * j % slab.problem.nz;
        if (z / slab.z_planes != slab.thread) continue;
        const Complex term = value(j % slab.problem.nx, 3 * j % slab.problem.ny, z);
        sum[0] += term.re;
        sum[1] += term.im;
    }
    return sum;
}

// ---- In blocks: the optimised variant and MPI's. While z is dealt, a thread's points are in the order [y][own z][x],
// and while y is, [s][own y][z of thread s][x]: what moves from one thread to another is then contiguous on both sides,
// and nothing is packed.

class MpiExchange {
public:
    explicit MpiExchange(const Problem& problem)
        : slab_{problem, rank(), size()},
          planes_(slab_.points()),
          outgoing_(slab_.points()),
          counts_(static_cast<std::size_t>(slab_.threads)),
          places_(counts_.size()) {
        // In elements of one row, as counts are ints.
        for (int s = 0; s < slab_.threads; ++s) {
            const auto i = static_cast<std::size_t>(s);
            counts_[i] = s == slab_.thread ? 0 : static_cast<int>(slab_.z_planes * slab_.y_planes);
            places_[i] = static_cast<int>(s * slab_.z_planes * slab_.y_planes);
        }
        MPI_Type_contiguous(static_cast<int>(2 * problem.nx), MPI_DOUBLE, &row_);
        MPI_Type_commit(&row_);
    }
    MpiExchange(const MpiExchange&) = delete;
    MpiExchange& operator=(const MpiExchange&) = delete;
    ~MpiExchange() { MPI_Type_free(&row_); }

    [[nodiscard]] const Slab& slab() const noexcept { return slab_; }
    /// The points of this thread's z.
    [[nodiscard]] Complex* planes() noexcept { return planes_.data(); }
    /// Brings the points of this thread's y to `columns`.
    void to_columns(Complex* columns) {
        const auto own = static_cast<std::size_t>(slab_.thread * slab_.chunk);
        std::memcpy(columns + own, planes() + own, static_cast<std::size_t>(slab_.chunk) * sizeof(Complex));
        MPI_Alltoallv(planes(), counts_.data(), places_.data(), row_, columns, counts_.data(), places_.data(), row_,
                      MPI_COMM_WORLD);
    }
    void begin() {}
    [[nodiscard]] MPI_Datatype row() const noexcept { return row_; }
    /// Where to write what thread s gets of this thread's plane y: its own points where they stay.
    [[nodiscard]] Complex* destination(std::int64_t y, int s) noexcept {
        Complex* const base = s == slab_.thread ? planes() : outgoing_.data();
        return base + s * slab_.chunk + y * slab_.z_planes * slab_.problem.nx;
    }
    /// That it is written.
    void send(std::int64_t /*y*/) {}
    /// Brings the rest; planes() is complete then.
    void finish() {
        MPI_Alltoallv(outgoing_.data(), counts_.data(), places_.data(), row_, planes(), counts_.data(), places_.data(),
                      row_, MPI_COMM_WORLD);
    }
    [[nodiscard]] std::array<double, 2> sum(std::array<double, 2> mine) {
        MPI_Allreduce(MPI_IN_PLACE, mine.data(), 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return mine;
    }

private:
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

    Slab slab_;
    std::vector<Complex> planes_;
    std::vector<Complex> outgoing_;
    std::vector<int> counts_, places_;
    MPI_Datatype row_ = MPI_DATATYPE_NULL;
};

/// The same with what a plane of y has for another rank on its way as soon as it is written, while the next planes are
/// transformed.
class OverlappedMpiExchange : public MpiExchange {
public:
    using MpiExchange::MpiExchange;
    void send(std::int64_t y) {
        const Slab& slab = this->slab();
        const int rows = static_cast<int>(slab.z_planes); // of one plane of y
        if (y == 0) // the checksum of the last step has been taken: what comes may be written
            for (int k = 1; k < slab.threads; ++k) {
                const int s = (slab.thread + slab.threads - k) % slab.threads;
                for (std::int64_t other = 0; other < slab.y_planes; ++other)
                    MPI_Irecv(planes() + s * slab.chunk + other * slab.z_planes * slab.problem.nx, rows, row(), s,
                              static_cast<int>(other), MPI_COMM_WORLD, &requests_.emplace_back(MPI_REQUEST_NULL));
            }
        for (int k = 1; k < slab.threads; ++k) {
            const int s = (slab.thread + k) % slab.threads;
            MPI_Isend(destination(y, s), rows, row(), s, static_cast<int>(y), MPI_COMM_WORLD,
                      &requests_.emplace_back(MPI_REQUEST_NULL));
        }
        int all = 0; // progress of what is under way
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
        if (all != 0) requests_.clear();
    }
    void finish() {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
        requests_.clear();
    }

private:
    std::vector<MPI_Request> requests_;
};

/// What a plane of y has for another thread is put there as soon as it is written, while the next planes are
/// transformed. Where the thread can store there itself, the transform does.
class UpcExchange {
public:
    explicit UpcExchange(const Problem& problem)
        : slab_{problem, upc::mythread(), upc::threads()},
          plane_points_{slab_.z_planes * problem.nx},
          planes_{static_cast<std::size_t>(problem.points()), slab_.points()} {
        direct_.resize(static_cast<std::size_t>(slab_.threads));
        bool all_direct = true;
        for (int s = 0; s < slab_.threads; ++s) {
            direct_[static_cast<std::size_t>(s)] = (planes_ + part(s)).cast();
            all_direct = all_direct && direct_[static_cast<std::size_t>(s)] != nullptr;
        }
        if (all_direct) return;
        for (Slot& slot : slots_) slot.points.resize(static_cast<std::size_t>(plane_points_ * slab_.threads));
    }
    [[nodiscard]] static std::uint64_t heap_bytes(const Problem& problem, int threads) {
        return static_cast<std::uint64_t>(problem.points() / threads) * sizeof(Complex) + Sums<2>::heap_bytes(threads) +
               64;
    }

    [[nodiscard]] const Slab& slab() const noexcept { return slab_; }
    [[nodiscard]] Complex* planes() noexcept { return planes_.local(); }
    void to_columns(Complex* columns) {
        upc::barrier();
        const auto bytes = static_cast<std::size_t>(slab_.chunk) * sizeof(Complex);
        for (int k = 0; k < slab_.threads; ++k) {
            const int s = (slab_.thread + k) % slab_.threads; // not all from the same one at a time
            upc::memget_nbi(columns + s * slab_.chunk, planes_ + (part(s) + slab_.thread * slab_.chunk), bytes);
        }
        upc::synci();
    }
    /// After it all threads have finished with their planes, which may be written from now on.
    void begin() { upc::barrier(); }
    [[nodiscard]] Complex* destination(std::int64_t y, int s) {
        if (Complex* const part = direct_[static_cast<std::size_t>(s)])
            return part + (slab_.first_y() + y) * plane_points_;
        Slot& slot = slot_of(y);
        slot.puts.clear(); // waits: a plane before this one has left the memory
        return slot.points.data() + s * plane_points_;
    }
    void send(std::int64_t y) {
        for (int k = 1; k < slab_.threads; ++k) {
            const int s = (slab_.thread + k) % slab_.threads;
            if (direct_[static_cast<std::size_t>(s)] != nullptr) continue;
            Slot& slot = slot_of(y);
            slot.puts.push_back(upc::memput_nb(planes_ + (part(s) + (slab_.first_y() + y) * plane_points_),
                                               slot.points.data() + s * plane_points_,
                                               static_cast<std::size_t>(plane_points_) * sizeof(Complex)));
        }
    }
    void finish() {
        for (Slot& slot : slots_) slot.puts.clear();
        upc::barrier();
    }
    [[nodiscard]] std::array<double, 2> sum(const std::array<double, 2>& mine) { return sums_(mine); }

private:
    /// One of the last planes, which may be on its way.
    struct Slot {
        std::vector<Complex> points; ///< by thread
        std::vector<upc::Handle> puts;
    };
    [[nodiscard]] Slot& slot_of(std::int64_t y) noexcept { return slots_[static_cast<std::size_t>(y) % slots_.size()]; }
    [[nodiscard]] std::int64_t part(int s) const noexcept { return s * static_cast<std::int64_t>(slab_.points()); }

    Slab slab_;
    std::int64_t plane_points_;
    upc::SharedArray<Complex, upc::dynamic_block> planes_; // shared [*] Complex planes[ny][nz][nx], nearly: see above
    std::vector<Complex*> direct_;                         // the threads' parts of it, null where they are out of reach
    std::array<Slot, 4> slots_;
    Sums<2> sums_;
};

template <class Exchange>
class SlabSolver {
public:
    explicit SlabSolver(const Problem& problem)
        : exchange_{problem}, slab_{exchange_.slab()}, columns_(slab_.points()) {}

    /// The initial values, and their transform. Collective.
    void start() {
        Complex* const planes = exchange_.planes();
        for (std::int64_t z = 0; z < slab_.z_planes; ++z) {
            initial_plane(slab_.problem, slab_.first_z() + z,
                          [&](std::int64_t y, std::int64_t x, const Complex& value) { *at(planes, y, z, x) = value; });
            along_x(forward_x_, z);
            along_y(forward_y_, z);
        }
        exchange_.to_columns(columns_.data());
        const std::int64_t nx = slab_.problem.nx;
        for (std::int64_t y = 0; y < slab_.y_planes; ++y) {
            const Rows rows = rows_of(y);
            for (std::int64_t x = 0; x < nx; x += LineTransform::lanes) {
                forward_z_.load_across(
                    [&](std::int64_t z, std::int64_t lane) { return rows[static_cast<std::size_t>(z)][x + lane]; });
                forward_z_.run();
                forward_z_.store_across([&](std::int64_t z, std::int64_t lane, const Complex& value) {
                    rows[static_cast<std::size_t>(z)][x + lane] = value;
                });
            }
        }
        exchange_.begin();
    }
    /// A time step, its transform back, and the checksum, not yet divided. Collective.
    [[nodiscard]] std::array<double, 2> step() {
        for (std::int64_t y = 0; y < slab_.y_planes; ++y) {
            evolve(y);
            exchange_.send(y);
        }
        exchange_.finish();
        for (std::int64_t z = 0; z < slab_.z_planes; ++z) {
            along_y(backward_y_, z);
            along_x(backward_x_, z);
        }
        const Complex* const planes = exchange_.planes();
        return exchange_.sum(checksum_of(slab_, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
            return planes[(y * slab_.z_planes + z - slab_.first_z()) * slab_.problem.nx + x];
        }));
    }

private:
    using Rows = std::vector<Complex*>; // of a plane of y, by z

    [[nodiscard]] Complex* at(Complex* planes, std::int64_t y, std::int64_t z, std::int64_t x) const noexcept {
        return planes + ((y * slab_.z_planes + z) * slab_.problem.nx + x);
    }
    [[nodiscard]] Rows rows_of(std::int64_t y) {
        Rows rows;
        rows.reserve(static_cast<std::size_t>(slab_.problem.nz));
        for (std::int64_t z = 0; z < slab_.problem.nz; ++z)
            rows.push_back(columns_.data() + (z / slab_.z_planes * slab_.chunk +
                                              (y * slab_.z_planes + z % slab_.z_planes) * slab_.problem.nx));
        return rows;
    }
    void along_x(LineTransform& lines, std::int64_t z) {
        Complex* const plane = exchange_.planes();
        for (std::int64_t y = 0; y < slab_.problem.ny; y += LineTransform::lanes) {
            Complex* const first = at(plane, y, z, 0);
            const std::int64_t apart = slab_.z_planes * slab_.problem.nx;
            lines.load_along([&](std::int64_t x, std::int64_t lane) { return first[lane * apart + x]; });
            lines.run();
            lines.store_along(
                [&](std::int64_t x, std::int64_t lane, const Complex& value) { first[lane * apart + x] = value; });
        }
    }
    void along_y(LineTransform& lines, std::int64_t z) {
        Complex* const plane = exchange_.planes();
        for (std::int64_t x = 0; x < slab_.problem.nx; x += LineTransform::lanes) {
            Complex* const first = at(plane, 0, z, x);
            const std::int64_t apart = slab_.z_planes * slab_.problem.nx;
            lines.load_across([&](std::int64_t y, std::int64_t lane) { return first[y * apart + lane]; });
            lines.run();
            lines.store_across(
                [&](std::int64_t y, std::int64_t lane, const Complex& value) { first[y * apart + lane] = value; });
        }
    }
    /// A step in plane y, and its transform along z, to where its points go.
    void evolve(std::int64_t y) {
        const Rows rows = rows_of(y);
        Rows destinations;
        destinations.reserve(rows.size());
        for (int s = 0; s < slab_.threads; ++s) {
            Complex* const first = exchange_.destination(y, s);
            for (std::int64_t z = 0; z < slab_.z_planes; ++z) destinations.push_back(first + z * slab_.problem.nx);
        }
        const double of_y = factors_.y[static_cast<std::size_t>(slab_.first_y() + y)];
        for (std::int64_t x = 0; x < slab_.problem.nx; x += LineTransform::lanes) {
            const double* const of_x = factors_.x.data() + x;
            backward_z_.load_across([&](std::int64_t z, std::int64_t lane) {
                Complex& value = rows[static_cast<std::size_t>(z)][x + lane];
                const double factor = of_y * factors_.z[static_cast<std::size_t>(z)] * of_x[lane];
                value = {value.re * factor, value.im * factor};
                return value;
            });
            backward_z_.run();
            backward_z_.store_across([&](std::int64_t z, std::int64_t lane, const Complex& value) {
                destinations[static_cast<std::size_t>(z)][x + lane] = value;
            });
        }
    }

    Exchange exchange_;
    Slab slab_;
    std::vector<Complex> columns_; // the transform of the solution
    Factors factors_{slab_.problem};
    LineTransform forward_x_{slab_.problem.nx, Direction::forward}, forward_y_{slab_.problem.ny, Direction::forward},
        forward_z_{slab_.problem.nz, Direction::forward}, backward_x_{slab_.problem.nx, Direction::backward},
        backward_y_{slab_.problem.ny, Direction::backward}, backward_z_{slab_.problem.nz, Direction::backward};
};

// ---- As one writes it first: three shared arrays, and elements wherever they are.

class NaiveSolver {
public:
    /// How the rows are read that move from thread to thread: element by element, by upc_memget, as many as lie one
    /// after another, or of a mapped array.
    enum class Reads : std::uint8_t { elements, rows, mapped };
    explicit NaiveSolver(const Problem& problem, Reads reads = Reads::elements)
        : problem_{problem}, slab_{problem, upc::mythread(), upc::threads()}, reads_{reads} {
        if (reads != Reads::mapped) return;
        const auto ranges = [&](std::int64_t planes, std::int64_t rows, std::int64_t first, std::int64_t own) {
            std::vector<Range> all;
            for (std::int64_t k = 0; k < planes; ++k) {
                const std::int64_t begin = (k * rows + first) * problem.nx;
                all.emplace_back(begin, begin + own * problem.nx);
            }
            return all;
        };
        whole_planes_ = upc::mapped(planes_, ranges(problem.nz, problem.ny, slab_.first_y(), slab_.y_planes));
        whole_work_ = upc::mapped(work_, ranges(problem.ny, problem.nz, slab_.first_z(), slab_.z_planes));
    }
    [[nodiscard]] static std::uint64_t heap_bytes(const Problem& problem, int threads) {
        return 3 * (static_cast<std::uint64_t>(problem.points() / threads) * sizeof(Complex) + 64) +
               Sums<2>::heap_bytes(threads);
    }

    void start() {
        for_own_z([&](std::int64_t z) {
            const Rows rows = plane(z);
            initial_plane(problem_, z,
                          [&](std::int64_t y, std::int64_t x, const Complex& value) { set(rows[index(y)], x, value); });
        });
        along_x(forward_x_);
        along_y(forward_y_);
        upc::barrier();
        if (whole_planes_) whole_planes_->refresh();
        // In the order in which the elements lie with the thread that they are read from; so below.
        for (std::int64_t z = 0; z < problem_.nz; ++z) {
            if (reads_ == Reads::rows) fetch(slab_.y_planes, row(planes_, plane_index(z, slab_.first_y(), 0)));
            for_own_y([&](std::int64_t y) {
                const Row to = row(columns_, column_index(y, z, 0));
                if (reads_ == Reads::rows) store_row(to, &fetched_[index((y - slab_.first_y()) * problem_.nx)]);
                else if (whole_planes_) store_row(to, whole_planes_->data() + plane_index(z, y, 0));
                else copy_row(to, row(planes_, plane_index(z, y, 0)));
            });
        }
        along_z(forward_z_, columns_);
    }
    [[nodiscard]] std::array<double, 2> step() {
        for_own_y([&](std::int64_t y) {
            for (std::int64_t z = 0; z < problem_.nz; ++z) {
                const Row values = row(columns_, column_index(y, z, 0));
                const Row to = row(work_, column_index(y, z, 0));
                const double of_row = factors_.y[index(y)] * factors_.z[index(z)];
                for (std::int64_t x = 0; x < problem_.nx; ++x) {
                    const double factor = of_row * factors_.x[index(x)];
                    const Complex value = get(values, x);
                    set(values, x, {value.re * factor, value.im * factor});
                    set(to, x, get(values, x));
                }
            }
        });
        along_z(backward_z_, work_);
        upc::barrier();
        if (whole_work_) whole_work_->refresh();
        for (std::int64_t y = 0; y < problem_.ny; ++y) {
            if (reads_ == Reads::rows) fetch(slab_.z_planes, row(work_, column_index(y, slab_.first_z(), 0)));
            for_own_z([&](std::int64_t z) {
                const Row to = row(planes_, plane_index(z, y, 0));
                if (reads_ == Reads::rows) store_row(to, &fetched_[index((z - slab_.first_z()) * problem_.nx)]);
                else if (whole_work_) store_row(to, whole_work_->data() + column_index(y, z, 0));
                else copy_row(to, row(work_, column_index(y, z, 0)));
            });
        }
        along_y(backward_y_);
        along_x(backward_x_);
        return sums_(checksum_of(slab_, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
            return get(planes_.begin(), plane_index(z, y, x));
        }));
    }

private:
    using Array = upc::SharedArray<Complex, upc::dynamic_block>;
    using Row = upc::Pointer<Complex, upc::indefinite>;
    using Rows = std::vector<Row>;

    [[nodiscard]] static std::size_t index(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }
    /// Element by element, and these by their members: p[i].re, p[i].im.
    template <class Pointer>
    [[nodiscard, gnu::always_inline]] static Complex get(const Pointer& p, std::int64_t i) {
        return {p[i]->*&Complex::re, p[i]->*&Complex::im};
    }
    [[gnu::always_inline]] static void set(const Row& p, std::int64_t i, const Complex& value) {
        p[i]->*& Complex::re = value.re;
        p[i]->*& Complex::im = value.im;
    }
    void copy_row(const Row& to, const Row& from) const {
        for (std::int64_t x = 0; x < problem_.nx; ++x) set(to, x, get(from, x));
    }
    void fetch(std::int64_t rows, const Row& from) {
        fetched_.resize(index(rows * problem_.nx));
        upc::memget(fetched_.data(), from, fetched_.size() * sizeof(Complex));
    }
    void store_row(const Row& to, const Complex* from) const {
        for (std::int64_t x = 0; x < problem_.nx; ++x) set(to, x, from[x]);
    }
    [[nodiscard]] std::int64_t plane_index(std::int64_t z, std::int64_t y, std::int64_t x) const noexcept {
        return (z * problem_.ny + y) * problem_.nx + x;
    }
    [[nodiscard]] std::int64_t column_index(std::int64_t y, std::int64_t z, std::int64_t x) const noexcept {
        return (y * problem_.nz + z) * problem_.nx + x;
    }
    /// shared [] Complex* row = (shared [] Complex*)&array[…][…][0]: a row lies with one thread.
    [[nodiscard]] static Row row(const Array& array, std::int64_t first) { return Row{array + first}; }
    /// The rows of a plane of z, by y, and of one of y, by z.
    [[nodiscard]] Rows plane(std::int64_t z) const {
        Rows rows;
        for (std::int64_t y = 0; y < problem_.ny; ++y) rows.push_back(row(planes_, plane_index(z, y, 0)));
        return rows;
    }
    [[nodiscard]] Rows plane(const Array& columns, std::int64_t y) const {
        Rows rows;
        for (std::int64_t z = 0; z < problem_.nz; ++z) rows.push_back(row(columns, column_index(y, z, 0)));
        return rows;
    }
    /// upc_forall (z = 0; z < nz; z++; &planes[z][0][0])
    template <class Body>
    void for_own_z(Body body) const {
        upc::forall(0, problem_.nz, [this](std::int64_t z) { return planes_ + plane_index(z, 0, 0); }, body);
    }
    /// upc_forall (y = 0; y < ny; y++; &columns[y][0][0])
    template <class Body>
    void for_own_y(Body body) const {
        upc::forall(0, problem_.ny, [this](std::int64_t y) { return columns_ + column_index(y, 0, 0); }, body);
    }

    void along_x(LineTransform& lines) {
        for_own_z([&](std::int64_t z) {
            const Rows rows = plane(z);
            for (std::int64_t y = 0; y < problem_.ny; y += LineTransform::lanes) {
                lines.load_along([&](std::int64_t x, std::int64_t lane) { return get(rows[index(y + lane)], x); });
                lines.run();
                lines.store_along([&](std::int64_t x, std::int64_t lane, const Complex& value) {
                    set(rows[index(y + lane)], x, value);
                });
            }
        });
    }
    void along_y(LineTransform& lines) {
        for_own_z([&](std::int64_t z) { across(lines, plane(z)); });
    }
    void along_z(LineTransform& lines, const Array& array) {
        for_own_y([&](std::int64_t y) { across(lines, plane(array, y)); });
    }
    void across(LineTransform& lines, const Rows& rows) {
        for (std::int64_t x = 0; x < problem_.nx; x += LineTransform::lanes) {
            lines.load_across([&](std::int64_t k, std::int64_t lane) { return get(rows[index(k)], x + lane); });
            lines.run();
            lines.store_across(
                [&](std::int64_t k, std::int64_t lane, const Complex& value) { set(rows[index(k)], x + lane, value); });
        }
    }

    Problem problem_;
    Slab slab_;
    Reads reads_;
    std::vector<Complex> fetched_; // rows
    // shared [*] Complex planes[nz][ny][nx], columns[ny][nz][nx], work[ny][nz][nx]
    Array planes_{static_cast<std::size_t>(problem_.points())}, columns_{planes_.size()}, work_{planes_.size()};
    std::optional<MappedArray<Complex, 1>> whole_planes_, whole_work_;
    Factors factors_{problem_};
    LineTransform forward_x_{problem_.nx, Direction::forward}, forward_y_{problem_.ny, Direction::forward},
        forward_z_{problem_.nz, Direction::forward}, backward_x_{problem_.nx, Direction::backward},
        backward_y_{problem_.ny, Direction::backward}, backward_z_{problem_.nz, Direction::backward};
    Sums<2> sums_;
};

class RowSolver : public NaiveSolver {
public:
    explicit RowSolver(const Problem& problem) : NaiveSolver{problem, Reads::rows} {}
};

class MappedSolver : public NaiveSolver {
public:
    explicit MappedSolver(const Problem& problem) : NaiveSolver{problem, Reads::mapped} {}
};

struct Measured {
    double seconds;
    std::vector<Complex> checksums;
};

template <class Solver>
[[nodiscard]] Measured measure(const Problem& problem, Variant variant) {
    Solver solver{problem};
    solver.start(); // as NPB does, so that everything has been touched
    std::vector<Complex> checksums;
    const double seconds = seconds_of(variant, [&] {
        solver.start();
        for (std::size_t k = 0; k < problem.checksums.size(); ++k) {
            const auto [re, im] = solver.step();
            checksums.push_back(
                {re / static_cast<double>(problem.points()), im / static_cast<double>(problem.points())});
        }
    });
    return {seconds, checksums};
}

/// |value - expected| / |expected|
[[nodiscard]] double error_of(const Complex& value, const Complex& expected) {
    return std::hypot(value.re - expected.re, value.im - expected.im) / std::hypot(expected.re, expected.im);
}

} // namespace

HeapNeeds fourier_transform_heap(Class size, int ranks) {
    const Problem problem = problem_of(size);
    return {.blocks = std::max(UpcExchange::heap_bytes(problem, ranks), NaiveSolver::heap_bytes(problem, ranks)) +
                      (std::uint64_t{1} << 16),
            .local = std::uint64_t{1} << 16};
}

Result fourier_transform(Class size, Variant variant) {
    const Problem problem = problem_of(size);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    // All dimensions are powers of two.
    if (const std::int64_t most = std::min(problem.ny, problem.nz); most % ranks != 0)
        throw std::invalid_argument{fmt::format(
            "{} threads; each has as many planes as the others, of {} and of {}: run a power of two, at most {}", ranks,
            problem.nz, problem.ny, most)};
    Measured measured{};
    switch (variant) {
    case Variant::mpi_overlapped: measured = measure<SlabSolver<OverlappedMpiExchange>>(problem, variant); break;
    case Variant::mpi: measured = measure<SlabSolver<MpiExchange>>(problem, variant); break;
    case Variant::optimised: measured = measure<SlabSolver<UpcExchange>>(problem, variant); break;
    case Variant::naive: measured = measure<NaiveSolver>(problem, variant); break;
    case Variant::naive_rows: measured = measure<RowSolver>(problem, variant); break;
    case Variant::naive_mapped: measured = measure<MappedSolver>(problem, variant); break;
    }

    double largest_error = 0;
    bool verified = true;
    for (std::size_t k = 0; k < problem.checksums.size(); ++k) {
        const double error = error_of(measured.checksums[k], problem.checksums[k]);
        verified = verified && error <= 1e-12; // not of the largest: an error that is no number would not become it
        largest_error = std::max(largest_error, error);
    }
    const auto iterations = static_cast<double>(problem.checksums.size());
    const auto points = static_cast<double>(problem.points());
    const Complex& last = measured.checksums.back();
    const Complex& expected = problem.checksums.back();
    return {.seconds = measured.seconds,
            .million_operations =
                1e-6 * points *
                (14.8157 + 7.19641 * std::log(points) + (5.23518 + 7.21113 * std::log(points)) * iterations),
            .verified = verified,
            .detail =
                fmt::format("last checksum {:.12e} {:.12e}, expected {:.12e} {:.12e}; largest error of {}: {:.1e}",
                            last.re, last.im, expected.re, expected.im, problem.checksums.size(), largest_error)};
}

} // namespace lapwing::nas
