// model/advice: whether advice comes true. Kernels of the demo in their naive form, one element at a time, are recorded
// (LAPWING_TRACE), and lapwing-advise's advice is worked out from the record and from rates that are measured here.
// Then every change that it advises is made, and timed. A row's value is the time with the change, `predicted` what the
// advice says; its case ends with the gains that were predicted and measured.
#include "harness.hpp"

#include "median.hpp"
#include "model/advice.hpp"
#include "model/calibration.hpp"
#include "model/recorded_trace.hpp"
#include "model/team_costs.hpp"
#include "tools/measure_rates.hpp"
#include "window/window_state.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace detail::model;
using Index = std::int64_t;
using Matrix = GlobalArray<double, 2>;
using Vector = GlobalArray<double, 1>;

/// Sizes for a measurement, and those that show that it runs.
struct Sizes {
    Index vector = 120;
    Index matrix = 64;
    int steps = 20;
    std::size_t accesses = 4000;
};
constinit Sizes sizes;
constexpr Sizes small{.vector = 32, .matrix = 24, .steps = 4, .accesses = 200};

/// How a kernel reaches the elements of others: naive, or with a change that advice names.
[[nodiscard]] GlobalArrayOptions options_of(std::string_view kind, const char* name) {
    GlobalArrayOptions options{.name = name};
    if (kind == "cache") options.cache.mode = CacheMode::epoch;
    return options;
}

/// Seconds of the slowest rank.
template <class Run>
double timed(Team& team, Run run) {
    return tools::slowest_seconds(team, {.run = run}, 1);
}

/// y = A x of the power method: each rank reads all of x, for each of its rows.
double multiply(Team& team, std::string_view kind) {
    const Index n = sizes.vector;
    Vector x{team, {n}, Block{}, options_of(kind, "x")};
    for (auto [i] : x.local_domain()) x.local(i) = static_cast<double>(i);
    if (kind == "prefetch") x.prefetch(AllToAll{});
    std::vector<double> row(static_cast<std::size_t>(n), 0.5);
    std::vector<double> whole(static_cast<std::size_t>(n));
    return timed(team, [&] {
        if (kind == "replicate") {
            Vector copy{team, {n}, Replicated{}};
            x.get(x.domain(), whole);
            copy.local(0) = whole[0];
        } else if (kind == "patch") {
            x.get(x.domain(), whole);
        }
        const bool copied = kind == "replicate" || kind == "patch";
        double sum = 0;
        for (auto [i] : x.local_domain())
            for (Index j = 0; j < n; ++j)
                sum += static_cast<double>(i) * row[static_cast<std::size_t>(j)] *
                       (copied ? whole[static_cast<std::size_t>(j)] : static_cast<double>(x(j)));
        keep(sum);
        team.barrier();
    });
}

/// Heat: the rows above and below a rank's block are others'.
double heat(Team& team, std::string_view kind) {
    const Index n = sizes.matrix;
    const int steps = sizes.steps;
    Matrix a{team, {n, n}, Block{.grid = {team.size(), 1}}, options_of(kind, "plate")};
    const Domain<2> own = a.local_domain();
    for (auto [i, j] : own) a.local(i, j) = static_cast<double>(i + j);
    if (kind == "prefetch") a.prefetch(Stencil{.depth = 1, .corners = false});
    const Domain<2> around = own.expand(1).intersect(a.domain());
    const Domain<2> inner = own.intersect({{1, n - 1}, {1, n - 1}});
    std::vector<double> buffer(around.size());
    const Index width = static_cast<Index>(around.range(1).size());
    const auto in_buffer = [&](Index i, Index j) {
        return buffer[static_cast<std::size_t>((i - around.first()[0]) * width + j - around.first()[1])];
    };
    return timed(team, [&] {
        for (int step = 0; step < steps; ++step) {
            if (kind == "patch") a.get(around, buffer);
            double sum = 0;
            for (auto [i, j] : inner)
                sum += kind == "patch" ? in_buffer(i - 1, j) + in_buffer(i + 1, j) : a(i - 1, j) + a(i + 1, j);
            keep(sum);
            team.barrier();
        }
    });
}

/// b(i, j) = a(j, i): each rank reads columns, of all ranks.
double transpose(Team& team, std::string_view kind) {
    const Index n = sizes.matrix;
    Matrix a{team, {n, n}, Block{.grid = {team.size(), 1}}, options_of(kind, "a")};
    Matrix b{team, {n, n}, Block{.grid = {team.size(), 1}}, {.name = "b"}};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = static_cast<double>(i * n + j);
    if (kind == "prefetch") a.prefetch(Transpose{});
    const Domain<2> own = b.local_domain();
    const Range rows = own.range(0);
    std::vector<double> columns(own.size());
    return timed(team, [&] {
        if (kind == "patch") a.get({{0, n}, rows}, columns);
        const Index width = static_cast<Index>(rows.size());
        for (auto [i, j] : own)
            b.local(i, j) = kind == "patch" ? columns[static_cast<std::size_t>(j * width + i - rows.first())]
                                            : static_cast<double>(a(j, i));
        team.barrier();
    });
}

[[nodiscard]] std::vector<Index> random_indices(const Team& team, Index elements, std::size_t count) {
    std::mt19937 random{static_cast<unsigned>(team.rank().value) + 3};
    std::uniform_int_distribution<Index> anywhere{0, elements - 1};
    std::vector<Index> indices(count);
    for (Index& index : indices) index = anywhere(random);
    return indices;
}

/// The product with a sparse matrix: elements of x anywhere.
double sparse(Team& team, std::string_view kind) {
    constexpr Index n = 1 << 18;
    Vector x{team, {n}, Block{}, options_of(kind, "x")};
    if (kind == "prefetch") x.prefetch(AllToAll{});
    const std::vector<Index> indices = random_indices(team, n, sizes.accesses);
    std::vector<double> values(indices.size());
    return timed(team, [&] {
        if (kind == "list") x.gather(indices, std::span{values});
        double sum = 0;
        for (std::size_t k = 0; k < indices.size(); ++k)
            sum += kind == "list" ? values[k] : static_cast<double>(x(indices[k]));
        keep(sum);
        team.barrier();
    });
}

/// A histogram: an element is read, changed and written.
double histogram(Team& team, std::string_view kind) {
    constexpr Index n = 1 << 18;
    Vector bins{team, {n}, Block{}, options_of(kind, "bins")};
    const std::vector<Index> indices = random_indices(team, n, sizes.accesses / 2);
    return timed(team, [&] {
        for (const Index i : indices) {
            if (kind == "update") bins(i).add(1.0);
            else bins(i) = bins(i) + 1.0;
        }
        team.barrier();
    });
}

struct Kernel {
    const char* name;
    double (*run)(Team&, std::string_view kind);
    std::set<std::string_view> kinds; ///< changes that it can be run with
};
const std::vector<Kernel>& kernels() {
    static const auto& all = *new std::vector<Kernel>{
        {"power iteration", multiply, {"cache", "prefetch", "patch", "replicate"}},
        {"heat", heat, {"cache", "prefetch", "patch"}},
        {"transpose", transpose, {"cache", "prefetch", "patch"}},
        {"sparse", sparse, {"cache", "prefetch", "list"}},
        {"histogram", histogram, {"cache", "update"}},
    };
    return all;
}

/// Collective. What rates and transfers cost here; on rank 0.
[[nodiscard]] CostTables measured_tables(Team& team, const Route& route, double seconds) {
    CostTables tables;
    tools::measure_access_rates(team, route.path, seconds, tables.rates);
    Window window{team, 1 << 20};
    if (team.rank() == Rank{0}) calibrate(window.state(), route.target.value);
    const CostModel& costs = TeamCosts::of(team).model();
    constexpr std::uint64_t usual = 1 << 16;
    for (const Direction direction : {Direction::put, Direction::get})
        tables.transfers(route.path, direction) = costs.transfers(route.path, direction, usual);
    team.barrier();
    return tables;
}

/// Collective. The advice for a kernel in its naive form; on rank 0.
[[nodiscard]] Advice advice_for(Context& context, const Kernel& kernel, const CostTables& tables) {
    int number = static_cast<int>(getpid());
    MPI_Bcast(&number, 1, MPI_INT, 0, context.world());
    const std::string file = fmt::format("/tmp/lapwing-bench-{}.trace", number);
    {
        Runtime recorded{context.world(), Settings{{"LAPWING_TRACE", file}}};
        (void)kernel.run(recorded, "naive");
        recorded.close();
    }
    if (context.rank() != 0) return {};
    std::ifstream in{file, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    std::remove(file.c_str());
    return advise(parse_trace(text, file), &tables);
}

/// Rank 0's text, on all ranks.
[[nodiscard]] std::string agreed(Context& context, std::string text) {
    text.resize(32);
    MPI_Bcast(text.data(), 32, MPI_CHAR, 0, context.world());
    return text.substr(0, text.find('\0'));
}

void try_all(Context& context, Runtime& runtime, const Kernel& kernel, const Advice& advice, int repetitions) {
    std::set<std::string> tried;
    for (std::size_t k = 0;; ++k) {
        const bool more = context.rank() == 0 && k < advice.changes.size();
        const std::string kind = agreed(context, more ? advice.changes[k].kind : std::string{});
        if (kind.empty()) break;
        if (!tried.insert(kind).second) continue; // the same change of another line
        if (!kernel.kinds.contains(kind)) {
            context.skip(fmt::format("{}, {}", kernel.name, kind), "this kernel has no such variant");
            continue;
        }
        std::vector<double> naive;
        std::vector<double> changed;
        for (int turn = 0; turn < repetitions; ++turn) {
            naive.push_back(kernel.run(runtime, "naive"));
            changed.push_back(kernel.run(runtime, kind));
        }
        if (context.rank() != 0) continue;
        const AdvisedChange& change = advice.changes[k];
        const double now = median(naive);
        const double then = median(changed);
        const auto [low, high] = std::ranges::minmax(changed);
        context.add({.case_name = fmt::format("{}, advice {}: {}: gain {:.3g} ms, predicted {:.3g} ms", kernel.name,
                                              tried.size(), kind, 1e3 * (now - then), 1e3 * change.gain()),
                     .metric = "time",
                     .value = 1e3 * then,
                     .unit = "ms",
                     .baseline = "naive",
                     .baseline_value = 1e3 * now,
                     .min = 1e3 * low,
                     .max = 1e3 * high,
                     .repetitions = repetitions,
                     .predicted = 1e3 * change.then_seconds.value_or(0)});
    }
}

void model_advice(Context& context) {
    const bool hasty = context.options().seconds < 0.05; // only to be seen that it runs
    sizes = hasty ? small : Sizes{};
    const int repetitions = context.options().repetitions > 0 ? context.options().repetitions : hasty ? 1 : 5;
    Runtime runtime{context.world(), Settings{}};
    const Route route = context.measure_against(runtime);
    const CostTables tables = measured_tables(runtime, route, hasty ? 1 : 10);
    for (const Kernel& kernel : kernels()) {
        const Advice advice = advice_for(context, kernel, tables);
        try_all(context, runtime, kernel, advice, repetitions);
    }
    runtime.close();
}

const Registration advised{
    {.name = "model/advice",
     .summary = "naive kernels with every change that lapwing-advise advises: gains predicted and measured",
     .run = model_advice,
     .default_repetitions = 5,
     .paths = {"direct", "rma", "service"}}};

} // namespace
} // namespace lapwing::bench
