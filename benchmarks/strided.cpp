// strided/…: non-contiguous puts, by the planner, by every forced strategy, and by MPI's own datatypes.
#include "strided_cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t most_extent = 128 * mib;

std::vector<StridedCell> grid(bool all) {
    using Sizes = std::vector<std::uint64_t>;
    const Sizes blocks = all ? Sizes{4, 8, 12, 16, 64, 128, 512, 1024, 4096} : Sizes{4, 12, 64, 512, 4096};
    const Sizes totals = all ? Sizes{4 * kib, 64 * kib, 256 * kib, mib, 4 * mib, 16 * mib} : Sizes{4 * kib, 256 * kib, 4 * mib};
    std::vector<StridedCell> cells;
    for (const std::uint64_t block : blocks)
        for (const std::uint64_t stride : all ? Sizes{2 * block, 3 * block, 4096} : Sizes{2 * block, 4096}) {
            if (stride <= block) continue;
            for (const std::uint64_t total : totals)
                for (const bool indexed : {false, true})
                    for (const bool target_strided : {false, true}) cells.push_back({block, stride, total, indexed, target_strided});
        }
    return cells;
}

/// A row that says how many times better `value` is than `baseline`.
Row compared(std::string case_name, double value, std::string baseline, double baseline_value, int repetitions) {
    return {.case_name = std::move(case_name),
            .metric = "time",
            .value = 1e6 * value,
            .unit = "us",
            .baseline = std::move(baseline),
            .baseline_value = 1e6 * baseline_value,
            .ratio = baseline_value / value,
            .min = 1e6 * value,
            .max = 1e6 * value,
            .repetitions = repetitions};
}

constexpr int repetitions = 5;

void planner(Context& context, bool all) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    std::vector<double> ratios;
    {
        StridedBench bench{context, runtime, route, most_extent, repetitions};
        for (const StridedCell& cell : grid(all)) {
            const auto times = bench.measure(cell);
            if (!times) continue;
            const auto& best = times->best();
            ratios.push_back(best.seconds / times->planned);
            const std::string label = fmt::format("{}: {}", cell.name(), times->strategy);
            context.add(compared(label, times->planned, "best forced: " + best.name, best.seconds, repetitions));
            if (times->raw) context.add(compared(label + ", raw", times->planned, "MPI_Put of datatypes", *times->raw, repetitions));
        }
    }
    if (context.rank() == 0 && !ratios.empty()) {
        const auto share = [&](double limit) {
            return static_cast<double>(std::ranges::count_if(ratios, [&](double r) { return r >= limit; })) /
                   static_cast<double>(ratios.size());
        };
        const auto add = [&](const char* name, double value) {
            context.add({.case_name = name, .metric = name, .value = value, .baseline = "none", .min = value, .max = value,
                         .repetitions = repetitions});
        };
        add("cells within 10 % of the best", share(1 / 1.1));
        add("worst ratio to the best", std::ranges::min(ratios));
    }
    runtime.close();
}

/// The paper's applications: what the planned transfer gains over the best of full pack and one by one, beside the most
/// that hiding all of the shorter of packing and wire could gain.
void paper(Context& context, const std::vector<StridedCell>& cells) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    std::vector<double> reached;
    {
        StridedBench bench{context, runtime, route, most_extent, 2 * repetitions - 1};
        for (const StridedCell& cell : cells) {
            const auto times = bench.measure(cell);
            if (!times) continue;
            double other = times->of("full-pack").value_or(INFINITY);
            const bool packed = other <= times->of("per-block").value_or(INFINITY);
            other = std::min(other, times->of("per-block").value_or(INFINITY));
            context.add(compared(fmt::format("{}: {}", cell.name(), times->strategy), times->planned,
                                 packed ? "full-pack" : "per-block", other, 2 * repetitions - 1));
            const double limit = (times->packing + times->wire) / std::max(times->packing, times->wire);
            const double gain = other / times->planned;
            reached.push_back(gain / limit);
            context.add({.case_name = cell.name() + ", limit",
                         .metric = "gain over limit",
                         .value = gain / limit,
                         .baseline = fmt::format("limit {:.2f}", limit),
                         .min = gain / limit,
                         .max = gain / limit,
                         .repetitions = 2 * repetitions - 1});
        }
    }
    if (context.rank() == 0 && !reached.empty()) {
        std::ranges::sort(reached);
        const double middle = reached[reached.size() / 2];
        context.add({.case_name = "median of the limit",
                     .metric = "gain over limit",
                     .value = middle,
                     .baseline = "none",
                     .min = reached.front(),
                     .max = reached.back(),
                     .repetitions = 2 * repetitions - 1});
    }
    runtime.close();
}

/// Section 5: the blocks of a transposition grow with the problem, 128 to 1792 bytes.
std::vector<StridedCell> fft_cells() {
    std::vector<StridedCell> cells;
    for (std::uint64_t block = 128; block <= 1792; block += 416)
        cells.push_back({.block = block, .stride = 4 * block, .total = block * block, .indexed = false, .target_strided = false});
    return cells;
}

std::vector<StridedCell> specfem_cells(std::uint64_t block, std::uint64_t stride, bool indexed) {
    std::vector<StridedCell> cells;
    for (std::uint64_t total = 256 * kib; total <= 8 * mib; total *= 2)
        cells.push_back({.block = block, .stride = stride, .total = total / block * block, .indexed = indexed, .target_strided = false});
    return cells;
}

const std::vector<std::string> network_paths{"rma", "service"};

const Registration short_grid{{.name = "strided/planner",
                               .summary = "non-contiguous puts: the planner against every forced strategy and MPI's datatypes",
                               .run = [](Context& context) { planner(context, false); },
                               .default_repetitions = repetitions}};
const Registration full_grid{{.name = "strided-full/planner",
                              .summary = "the same on the whole grid of shapes; half an hour",
                              .run = [](Context& context) { planner(context, true); },
                              .default_repetitions = repetitions,
                              .paths = {}}};
const Registration fft{{.name = "strided/paper-fft",
                        .summary = "the transposition of an FFT: blocks of 128 to 1792 bytes",
                        .run = [](Context& context) { paper(context, fft_cells()); },
                        .default_repetitions = repetitions,
                        .paths = network_paths}};
const Registration specfem{{.name = "strided/paper-specfem",
                            .summary = "seismic waves: blocks of 12 bytes, stride 24",
                            .run = [](Context& context) { paper(context, specfem_cells(12, 24, false)); },
                            .default_repetitions = repetitions,
                            .paths = network_paths}};
const Registration specfem_indexed{{.name = "strided/paper-specfem-indexed",
                                    .summary = "seismic waves: indexed blocks of 4 bytes",
                                    .run = [](Context& context) { paper(context, specfem_cells(4, 8, true)); },
                                    .default_repetitions = repetitions,
                                    .paths = network_paths}};

} // namespace
} // namespace lapwing::bench
