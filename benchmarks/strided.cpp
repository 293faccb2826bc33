// strided/…: non-contiguous puts and gets, by the planner, by every forced strategy, and by MPI's own datatypes.
#include "strided_cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t most_extent = 128 * mib;

std::vector<StridedCell> grid(bool all) {
    using Sizes = std::vector<std::uint64_t>;
    const Sizes blocks = all ? Sizes{4, 8, 12, 16, 64, 128, 512, 1024, 4096} : Sizes{4, 12, 64, 512, 4096};
    const Sizes totals =
        all ? Sizes{4 * kib, 64 * kib, 256 * kib, mib, 4 * mib, 16 * mib} : Sizes{4 * kib, 256 * kib, 4 * mib};
    std::vector<StridedCell> cells;
    for (const std::uint64_t block : blocks)
        for (const std::uint64_t stride : all ? Sizes{2 * block, 3 * block, 4096} : Sizes{2 * block, 4096}) {
            if (stride <= block) continue;
            for (const std::uint64_t total : totals)
                for (const bool indexed : {false, true})
                    for (const bool target_strided : {false, true})
                        cells.push_back({block, stride, total, indexed, target_strided});
        }
    return cells;
}

/// Gets: the same shapes the other way round, fewer of them.
std::vector<StridedCell> get_grid() {
    std::vector<StridedCell> cells;
    for (const std::uint64_t block : {4U, 12U, 64U, 1024U})
        for (const std::uint64_t total : {4 * kib, 256 * kib, 4 * mib})
            for (const bool indexed : {false, true})
                for (const bool target_strided : {false, true})
                    cells.push_back({block, 2 * std::uint64_t{block}, total, indexed, target_strided, true});
    return cells;
}

/// A row that says how many times better `value` is than `baseline`.
Row compared(std::string case_name, const StridedTimes& times, std::string baseline, double baseline_value) {
    return {.case_name = std::move(case_name),
            .metric = "time",
            .value = 1e6 * times.planned,
            .unit = "us",
            .baseline = std::move(baseline),
            .baseline_value = 1e6 * baseline_value,
            .ratio = baseline_value / times.planned,
            .min = 1e6 * times.planned,
            .max = 1e6 * times.planned,
            .repetitions = times.repetitions,
            .predicted = 1e6 * times.predicted};
}

Row summary(std::string case_name, std::string metric, double value) {
    return {.case_name = std::move(case_name),
            .metric = std::move(metric),
            .value = value,
            .baseline = "none",
            .min = value,
            .max = value};
}

double share_of(const std::vector<double>& ratios, double limit) {
    return static_cast<double>(std::ranges::count_if(ratios, [&](double r) { return r >= limit; })) /
           static_cast<double>(ratios.size());
}

/// The cells to measure: fewer where the benchmark only has to run.
std::vector<StridedCell> cells_for(const Context& context, std::vector<StridedCell> cells) {
    if (context.options().seconds < 0.05) {
        std::vector<StridedCell> some;
        for (std::size_t i = 0; i < cells.size(); i += 9) some.push_back(cells[i]);
        return some;
    }
    return cells;
}

/// Lists what is missing in a table.
void add_left_out(Context& context, const StridedBench& bench) {
    if (context.rank() == 0 && bench.left_out() > 0)
        context.add(summary(fmt::format("cells left out: they spread over more than {}", size_name(most_extent)),
                            "cells", static_cast<double>(bench.left_out())));
}

/// The planner against every strategy forced.
void planner(Context& context, const std::vector<StridedCell>& cells) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    std::vector<double> ratios;
    std::vector<double> predictions;
    {
        StridedBench bench{context, runtime, route, most_extent};
        for (const StridedCell& cell : cells_for(context, cells)) {
            const auto times = bench.measure(cell, {.pipelines = true});
            if (!times) continue;
            const auto& best = times->best();
            ratios.push_back(best.seconds / times->planned);
            predictions.push_back(std::abs(times->predicted / times->planned - 1));
            context.add(compared(fmt::format("{}: {}", cell.name(), times->strategy), *times,
                                 "best forced: " + best.name, best.seconds));
        }
        add_left_out(context, bench);
    }
    if (context.rank() == 0 && !ratios.empty()) {
        context.add(summary("cells within 10 % of the best", "share", share_of(ratios, 1 / 1.1)));
        const auto near = std::ranges::count_if(predictions, [](double error) { return error <= 0.15; });
        context.add(summary("planned times within 15 % of predicted", "share",
                            static_cast<double>(near) / static_cast<double>(predictions.size())));
        context.add(summary("worst ratio to the best", "ratio to the best", std::ranges::min(ratios)));
    }
    runtime.close();
}

/// The planner against what a program can do without Lapwing: MPI's datatypes, packing everything, or one call per
/// block.
void against_mpi(Context& context, const std::vector<StridedCell>& cells) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        StridedBench bench{context, runtime, route, most_extent};
        for (const StridedCell& cell : cells_for(context, cells)) {
            const auto times = bench.measure(cell, {.raw = true});
            if (!times) continue;
            const auto& best = times->best();
            context.add(compared(cell.name() + ", by hand", *times, best.name, best.seconds));
            if (!times->raw) continue;
            const char* const blocks = cell.block <= 128 ? ", datatypes of short blocks" : ", datatypes";
            context.add(compared(cell.name() + blocks, *times, "MPI_Put of datatypes", *times->raw));
        }
        add_left_out(context, bench);
    }
    runtime.close();
}

/// The paper's applications: the gain of the planned transfer over the best of full pack and one by one, compared with
/// the largest possible gain, the complete overlap of packing and wire; and the bandwidths, for pictures.
void paper(Context& context, const std::vector<StridedCell>& cells) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    std::vector<double> reached;
    {
        StridedBench bench{context, runtime, route, most_extent};
        for (const StridedCell& cell : cells) {
            const auto times = bench.measure(cell, {.pipelines = true, .parts = true, .paper = true});
            if (!times) continue;
            double other = times->of("full-pack").value_or(INFINITY);
            const bool packed = other <= times->of("per-block").value_or(INFINITY);
            other = std::min(other, times->of("per-block").value_or(INFINITY));
            context.add(compared(fmt::format("{}: {}", cell.name(), times->strategy), *times,
                                 packed ? "full-pack" : "per-block", other));
            const double limit = (times->packing + times->wire) / std::max(times->packing, times->wire);
            reached.push_back(other / times->planned / limit);
            Row row =
                summary(fmt::format("{}, of limit {:.2f}", cell.name(), limit), "gain over limit", reached.back());
            row.repetitions = times->repetitions;
            context.add(std::move(row));
            const auto bandwidth = [&](std::string_view way, double seconds) {
                Row line = summary(fmt::format("{} by {}", size_name(cell.total), way), "bandwidth",
                                   1e-9 * static_cast<double>(cell.bytes()) / seconds);
                line.unit = "GB/s";
                line.repetitions = times->repetitions;
                context.add(std::move(line));
            };
            bandwidth("planned", times->planned);
            for (const StridedTimes::Way& way : times->forced)
                bandwidth(way.name == "per-block" ? "per-block (maximal block)" : way.name, way.seconds);
            // The planner beside the sizes that the paper gives for its own machine.
            for (const std::string& way : {std::string{"FP(20 KB)"}, std::string{"SP(20 KB, 1.3)"}})
                if (const auto seconds = times->of(way))
                    context.add(compared(fmt::format("{}, beside {}", cell.name(), way), *times, way, *seconds));
        }
    }
    if (context.rank() == 0 && !reached.empty()) {
        std::ranges::sort(reached);
        context.add(summary("median of the limit", "gain over limit", reached[reached.size() / 2]));
    }
    runtime.close();
}

/// Section 5: the blocks of a transposition grow with the problem, 128 to 1792 bytes.
std::vector<StridedCell> fft_cells() {
    std::vector<StridedCell> cells;
    for (std::uint64_t block = 128; block <= 1792; block += 416)
        cells.push_back({.block = block,
                         .stride = 4 * block,
                         .total = block * block,
                         .indexed = false,
                         .target_strided = false,
                         .get = false});
    return cells;
}

std::vector<StridedCell> specfem_cells(std::uint64_t block, std::uint64_t stride, bool indexed) {
    std::vector<StridedCell> cells;
    for (std::uint64_t total = 256 * kib; total <= 8 * mib; total *= 2)
        cells.push_back({.block = block,
                         .stride = stride,
                         .total = total / block * block,
                         .indexed = indexed,
                         .target_strided = false,
                         .get = false});
    return cells;
}

/// The paper's figure 2: 800 KB in puts of 8 to 1000 bytes, one after the other.
void small_puts(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        constexpr std::uint64_t total = 800'000;
        Window window{runtime, total};
        std::optional<raw::Window> raw_window;
        if (route.path != Path::direct && context.windows_work()) raw_window.emplace(context, total);
        std::vector<std::byte> memory(context.rank() == 0 ? total : 0);
        const auto subject = [&](const std::string& name, auto put, auto flush, std::uint64_t size) {
            return Subject{.name = name, .run = [&runtime, &memory, put, flush, size](std::uint64_t iterations) {
                               return alone(runtime, [&] {
                                   for (std::uint64_t n = 0; n < iterations; ++n) {
                                       for (std::uint64_t at = 0; at < total; at += size)
                                           put(at, std::span{memory}.subspan(at, size));
                                       flush();
                                   }
                               });
                           }};
        };
        const auto put = [&](std::uint64_t at, std::span<const std::byte> bytes) {
            window.put(route.target, Offset{at}, bytes);
        };
        const auto flush = [&] { window.flush(route.target); };
        for (const std::uint64_t size : {8U, 16U, 40U, 80U, 200U, 400U, 1000U}) {
            std::vector<Subject> baselines{subject("one put of 800,000 bytes", put, flush, total)};
            if (raw_window) {
                baselines.push_back(subject(
                    "MPI_Put",
                    [&](std::uint64_t at, std::span<const std::byte> bytes) {
                        const int count = static_cast<int>(bytes.size());
                        MPI_Put(bytes.data(), count, MPI_BYTE, route.target.value, static_cast<MPI_Aint>(at), count,
                                MPI_BYTE, raw_window->handle());
                    },
                    [&] { raw_window->flush(route.target.value); }, size));
                baselines.back().case_suffix = ", MPI";
            }
            context.compare(fmt::format("puts of {} B", size), microseconds(), subject("Window::put", put, flush, size),
                            std::move(baselines));
        }
        raw_window.reset();
        window.close();
    }
    runtime.close();
}

constexpr int repetitions = 9;
const std::vector<std::string> network_paths{"rma", "service"};

const Registration short_grid{{.name = "strided/planner",
                               .summary = "non-contiguous puts: the planner against every forced strategy",
                               .run = [](Context& context) { planner(context, grid(false)); },
                               .default_repetitions = repetitions}};
const Registration mpi{
    {.name = "strided/against-mpi",
     .summary = "non-contiguous puts: the planner against MPI's datatypes, and packing or sending by hand",
     .run = [](Context& context) { against_mpi(context, grid(false)); },
     .default_repetitions = repetitions}};
const Registration gets{{.name = "strided/planner-get",
                         .summary = "non-contiguous gets: the planner against every forced strategy",
                         .run = [](Context& context) { planner(context, get_grid()); },
                         .default_repetitions = repetitions}};
const Registration full_grid{{.name = "full-strided/planner",
                              .summary = "the same on the whole grid of shapes; half an hour",
                              .run = [](Context& context) { planner(context, grid(true)); },
                              .default_repetitions = repetitions,
                              .paths = {}}};
const Registration full_mpi{{.name = "full-strided/against-mpi",
                             .summary = "MPI's datatypes, packing or sending by hand on the whole grid",
                             .run = [](Context& context) { against_mpi(context, grid(true)); },
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
const Registration figure2{{.name = "strided/paper-puts",
                            .summary = "800 KB in puts of 8 to 1000 bytes",
                            .run = small_puts,
                            .default_repetitions = repetitions,
                            .paths = network_paths}};

} // namespace
} // namespace lapwing::bench
