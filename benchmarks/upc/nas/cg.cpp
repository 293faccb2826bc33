// CG: inverse iteration for the smallest eigenvalue of a large sparse matrix of random pattern. Its linear systems are
// solved by 25 steps of conjugate gradients. A product needs elements of the whole vector, wherever the row's nonzero
// elements are.
//
// Rows are dealt in blocks, in one dimension, in UPC and in MPI. NPB's own MPI program deals the matrix in two, so that
// a rank needs a part of the vector only, which counts with many ranks. The comparison is one of the ways to
// communicate, not with NPB's program.
#include "nas.hpp"

#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace lapwing::nas {
namespace {

struct Problem {
    std::int64_t rows;
    int nonzeros; ///< of each of the vectors whose outer products make the matrix
    int iterations;
    double shift;
    double zeta; ///< expected
};
[[nodiscard]] Problem problem_of(Class size) {
    switch (size) {
    case Class::S: return {1400, 7, 15, 10, 8.5971775078648};
    case Class::W: return {7000, 8, 15, 12, 10.362595087124};
    case Class::A: return {14000, 11, 15, 20, 17.130235054029};
    case Class::B: return {75000, 13, 75, 60, 22.712745482631};
    case Class::T: return {240, 4, 1, 10, 9.9702496909187};
    }
    return {};
}
constexpr int solver_steps = 25;

// ---- The matrix: sum over i of ratio^i x_i x_i^T, plus a multiple of the identity, where x_i is sparse and random,
// but 1/2 at place i.

/// Rows of the matrix that a thread has, each as its nonzero elements one after the other.
struct Rows {
    std::vector<std::int64_t> starts; ///< one more than there are rows
    std::vector<std::int32_t> columns;
    std::vector<double> values;
};

struct Element {
    std::int32_t place;
    double value;
};

/// The sparse vectors x_i, in turn.
class Vectors {
public:
    explicit Vectors(const Problem& problem) : problem_{problem} {
        while (places_ < problem.rows) places_ *= 2;
        (void)random_.next(); // NPB draws a first guess of zeta, which it does not use
    }

    void next(std::vector<Element>& x) {
        x.clear();
        while (x.size() < static_cast<std::size_t>(problem_.nonzeros)) {
            const double value = random_.next();
            const auto place = static_cast<std::int32_t>(random_.next() * static_cast<double>(places_));
            if (place >= problem_.rows || at(x, place) != nullptr) continue;
            x.push_back({place, value});
        }
        if (Element* const element = at(x, row_)) element->value = 0.5;
        else x.push_back({row_, 0.5});
        ++row_;
    }

private:
    [[nodiscard]] static Element* at(std::vector<Element>& x, std::int32_t place) {
        const auto found = std::ranges::find(x, place, &Element::place);
        return found == x.end() ? nullptr : &*found;
    }

    Problem problem_;
    Random random_{314159265};
    std::int64_t places_ = 1; ///< the next power of two
    std::int32_t row_ = 0;
};

/// Each thread makes all vectors, as NPB's do, and keeps the rows for which own_row(row) is a place among its `count`
/// rows, not -1.
template <class OwnRow>
[[nodiscard]] Rows make_rows(const Problem& problem, std::int64_t count, OwnRow own_row) {
    constexpr double condition = 0.1;
    const double ratio = std::pow(condition, 1.0 / static_cast<double>(problem.rows));
    std::vector<std::vector<Element>> rows(static_cast<std::size_t>(count));
    Vectors vectors{problem};
    std::vector<Element> x;
    double scale = 1;
    for (std::int64_t i = 0; i < problem.rows; ++i, scale *= ratio) {
        vectors.next(x);
        for (const Element& left : x) {
            const std::int64_t own = own_row(left.place);
            if (own < 0) continue;
            for (const Element& right : x) {
                double value = right.value * (scale * left.value);
                if (left.place == i && right.place == i) value += condition - problem.shift;
                rows[static_cast<std::size_t>(own)].push_back({right.place, value});
            }
        }
    }
    Rows made;
    made.starts.push_back(0);
    for (std::vector<Element>& row : rows) {
        std::ranges::stable_sort(
            row, {}, &Element::place); // contributions to an element stay in the order in which NPB adds them
        for (std::size_t k = 0; k < row.size(); ++k) {
            if (k > 0 && row[k].place == row[k - 1].place) {
                made.values.back() += row[k].value;
            } else {
                made.columns.push_back(row[k].place);
                made.values.push_back(row[k].value);
            }
        }
        made.starts.push_back(static_cast<std::int64_t>(made.values.size()));
        std::vector<Element>{}.swap(row);
    }
    return made;
}

// ---- The optimised variant and MPI's: rows in blocks, a copy of the whole vector at each thread, sums of a thread's
// own elements first. They differ in how the blocks of a vector and the sums are exchanged.

/// What solve() needs of either library, for vectors of `size` elements of which the thread has `own`:
///   double* whole()              a vector of which each thread has all elements
///   void exchange()              collective: its own elements of whole() go to all others, and theirs come
///   std::array sum(std::array)   collective: over all threads
class MpiVectors {
public:
    explicit MpiVectors(std::int64_t size) : whole_(static_cast<std::size_t>(size)) {
        int rank = 0;
        int ranks = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        own_ = share_of(size, rank, ranks);
        for (int r = 0; r < ranks; ++r) {
            const Share share = share_of(size, r, ranks);
            counts_.push_back(static_cast<int>(share.size()));
            places_.push_back(static_cast<int>(share.first));
        }
    }
    [[nodiscard]] Share own() const { return own_; }
    [[nodiscard]] double* whole() { return whole_.data(); }
    void exchange() {
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, whole_.data(), counts_.data(), places_.data(), MPI_DOUBLE,
                       MPI_COMM_WORLD);
    }
    template <std::size_t N>
    [[nodiscard]] std::array<double, N> sum(std::array<double, N> mine) {
        MPI_Allreduce(MPI_IN_PLACE, mine.data(), static_cast<int>(N), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return mine;
    }

private:
    Share own_{};
    std::vector<double> whole_;
    std::vector<int> counts_, places_;
};

class UpcVectors {
public:
    explicit UpcVectors(std::int64_t size)
        : size_{size},
          own_{share_of(size, upc::mythread(), upc::threads())},
          whole_{static_cast<std::size_t>(size * upc::threads()), static_cast<std::size_t>(size)},
          given_{static_cast<std::size_t>(size)} {}
    [[nodiscard]] static std::uint64_t heap_bytes(std::int64_t size, int threads) {
        return static_cast<std::uint64_t>(size + size / threads + 1) * sizeof(double) + 128;
    }
    [[nodiscard]] Share own() const { return own_; }
    [[nodiscard]] double* whole() { return whole_.local(); }
    void exchange() {
        const auto bytes = static_cast<std::size_t>(own_.size()) * sizeof(double);
        if (size_ % upc::threads() == 0) { // blocks of one size
            std::memcpy(given_.local(), whole() + own_.first, bytes);
            upc::all_gather_all(whole_.begin(), given_.begin(), bytes, LAPWING_UPC_IN_MYSYNC | LAPWING_UPC_OUT_MYSYNC);
            return;
        }
        upc::barrier(); // the others have read theirs
        for (int k = 1; k < upc::threads(); ++k) {
            const int t = (upc::mythread() + k) % upc::threads(); // not all to the same one at a time
            upc::memput_nbi(whole_ + (t * size_ + own_.first), whole() + own_.first, bytes);
        }
        upc::synci();
        upc::barrier();
    }
    template <std::size_t N>
    [[nodiscard]] std::array<double, N> sum(const std::array<double, N>& mine) {
        return upc::allv_reduce(mine, [](std::array<double, N> a, const std::array<double, N>& b) {
            for (std::size_t i = 0; i < N; ++i) a[i] += b[i];
            return a;
        });
    }

private:
    std::int64_t size_;
    Share own_;
    upc::SharedArray<double, upc::dynamic_block> whole_; // shared [size] double whole[size * THREADS]
    upc::SharedArray<double, upc::dynamic_block> given_; // shared [*] double given[size]: what the others get
};

/// y = A x for own rows.
void multiply(const Rows& rows, const double* __restrict x, double* __restrict y) {
    const double* const values = rows.values.data();
    const std::int32_t* const columns = rows.columns.data();
    for (std::size_t row = 0; row + 1 < rows.starts.size(); ++row) {
        // Several sums, so that no addition waits for the one before it.
        std::array<double, 4> sums{};
        std::int64_t k = rows.starts[row];
        const std::int64_t end = rows.starts[row + 1];
        for (; k + 4 <= end; k += 4)
            for (int lane = 0; lane < 4; ++lane)
                sums[static_cast<std::size_t>(lane)] += values[k + lane] * x[columns[k + lane]];
        for (; k < end; ++k) sums[0] += values[k] * x[columns[k]];
        y[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

[[nodiscard]] double dot(const double* __restrict a, const double* __restrict b, std::size_t size) {
    std::array<double, 4> sums{};
    std::size_t i = 0;
    for (; i + 4 <= size; i += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    for (; i < size; ++i) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class Communication>
class BlockSolver {
public:
    explicit BlockSolver(const Problem& problem)
        : problem_{problem},
          communication_{problem.rows},
          own_{communication_.own()},
          rows_{make_rows(problem, own_.size(), [&](std::int32_t row) {
              return row >= own_.first && row < own_.last ? row - own_.first : -1;
          })} {
        for (auto* const vector : {&x_, &z_, &q_, &r_}) vector->resize(static_cast<std::size_t>(own_.size()));
    }

    /// NPB's iterations, from x = 1. Collective.
    [[nodiscard]] double run(int iterations) {
        const std::size_t size = x_.size();
        std::ranges::fill(x_, 1);
        double zeta = 0;
        for (int k = 0; k < iterations; ++k) {
            const double residual = solve();
            const double* const z = z_.data();
            const auto [xz, zz, residuals] =
                communication_.sum(std::array{dot(x_.data(), z, size), dot(z, z, size), residual});
            zeta = problem_.shift + 1 / xz;
            residual_ = std::sqrt(residuals);
            const double scale = 1 / std::sqrt(zz);
            for (std::size_t i = 0; i < size; ++i) x_[i] = scale * z_[i];
        }
        return zeta;
    }
    /// |x - A z| of the last system.
    [[nodiscard]] double residual() const { return residual_; }

private:
    /// Sets z to what 25 steps find for A z = x; returns the thread's part of |x - A z|^2.
    [[nodiscard]] double solve() {
        const std::size_t size = x_.size();
        double* const __restrict z = z_.data();
        double* const __restrict q = q_.data();
        double* const __restrict r = r_.data();
        double* const __restrict p = communication_.whole() + own_.first;
        std::ranges::fill(z_, 0);
        std::ranges::copy(x_, r);
        std::ranges::copy(x_, p);
        double rho = communication_.sum(std::array{dot(r, r, size)})[0];
        for (int step = 0; step < solver_steps; ++step) {
            communication_.exchange();
            multiply(rows_, communication_.whole(), q);
            const double alpha = rho / communication_.sum(std::array{dot(p, q, size)})[0];
            for (std::size_t i = 0; i < size; ++i) {
                z[i] += alpha * p[i];
                r[i] -= alpha * q[i];
            }
            const double before = std::exchange(rho, communication_.sum(std::array{dot(r, r, size)})[0]);
            const double beta = rho / before;
            for (std::size_t i = 0; i < size; ++i) p[i] = r[i] + beta * p[i];
        }
        std::ranges::copy(z_, p);
        communication_.exchange();
        multiply(rows_, communication_.whole(), q);
        double sum = 0;
        for (std::size_t i = 0; i < size; ++i) sum += (x_[i] - q[i]) * (x_[i] - q[i]);
        return sum;
    }

    Problem problem_;
    Communication communication_;
    Share own_;
    Rows rows_;
    std::vector<double> x_, z_, q_, r_;
    double residual_ = 0;
};

// ---- As one writes it first: shared vectors in blocks, elements wherever they are.

class NaiveSolver {
public:
    /// `mapped`: what a product reads is mapped.
    explicit NaiveSolver(const Problem& problem, bool mapped = false)
        : problem_{problem},
          first_{upc::mythread() * static_cast<std::int64_t>(x_.block_size())},
          rows_{make_rows(problem, static_cast<std::int64_t>(x_.size_at(upc::mythread())),
                          [&](std::int32_t row) { return x_.threadof(row) == upc::mythread() ? row - first_ : -1; })} {
        if (!mapped) return;
        whole_p_ = upc::mapped(p_);
        whole_z_ = upc::mapped(z_);
    }
    [[nodiscard]] static std::uint64_t heap_bytes(std::int64_t rows, int threads) {
        return 5 * (static_cast<std::uint64_t>(rows / threads + 1) * sizeof(double) + 64) + 64;
    }

    [[nodiscard]] double run(int iterations) {
        const std::int64_t n = problem_.rows;
        upc::forall(0, n, x_, [&](std::int64_t i) { x_[i] = 1; });
        double zeta = 0;
        for (int k = 0; k < iterations; ++k) {
            residual_ = solve();
            const double xz = sum([&](std::int64_t i) { return x_[i] * z_[i]; });
            const double zz = sum([&](std::int64_t i) { return z_[i] * z_[i]; });
            zeta = problem_.shift + 1 / xz;
            const double scale = 1 / std::sqrt(zz);
            upc::forall(0, n, x_, [&](std::int64_t i) { x_[i] = scale * z_[i]; });
            upc::barrier();
        }
        return zeta;
    }
    [[nodiscard]] double residual() const { return residual_; }

private:
    using Vector = upc::SharedArray<double, upc::dynamic_block>;
    using WholeVector = MappedArray<double, 1>;

    /// Over own elements, then over what the threads have found.
    template <class Term>
    [[nodiscard]] double sum(Term term) {
        double mine = 0;
        upc::forall(0, problem_.rows, x_, [&](std::int64_t i) { mine += term(i); });
        partial_[upc::mythread()] = mine;
        upc::barrier();
        double all = 0;
        for (int t = 0; t < upc::threads(); ++t) all += partial_[t];
        upc::barrier();
        return all;
    }
    /// y = A v
    void multiply(const Vector& v, const std::optional<WholeVector>& whole, const Vector& y) {
        if (!whole) return multiply(v, y);
        whole->refresh();
        multiply(*whole, y);
    }
    template <class Elements>
    void multiply(const Elements& v, const Vector& y) {
        upc::forall(0, problem_.rows, y, [&](std::int64_t i) {
            const auto row = static_cast<std::size_t>(i - first_);
            double sum = 0;
            for (std::int64_t k = rows_.starts[row]; k < rows_.starts[row + 1]; ++k) {
                const auto element = static_cast<std::size_t>(k);
                sum += rows_.values[element] * v[rows_.columns[element]];
            }
            y[i] = sum;
        });
    }
    /// Returns |x - A z|.
    [[nodiscard]] double solve() {
        const std::int64_t n = problem_.rows;
        upc::forall(0, n, x_, [&](std::int64_t i) {
            z_[i] = 0;
            r_[i] = x_[i];
            p_[i] = x_[i];
        });
        double rho = sum([&](std::int64_t i) { return r_[i] * r_[i]; });
        for (int step = 0; step < solver_steps; ++step) {
            upc::barrier();
            multiply(p_, whole_p_, q_);
            const double alpha = rho / sum([&](std::int64_t i) { return p_[i] * q_[i]; });
            upc::forall(0, n, x_, [&](std::int64_t i) {
                z_[i] += alpha * p_[i];
                r_[i] -= alpha * q_[i];
            });
            const double before = std::exchange(rho, sum([&](std::int64_t i) { return r_[i] * r_[i]; }));
            const double beta = rho / before;
            upc::forall(0, n, x_, [&](std::int64_t i) { p_[i] = r_[i] + beta * p_[i]; });
        }
        upc::barrier();
        multiply(z_, whole_z_, q_);
        return std::sqrt(sum([&](std::int64_t i) { return (x_[i] - q_[i]) * (x_[i] - q_[i]); }));
    }

    Problem problem_;
    Vector x_{static_cast<std::size_t>(problem_.rows)}, z_{x_.size()}, p_{x_.size()}, q_{x_.size()},
        r_{x_.size()}; // shared [*] double x[n], …
    std::optional<WholeVector> whole_p_, whole_z_;
    std::int64_t first_; ///< own element
    Rows rows_;
    upc::SharedArray<double> partial_{static_cast<std::size_t>(upc::threads())}; // shared double partial[THREADS]
    double residual_ = 0;
};

class MappedSolver : public NaiveSolver {
public:
    explicit MappedSolver(const Problem& problem) : NaiveSolver{problem, true} {}
};

struct Measured {
    double seconds;
    double zeta;
    double residual;
};

template <class Solver>
[[nodiscard]] Measured measure(const Problem& problem, Variant variant) {
    Solver solver{problem};
    (void)solver.run(1); // as NPB does, so that everything has been touched
    double zeta = 0;
    const double seconds = seconds_of(variant, [&] { zeta = solver.run(problem.iterations); });
    return {seconds, zeta, solver.residual()};
}

} // namespace

HeapNeeds conjugate_gradient_heap(Class size, int ranks) {
    const std::int64_t rows = problem_of(size).rows;
    return {.blocks = std::max(UpcVectors::heap_bytes(rows, ranks), NaiveSolver::heap_bytes(rows, ranks)) +
                      (std::uint64_t{1} << 16),
            .local = std::uint64_t{1} << 16};
}

Result conjugate_gradient(Class size, Variant variant) {
    const Problem problem = problem_of(size);
    Measured measured{};
    switch (variant) {
    case Variant::mpi_overlapped:
    case Variant::mpi: measured = measure<BlockSolver<MpiVectors>>(problem, variant); break;
    case Variant::optimised: measured = measure<BlockSolver<UpcVectors>>(problem, variant); break;
    case Variant::naive_rows:
    case Variant::naive: measured = measure<NaiveSolver>(problem, variant); break;
    case Variant::naive_mapped: measured = measure<MappedSolver>(problem, variant); break;
    }
    const double nonzeros = problem.nonzeros * (problem.nonzeros + 1);
    const double step = 5 + nonzeros;
    return {.seconds = measured.seconds,
            .million_operations = 2.0 * problem.iterations * static_cast<double>(problem.rows) *
                                  (3 + nonzeros + solver_steps * step + 3) * 1e-6,
            .verified = std::abs(measured.zeta - problem.zeta) / problem.zeta <= 1e-10,
            .detail = fmt::format("zeta {:.13f}, expected {:.13f}; last residual {:.3e}", measured.zeta, problem.zeta,
                                  measured.residual)};
}

} // namespace lapwing::nas
