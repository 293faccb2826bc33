// model/predict: run times that the performance model predicts, compared with those that are measured: the three
// programs of Zhang's thesis (2007, section 7.1), on global arrays and as UPC programs, without a cache and with it.
// Rates and programs are measured in turns, in one run; on the path direct in the thesis's sizes, elsewhere with
// --full, which takes hours on a slow network, and ten times. A row's value is the measured time, `predicted` that of
// the model, from rates alone, as for a user: those of global arrays as lapwing-tune measures them, and the same of
// UPC's arrays. With the cache there are two predictions: "by patterns" with rates that were measured with the cache,
// as in the thesis's chapter 7.1, and with the reads that the run has counted, as in 7.2. Rows "LogGP" know of the
// network only what `lapwing-advise --loggp` is told: how well that does here says how far to trust it for networks and
// numbers of ranks that nobody has measured.
#include "harness.hpp"

#include "median.hpp"
#include "model/cached_platform.hpp"
#include "model/loggp_platform.hpp"
#include "model/recorded_hits.hpp"
#include "model/run_time_prediction.hpp"
#include "model_costs.hpp"
#include "model_kernels.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace detail::model;
using thesis::Index;
using thesis::Kernel;

/// Tables in plain memory, for the computation alone: every index leads to some element.
struct Private {
    explicit Private(Index elements) : values(static_cast<std::size_t>(elements), 1.0) {}
    [[nodiscard]] double read(Index i) const { return values[static_cast<std::size_t>(i)]; }
    void write(Index i, double value) { values[static_cast<std::size_t>(i)] = value; }
    std::vector<double> values;
};
struct OfArray {
    OfArray(Team& team, Index elements, Index block, bool cached)
        : array{team, {elements}, BlockCyclic{{block}}, options(cached)} {}
    /// The rank's own part: a program has written what it reads, and its pages are there.
    void fill() {
        for (double& value : array.local_span()) value = 1;
    }
    [[nodiscard]] static GlobalArrayOptions options(bool cached) {
        GlobalArrayOptions chosen;
        chosen.cache.mode = cached ? CacheMode::epoch : CacheMode::off;
        return chosen;
    }
    [[nodiscard]] double read(Index i) const { return array(i); }
    void write(Index i, double value) { array(i) = value; }
    [[nodiscard]] StatisticsValues statistics() const { return array.statistics(); }
    using Array = GlobalArray<double, 1>;
    Array array;
};
/// Cached if the program is.
struct OfUpc {
    OfUpc(Team&, Index elements, Index block, bool)
        : array{static_cast<std::size_t>(elements), static_cast<std::size_t>(block)} {}
    void fill() { std::fill_n(array.local(), array.size_at(upc::mythread()), 1.0); }
    [[nodiscard]] double read(Index i) const { return array[i]; }
    void write(Index i, double value) { array[i] = value; }
    using Array = upc::SharedArray<double, upc::dynamic_block>;
    Array array;
};

/// Of the calling rank, for all tables.
[[nodiscard]] StatisticsValues counters(const OfUpc&, const OfUpc&) { return upc::statistics(); }
[[nodiscard]] StatisticsValues counters(const OfArray& a, const OfArray& b) {
    StatisticsValues sum = a.statistics();
    return sum += b.statistics();
}

struct Measured {
    std::vector<double> actual;
    std::vector<double> predicted;
    std::vector<double> by_patterns; ///< with a cache
    std::vector<double> by_network;  ///< without one, between nodes
};

/// What the caches of all ranks have counted of some runs, for one of them.
class CountedRun {
public:
    template <class Table>
    CountedRun(const Table& a, const Table& b) : before_{counters(a, b)} {}

    template <class Table>
    [[nodiscard]] CountedAccesses accesses(Team& team, const Table& a, const Table& b, int runs) const {
        const StatisticsValues after = counters(a, b);
        const auto since = [&](Counter counter) {
            return static_cast<double>(after[counter] - before_[counter]) / runs;
        };
        std::array<double, 3> sums{since(Counter::cache_misses), since(Counter::cache_passed),
                                   since(Counter::read_ahead_issued)};
        team.sum(std::span<double>{sums});
        return {.misses = sums[0], .passed = sums[1], .ahead = sums[2]};
    }

private:
    StatisticsValues before_;
};

/// What is measured of a kernel beside the rates.
struct KernelTimes {
    double computation = 0;
    CountedAccesses counted = {};
};

/// The platform of a path, from rates alone.
[[nodiscard]] AccessPlatform platform_of(const CostTables& costs, Path path, bool cached) {
    AccessPlatform platform{.rates = access_rates(costs.rates, name(path), cached ? Caching::lapwing : Caching::none)};
    find_exploited(platform);
    use_own_memory(platform, costs.rates);
    platform.barrier_seconds = rate_of(costs.rates, fmt::format("{}.barrier", name(path))).seconds(1);
    return platform;
}

/// A path by its LogGP parameters, from transfers.
[[nodiscard]] LogGpNetwork network_of(const CostTables& costs, Path path) {
    constexpr std::uint64_t element = sizeof(double);
    const TransferModel& gets = costs.transfers(path, Direction::get);
    const TransferModel& puts = costs.transfers(path, Direction::put);
    LogGpNetwork network{.overhead = std::max(0.0, puts.issue(element)), .gap = std::max(0.0, puts.gap(element))};
    network.per_byte = gets.line_of(std::uint64_t{1} << 16).per_byte;
    // A get is a message and its answer.
    network.latency = std::max(0.0, gets.time(element) / 2 - 2 * network.overhead);
    return network;
}

/// On rank 0, which knows the costs.
void predict(const Kernel& kernel, const CostTables& costs, Path path, bool cached, const KernelTimes& times,
             Measured& result) {
    ProgramDescription program = kernel.description;
    program.intervals.front().computation_seconds = times.computation;
    AccessPlatform platform = platform_of(costs, path, false);
    if (cached) {
        result.by_patterns.push_back(predict_run_time(program, platform_of(costs, path, true)).seconds);
        platform.cache = cache_on(costs, name(path), {});
        use_counted(program, times.counted, *platform.cache);
    } else if (path != Path::direct) {
        const AccessPlatform network = loggp_platform(network_of(costs, path), program.threads, platform);
        result.by_network.push_back(predict_run_time(program, network).seconds);
    }
    result.predicted.push_back(predict_run_time(program, platform).seconds);
}

/// Collective. Puts the rates of UPC's elements in the place of those of global arrays.
void use_rates_of(const GlobalArray<double, 1>*, Team&, const Route&, double, bool, CostTables&) {}
void use_rates_of(const upc::SharedArray<double, upc::dynamic_block>*, Team& team, const Route& route, double seconds,
                  bool cached, CostTables& costs) {
    const auto measure = [&](std::int64_t of_rank, std::int64_t block, auto rates_of) {
        upc::SharedArray<double, upc::dynamic_block> a{static_cast<std::size_t>(of_rank * team.size()),
                                                       static_cast<std::size_t>(block)};
        rates_of(tools::MeasuredElements{.of_rank = of_rank,
                                         .block = block,
                                         .read =
                                             [&a](std::span<const std::int64_t> list) {
                                                 double sum = tools::sum_of_reads(
                                                     list, [&a](std::int64_t i) -> double { return a[i]; });
                                                 keep(sum);
                                             },
                                         .write =
                                             [&a](std::span<const std::int64_t> list) {
                                                 for (const std::int64_t i : list) a[i] = 1.0;
                                             }});
        team.barrier();
    };
    using tools::elements_beyond_cache, tools::measured_elements, tools::MeasuredElements;
    for (const std::int64_t block : {measured_elements, std::int64_t{1}})
        measure(measured_elements, block, [&](const MeasuredElements& elements) {
            tools::measure_element_rates(team, route.path, seconds, elements, cached, costs.rates);
        });
    if (cached)
        measure(elements_beyond_cache, elements_beyond_cache, [&](const MeasuredElements& elements) {
            tools::measure_passed_rates(team, route.path, seconds, elements, costs.rates);
        });
}

/// Collective: one run of a kernel.
template <class Table>
void measure(Team& team, Path path, const CostTables& costs, const Kernel& kernel, bool cached, Measured& result) {
    const int rank = team.rank().value;
    Table a{team, kernel.elements, kernel.block, cached};
    Table b{team, kernel.elements, kernel.block_of_b, cached};
    Table c{team, kernel.elements, kernel.block, cached};
    for (Table* const table : {&a, &b, &c}) table->fill();
    team.barrier();
    KernelTimes times;
    Private plain_a{kernel.elements}, plain_b{kernel.elements}, plain_c{kernel.elements};
    times.computation = tools::slowest_seconds(
        team, {.run = [&] { thesis::run_kernel(kernel, plain_a, plain_b, plain_c, rank, team.size()); }}, 3);
    const auto run = [&] {
        thesis::run_kernel(kernel, a, b, c, rank, team.size());
        team.barrier();
    };
    const auto measured = [&](int runs) {
        const CountedRun counted{a, b};
        const double seconds = tools::slowest_seconds(team, {.run = run}, runs);
        times.counted = counted.accesses(team, a, b, runs);
        return seconds;
    };
    // As often as the computation, unless that takes long: what the first run touches is in no processor's cache.
    double seconds = measured(1);
    if (seconds < 0.1) seconds = measured(3);
    result.actual.push_back(seconds);
    if (rank == 0) predict(kernel, costs, path, cached, times, result);
    team.barrier();
}

void add_row(Context& context, const std::string& case_name, const Measured& measured,
             const std::vector<double>& predicted) {
    const auto [low, high] = std::ranges::minmax(measured.actual);
    context.add({.case_name = case_name,
                 .metric = "time",
                 .value = 1e3 * median(measured.actual),
                 .unit = "ms",
                 .baseline = "none",
                 .min = 1e3 * low,
                 .max = 1e3 * high,
                 .repetitions = static_cast<int>(measured.actual.size()),
                 .predicted = 1e3 * median(predicted)});
}

/// How much of it is run.
struct Extent {
    thesis::Sizes sizes = {};
    int turns = 5;
    double rate_seconds = 5;
};
[[nodiscard]] Extent extent_of(const Options& options, Path path, bool cached) {
    Extent extent;
    const bool hasty = options.seconds < 0.05; // only to be seen that it runs
    if (options.full) extent = {.sizes = thesis::published_sizes(), .turns = 10};
    else if (hasty) extent = {.sizes = thesis::small_sizes(), .turns = 1, .rate_seconds = 1};
    // Loads and stores: anything smaller ends before a clock says much of it.
    else if (path == Path::direct) extent.sizes = thesis::published_sizes();
    // Random increments bypass the cache; what it serves ends as fast.
    else if (cached)
        extent.sizes = {.matrix = thesis::published_sizes().matrix, .image = thesis::published_sizes().image};
    if (options.repetitions > 0) extent.turns = options.repetitions;
    return extent;
}

template <class Table>
void predict_all(Context& context, Team& team, const Route& route, const std::string& kind, bool cached) {
    const Extent extent = extent_of(context.options(), route.path, cached);
    const std::vector<Kernel> kernels = thesis::kernels(extent.sizes, team.size());
    std::vector<Measured> measured(kernels.size());
    for (int turn = 0; turn < extent.turns; ++turn) {
        CostTables costs = measured_costs(team, route, extent.rate_seconds);
        use_rates_of(static_cast<const typename Table::Array*>(nullptr), team, route, extent.rate_seconds, cached,
                     costs);
        for (std::size_t k = 0; k < kernels.size(); ++k)
            measure<Table>(team, route.path, costs, kernels[k], cached, measured[k]);
    }
    if (context.rank() != 0) return;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        const std::string name = fmt::format("{}, {}{}", kernels[k].name, kind, cached ? ", cache" : "");
        add_row(context, name, measured[k], measured[k].predicted);
        if (cached) add_row(context, name + ", by patterns", measured[k], measured[k].by_patterns);
        if (!measured[k].by_network.empty()) add_row(context, name + ", LogGP", measured[k], measured[k].by_network);
    }
}

/// With room for three tables, and for what is measured.
[[nodiscard]] upc::ProgramOptions upc_options(const Context& context, Path path, bool cached) {
    const thesis::Sizes sizes = extent_of(context.options(), path, cached).sizes;
    const auto elements = static_cast<std::uint64_t>(std::max(sizes.histogram, sizes.image * sizes.image));
    upc::ProgramOptions options;
    options.cache.mode = cached ? CacheMode::epoch : CacheMode::off;
    options.heap_bytes = 4 * sizeof(double) * elements / static_cast<std::uint64_t>(context.size()) +
                         2 * sizeof(double) * (tools::measured_elements + tools::elements_beyond_cache);
    return options;
}

void model_predict(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    for (const bool cached : {false, true}) {
        if (cached && route.path == Path::direct) {
            context.skip("with the cache", "what ranks of a node share is not cached");
            continue;
        }
        predict_all<OfArray>(context, runtime, route, "global arrays", cached);
        const upc::Program program{runtime, upc_options(context, route.path, cached)};
        predict_all<OfUpc>(context, runtime, route, "UPC", cached);
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
