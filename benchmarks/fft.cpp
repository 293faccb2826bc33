// fft: a Fourier transform of 2^20 complex numbers in blocks, by transforms that each rank makes of elements of its
// own, and three assignments between Block and Cyclic: Sanz et al., "Global data re-allocation via communication
// aggregation in Chapel" (2012), section IV.B. What a rank computes itself is FFTW's work, and the whole is beside
// FFTW's own transform over MPI, where that was built for this MPI.
#include "harness.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <fftw3.h>
#ifdef LAPWING_BENCH_FFTW_MPI
#include <fftw3-mpi.h>
#endif

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <numbers>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using Complex = std::complex<double>;
using Array = GlobalArray<Complex, 1>;
using FftwPlan = std::unique_ptr<fftw_plan_s, decltype(&fftw_destroy_plan)>;

[[nodiscard]] fftw_complex* raw(Complex* values) { return reinterpret_cast<fftw_complex*>(values); }

/// exp(-2 pi i k / n)
[[nodiscard]] Complex root(std::int64_t k, std::int64_t n) {
    return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n));
}

/// What is transformed, without zeros or symmetry.
[[nodiscard]] Complex value_at(std::int64_t i) {
    const auto t = static_cast<double>(i * 7919 % 10007) / 10007;
    return {t - 0.5, std::sin(3 * t) + 0.1};
}

/// Products of exp(-2 pi i k / n) with k below n, from two tables that stay in the first cache.
class Roots {
public:
    explicit Roots(std::int64_t n) {
        while (std::int64_t{1} << (2 * bits_) < n) ++bits_;
        const std::int64_t low = std::int64_t{1} << bits_;
        for (std::int64_t k = 0; k < low; ++k) low_.push_back(root(k, n));
        for (std::int64_t k = 0; k < n; k += low) high_.push_back(root(k, n));
    }
    /// value * exp(-2 pi i k / n), without the care for infinities that operator* takes.
    [[nodiscard]] Complex turned(Complex value, std::int64_t k) const {
        const Complex step = low_[static_cast<std::size_t>(k & ((std::int64_t{1} << bits_) - 1))];
        return times(times(high_[static_cast<std::size_t>(k >> bits_)], step), value);
    }

private:
    [[nodiscard]] static Complex times(Complex a, Complex b) {
        return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    }

    int bits_ = 0;
    std::vector<Complex> low_, high_;
};

/// A transform of n = ranks * m elements. Rank r has those with indices r, r + ranks, …, and transforms these m.
/// Results k, k + m, … of the whole are a transform of element k of each rank r, turned by exp(-2 pi i r k / n).
class Transform {
public:
    Transform(Runtime& runtime, std::int64_t n)
        : input{runtime, {n}},
          result{runtime, {n}},
          dealt{runtime, {n}, Cyclic{}},
          ranks_{runtime.size()},
          rank_{runtime.rank().value},
          columns_{n / ranks_ / ranks_},
          roots_{n} {
        deal.add(dealt.slice(), std::as_const(input).slice());
        exchange.add(dealt.slice(), std::as_const(result).slice());
        gather.add(result.slice(), std::as_const(dealt).slice());
        const int length = static_cast<int>(n / ranks_);
        of_own_.reset(fftw_plan_dft_1d(length, raw(dealt.local_span().data()), raw(result.local_span().data()),
                                       FFTW_FORWARD, FFTW_MEASURE));
        // In place, of rows of `columns_` elements that came from one rank each. A few columns at a time, which stay in
        // the cache after they were turned.
        const int all = static_cast<int>(ranks_);
        const int row = static_cast<int>(columns_);
        strip_ = std::min<std::int64_t>(columns_, 256);
        fftw_complex* const values = raw(dealt.local_span().data());
        across_.reset(fftw_plan_many_dft(1, &all, static_cast<int>(strip_), values, nullptr, row, 1, values, nullptr,
                                         row, 1, FFTW_FORWARD, FFTW_MEASURE));
        add_parts();
    }

    void run() {
        deal.execute();
        fftw_execute(of_own_.get());
        exchange.execute();
        transform_columns(0, columns_);
        gather.execute();
    }
    /// The same with the columns in parts: while one is transformed, the next ones arrive and those before it leave.
    void run_overlapped() {
        deal.execute();
        fftw_execute(of_own_.get());
        for (Part& part : parts_) part.arrives = part.exchange.start();
        for (Part& part : parts_) {
            part.arrives.wait();
            transform_columns(part.begin, part.end);
            part.leaves = part.gather.start();
        }
        for (Part& part : parts_) part.leaves.wait();
    }
    void move_only() {
        deal.execute();
        exchange.execute();
        gather.execute();
    }
    void close() {
        for (Array* array : {&input, &result, &dealt}) array->close();
    }

    Array input, result, dealt; // `result`: also what the ranks have transformed of their own
    Assignment deal, exchange, gather;

private:
    /// Columns [begin, end) of every row.
    struct Part {
        std::int64_t begin = 0;
        std::int64_t end = 0;
        Assignment exchange, gather;
        Completion arrives, leaves;
    };

    void add_parts() {
        const std::int64_t count = std::min<std::int64_t>(4, columns_ / strip_);
        for (std::int64_t k = 0; k < count; ++k) {
            Part& part = parts_.emplace_back();
            part.begin = k * (columns_ / count);
            part.end = k + 1 == count ? columns_ : part.begin + columns_ / count;
            for (std::int64_t r = 0; r < ranks_; ++r) {
                const Range range{(r * columns_ + part.begin) * ranks_, (r * columns_ + part.end) * ranks_};
                part.exchange.add(dealt(range), std::as_const(result)(range));
                part.gather.add(result(range), std::as_const(dealt)(range));
            }
        }
    }
    void transform_columns(std::int64_t begin, std::int64_t end) {
        Complex* const values = dealt.local_span().data();
        for (std::int64_t column = begin; column < end; column += strip_) {
            for (std::int64_t r = 1; r < ranks_; ++r)
                for (std::int64_t c = column; c < column + strip_; ++c) {
                    Complex& value = values[r * columns_ + c];
                    value = roots_.turned(value, r * (rank_ + ranks_ * c));
                }
            fftw_execute_dft(across_.get(), raw(values + column), raw(values + column));
            for (Part& part : parts_) // under way only while the columns are transformed in parts
                for (Completion* const moved : {&part.arrives, &part.leaves})
                    if (!moved->known_complete()) (void)moved->test();
        }
    }

    std::int64_t ranks_, rank_, columns_, strip_ = 0;
    std::vector<Part> parts_;
    Roots roots_;
    FftwPlan of_own_{nullptr, &fftw_destroy_plan};
    FftwPlan across_{nullptr, &fftw_destroy_plan};
};

/// The largest difference from the transform of one rank, relative to the largest result.
[[nodiscard]] double error_of(Runtime& runtime, std::span<const Complex> part, std::int64_t first, std::int64_t n) {
    std::vector<Complex> expected(static_cast<std::size_t>(n));
    const FftwPlan plan{
        fftw_plan_dft_1d(static_cast<int>(n), raw(expected.data()), raw(expected.data()), FFTW_FORWARD, FFTW_ESTIMATE),
        &fftw_destroy_plan};
    for (std::int64_t i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] = value_at(i);
    fftw_execute(plan.get());
    double largest = 0;
    for (const Complex& value : expected) largest = std::max(largest, std::abs(value));
    double difference = 0;
    for (std::size_t k = 0; k < part.size(); ++k)
        difference = std::max(difference, std::abs(part[k] - expected[static_cast<std::size_t>(first) + k]));
    return runtime.max(difference) / largest;
}

void require_right(double error, const char* what) {
    if (!(error < 1e-12))
        throw std::runtime_error{std::string{"fft: "} + what + " is off by " + std::to_string(error) +
                                 " of the largest value"};
}

#ifdef LAPWING_BENCH_FFTW_MPI
/// FFTW's transform over MPI, in place, with the results in order.
class FftwTransform {
public:
    FftwTransform(Runtime& runtime, std::int64_t n) {
        static const bool ready = (fftw_mpi_init(), true);
        static_cast<void>(ready);
        std::ptrdiff_t count = 0, first = 0, count_after = 0, first_after = 0;
        const std::ptrdiff_t room = fftw_mpi_local_size_1d(n, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_MEASURE, &count,
                                                           &first, &count_after, &first_after);
        values_.resize(static_cast<std::size_t>(room));
        result_.resize(static_cast<std::size_t>(room));
        plan_.reset(fftw_mpi_plan_dft_1d(n, raw(values_.data()), raw(result_.data()), MPI_COMM_WORLD, FFTW_FORWARD,
                                         FFTW_MEASURE));
        for (std::ptrdiff_t k = 0; k < count; ++k) values_[static_cast<std::size_t>(k)] = value_at(first + k);
        fftw_execute(plan_.get());
        require_right(error_of(runtime, {result_.data(), static_cast<std::size_t>(count_after)}, first_after, n),
                      "FFTW's transform over MPI");
    }
    void run() { fftw_execute(plan_.get()); }

private:
    std::vector<Complex> values_, result_;
    FftwPlan plan_{nullptr, &fftw_destroy_plan};
};
#endif

void fft(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    constexpr std::int64_t n = std::int64_t{1} << 20;
    const int ranks = runtime.size();
    if ((ranks & (ranks - 1)) != 0) {
        context.skip("2^20 complex numbers", "the number of ranks is no power of two");
        return runtime.close();
    }
    Transform transform{runtime, n};
    const std::int64_t first = runtime.rank().value * (n / ranks);
    // After the plans were made, which overwrites what they are made with.
    const auto input = transform.input.local_span();
    for (std::size_t k = 0; k < input.size(); ++k) input[k] = value_at(first + static_cast<std::int64_t>(k));
    transform.run();
    require_right(error_of(runtime, transform.result.local_span(), first, n), "the result");
    transform.run_overlapped();
    require_right(error_of(runtime, transform.result.local_span(), first, n), "the result in parts");

    const auto rounds_of = [&](auto step) {
        return [&runtime, step](std::uint64_t rounds) {
            return together(runtime, [&] {
                for (std::uint64_t k = 0; k < rounds; ++k) step();
            });
        };
    };
    const Subject whole{.name = "FFTW's transforms and three assignments", .run = rounds_of([&] { transform.run(); })};
    std::vector<Subject> baselines;
#ifdef LAPWING_BENCH_FFTW_MPI
    FftwTransform fftw{runtime, n};
    baselines.push_back({.name = "FFTW over MPI", .run = rounds_of([&] { fftw.run(); })});
#endif
    context.compare("2^20 complex numbers", milliseconds(), whole, baselines);
    baselines.insert(baselines.begin(), whole);
    context.compare("2^20 complex numbers, columns in parts", milliseconds(),
                    {.name = "redistribution of some columns while others are transformed",
                     .run = rounds_of([&] { transform.run_overlapped(); })},
                    baselines);
    // Communication alone: each rank fetches or writes a sample of its own elements.
    constexpr std::int64_t sample = 500;
    const double share = static_cast<double>(sample) / static_cast<double>(n / ranks);
    const Subject one_by_one{.name = "loops over the elements",
                             .run =
                                 [&](std::uint64_t rounds) {
                                     const double seconds = together(runtime, [&] {
                                         std::mt19937_64 generator{static_cast<std::uint64_t>(runtime.rank().value)};
                                         std::uniform_int_distribution<std::int64_t> draw{0, n / ranks - 1};
                                         for (std::uint64_t k = 0; k < rounds; ++k)
                                             for (std::int64_t count = 0; count < sample; ++count) {
                                                 const std::int64_t i = draw(generator) * ranks + runtime.rank().value;
                                                 transform.dealt(i) = transform.input(i).get();
                                                 transform.dealt(i) = transform.result(i).get();
                                                 const std::int64_t j = first + draw(generator);
                                                 transform.result(j) = transform.dealt(j).get();
                                             }
                                     });
                                     return seconds / share;
                                 },
                             .iterations = 1};
    context.compare("its three assignments, loops sampled", milliseconds(),
                    {.name = "Assignment", .run = rounds_of([&] { transform.move_only(); })}, {one_by_one});
    transform.close();
    runtime.close();
}

const Registration registration{
    {.name = "fft",
     .summary = "a Fourier transform over all ranks: FFTW's transforms of own elements, and three assignments",
     .run = fft,
     .default_repetitions = 3}};

} // namespace
} // namespace lapwing::bench
