// model/predict: run times that the performance model predicts, compared with those that are measured: the three
// programs of Zhang's thesis (2007, section 7.1), on global arrays and as UPC programs, without a cache. Rates and
// programs are measured in turns, in one run. A row's value is the measured time, `predicted` that of the model; its
// case ends with the error of equation 7.1. Sizes are smaller than the thesis's, whose fine-grained programs take
// minutes.
#include "harness.hpp"

#include "median.hpp"
#include "model/run_time_prediction.hpp"
#include "tools/measure_rates.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace detail::model;
using Index = std::int64_t;

/// A program: what a rank does with three tables, and its description.
struct Kernel {
    std::string name;
    Index elements = 0;   ///< of each table
    Index block = 1;      ///< of the tables a and c
    Index block_of_b = 1; ///< of b
    ProgramDescription description;
};

/// Tables in plain memory, for the computation alone: every index leads to some element.
struct Private {
    explicit Private(Index elements) : values(static_cast<std::size_t>(elements)) {}
    [[nodiscard]] double read(Index i) const { return values[static_cast<std::size_t>(i)]; }
    void write(Index i, double value) { values[static_cast<std::size_t>(i)] = value; }
    std::vector<double> values;
};
struct OfArray {
    OfArray(Team& team, Index elements, Index block) : array{team, {elements}, BlockCyclic{{block}}} {}
    [[nodiscard]] double read(Index i) const { return array(i); }
    void write(Index i, double value) { array(i) = value; }
    GlobalArray<double, 1> array;
};
struct OfUpc {
    OfUpc(Team&, Index elements, Index block)
        : array{static_cast<std::size_t>(elements), static_cast<std::size_t>(block)} {}
    [[nodiscard]] double read(Index i) const { return array[i]; }
    void write(Index i, double value) { array[i] = value; }
    upc::SharedArray<double, upc::dynamic_block> array;
};

/// array[loc]++ at random places.
template <class Table>
void histogram(Table& table, Index elements, Index increments, int rank) {
    std::mt19937 random{static_cast<unsigned>(rank) + 1};
    for (Index k = 0; k < increments; ++k) {
        const auto i = static_cast<Index>(random() % static_cast<unsigned>(elements));
        table.write(i, table.read(i) + 1);
    }
}

/// C = A B for the rank's rows, which are dealt in turn; the columns of B are, too.
template <class Table>
void multiply(Table& a, Table& b, Table& c, Index n, int rank, int ranks) {
    for (Index i = rank; i < n; i += ranks)
        for (Index j = 0; j < n; ++j) {
            c.write(i * n + j, 0);
            for (Index k = 0; k < n; ++k) c.write(i * n + j, c.read(i * n + j) + a.read(i * n + k) * b.read(k * n + j));
        }
}

/// The edges of an image whose rows are in blocks.
template <class Table>
void sobel(Table& o, Table& e, Index n, int rank, int ranks) {
    const Index first = std::max<Index>(1, n / ranks * rank);
    const Index last = std::min<Index>(n - 1, n / ranks * (rank + 1));
    for (Index i = first; i < last; ++i)
        for (Index j = 1; j < n - 1; ++j) {
            const auto at = [&](Index row, Index column) { return o.read(row * n + column); };
            double d1 = at(i - 1, j + 1) - at(i - 1, j - 1);
            d1 += 2 * (at(i, j + 1) - at(i, j - 1));
            d1 += at(i + 1, j + 1) - at(i + 1, j - 1);
            double d2 = at(i - 1, j - 1) - at(i + 1, j - 1);
            d2 += 2 * (at(i - 1, j) - at(i + 1, j));
            d2 += at(i - 1, j + 1) - at(i + 1, j + 1);
            e.write(i * n + j, std::min(255.0, std::sqrt(d1 * d1 + d2 * d2)));
        }
}

constexpr Index histogram_elements = Index{1} << 20;
constexpr Index increments = 3000;
constexpr Index matrix = 48;
constexpr Index image = 480;

[[nodiscard]] Reference reference(std::string object, bool write, Index count, ReferenceAffinity affinity, Walk walk) {
    return {.name = object,
            .object = std::move(object),
            .write = write,
            .count = static_cast<std::uint64_t>(count),
            .affinity = affinity,
            .walk = walk};
}

[[nodiscard]] ProgramDescription described(const std::string& name, Index elements, Index block, Index block_of_b,
                                           int ranks, std::vector<Reference> references) {
    ProgramDescription program{.threads = ranks};
    for (const char* const table : {"a", "b", "c"})
        program.objects.push_back({.name = table,
                                   .elements = static_cast<std::uint64_t>(elements),
                                   .block = static_cast<std::uint64_t>(*table == 'b' ? block_of_b : block)});
    program.intervals.push_back({.name = name, .references = std::move(references)});
    return program;
}

[[nodiscard]] std::vector<Kernel> kernels(int ranks) {
    const ReferenceAffinity own{ReferenceAffinity::Kind::own};
    const ReferenceAffinity whole{};
    const auto shift = [](Index by) { return ReferenceAffinity{ReferenceAffinity::Kind::shift, by}; };
    const Walk random{};
    const Walk unit{Walk::Kind::stride, 1};
    // Of the rank with the most.
    const Index rows = (matrix + ranks - 1) / ranks;
    const Index inner = rows * matrix * matrix;
    const Index pixels = image / ranks * (image - 2);
    std::vector<Kernel> result{{"histogram", histogram_elements, 1, 1, {}},
                               {"matmul", matrix * matrix, matrix, 1, {}},
                               {"sobel", image * image, image / ranks * image, 1, {}}};
    std::vector<std::vector<Reference>> references{
        {reference("a", false, increments, whole, random), reference("a", true, increments, whole, random)},
        {reference("c", true, inner + rows * matrix, own, unit), reference("c", false, inner, own, unit),
         reference("a", false, inner, own, unit), reference("b", false, inner, whole, {Walk::Kind::stride, matrix})},
        {reference("c", true, pixels, own, unit), reference("a", false, 2 * pixels, own, unit),
         reference("a", false, 5 * pixels, shift(-image), unit),
         reference("a", false, 5 * pixels, shift(image), unit)}};
    for (std::size_t k = 0; k < result.size(); ++k)
        result[k].description = described(result[k].name, result[k].elements, result[k].block, result[k].block_of_b,
                                          ranks, std::move(references[k]));
    return result;
}

template <class Table>
void run_kernel(const Kernel& kernel, Table& a, Table& b, Table& c, int rank, int ranks) {
    if (kernel.name == "histogram") histogram(a, kernel.elements, increments, rank);
    else if (kernel.name == "matmul") multiply(a, b, c, matrix, rank, ranks);
    else sobel(a, c, image, rank, ranks);
}

struct Measured {
    std::vector<double> predicted;
    std::vector<double> actual;
};

/// The first of the elements that a rank has.
[[nodiscard]] std::vector<Index> own_elements(const Kernel& kernel, int rank, int ranks) {
    std::vector<Index> own(static_cast<std::size_t>(std::min<Index>(kernel.elements / ranks, 4096)));
    for (std::size_t k = 0; k < own.size(); ++k) {
        const auto i = static_cast<Index>(k);
        own[k] = (i / kernel.block * ranks + rank) * kernel.block + i % kernel.block;
    }
    return own;
}

/// A read of own elements, in the way of the table's type. Several sums, since a processor has several accesses under
/// way in the programs, too.
template <class Table>
[[nodiscard]] double own_seconds(Team& team, Table& table, const std::vector<Index>& own) {
    constexpr std::size_t sums = 4;
    double sum[sums] = {};
    const std::size_t count = own.size() / sums * sums;
    const auto run = [&] {
        for (std::size_t i = 0; i < count; i += sums)
            for (std::size_t k = 0; k < sums; ++k) sum[k] += table.read(own[i + k]);
    };
    const double seconds = tools::slowest_seconds(team, {.run = run}, 9);
    keep(sum);
    return seconds / static_cast<double>(count);
}

/// Collective: one measurement of the rates and of the program.
template <class Table>
void measure(Team& team, Path path, double rate_seconds, const Kernel& kernel, Table& a, Table& b, Table& c,
             Measured& result) {
    const int rank = team.rank().value;
    MeasuredRates rates;
    tools::measure_access_rates(team, path, rate_seconds, rates);
    const std::vector<Index> own_list = own_elements(kernel, rank, team.size());
    const double own = own_seconds(team, a, own_list);
    Private plain_a{kernel.elements}, plain_b{kernel.elements}, plain_c{kernel.elements};
    const double private_own = own_seconds(team, plain_a, own_list);
    const double computation = tools::slowest_seconds(
        team, {.run = [&] { run_kernel(kernel, plain_a, plain_b, plain_c, rank, team.size()); }}, 3);
    AccessPlatform platform{.rates = access_rates(rates, name(path), false)};
    // The computation has the accesses already, to private memory.
    for (const bool write : {false, true})
        platform.rates.of(AccessPattern::local, write) = RateCurve{std::max(0.0, own - private_own)};
    platform.barrier_seconds = rate_of(rates, fmt::format("{}.barrier", name(path))).seconds(1);
    ProgramDescription program = kernel.description;
    program.intervals.front().computation_seconds = computation;
    result.predicted.push_back(predict_run_time(program, platform).seconds);
    result.actual.push_back(tools::slowest_seconds(team,
                                                   {.run =
                                                        [&] {
                                                            run_kernel(kernel, a, b, c, rank, team.size());
                                                            team.barrier();
                                                        }},
                                                   1));
}

template <class Table>
void predict(Context& context, Team& team, Path path, std::string_view kind) {
    for (const Kernel& kernel : kernels(team.size())) {
        Table a{team, kernel.elements, kernel.block};
        Table b{team, kernel.elements, kernel.block_of_b};
        Table c{team, kernel.elements, kernel.block};
        Measured measured;
        const int repetitions = context.options().repetitions > 0  ? context.options().repetitions
                                : context.options().seconds < 0.05 ? 1
                                                                   : 5;
        // Short if it only has to run, or long enough for medians.
        const double rate_seconds = context.options().seconds < 0.05 ? 1 : 5;
        for (int k = 0; k < repetitions; ++k) measure(team, path, rate_seconds, kernel, a, b, c, measured);
        if (context.rank() != 0) continue;
        const double predicted = median(measured.predicted);
        const double actual = median(measured.actual);
        const auto [low, high] = std::ranges::minmax(measured.actual);
        context.add({.case_name = fmt::format("{}, {}: predicted {:.3g} ms, error {:+.1f} %", kernel.name, kind,
                                              1e3 * predicted, prediction_error(predicted, actual)),
                     .metric = "time",
                     .value = 1e3 * actual,
                     .unit = "ms",
                     .baseline = "none",
                     .min = 1e3 * low,
                     .max = 1e3 * high,
                     .repetitions = repetitions,
                     .predicted = 1e3 * predicted});
    }
}

void model_predict(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    predict<OfArray>(context, runtime, route.path, "global arrays");
    {
        const upc::Program program{runtime};
        predict<OfUpc>(context, runtime, route.path, "UPC");
    }
    runtime.close();
}

const Registration predicted{{.name = "model/predict",
                              .summary = "the thesis's three programs, as the performance model predicts them",
                              .run = model_predict,
                              .default_repetitions = 5,
                              .paths = {"direct", "rma", "service"}}};

} // namespace
} // namespace lapwing::bench
