// model/fit: how well the cost model predicts contiguous transfers of sizes that it was not fitted to.
#include "harness.hpp"

#include "model/measure_transfers.hpp"
#include "model/transfer_model.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

namespace lapwing::bench {
namespace {

using detail::model::Direction;
using detail::model::TransferCell;
using detail::model::TransferSample;

constexpr std::uint64_t largest_bytes = 16 * 1024 * 1024;

/// The grid that models are fitted to, and half-way between its sizes, by size.
std::vector<TransferCell> all_cells() {
    std::vector<TransferCell> cells = detail::model::transfer_grid(largest_bytes);
    const std::vector<TransferCell> grid = cells;
    for (const TransferCell& cell : grid)
        if (cell.bytes * cell.operations * 3 / 2 <= largest_bytes)
            cells.push_back({cell.bytes * 3 / 2, cell.operations});
    std::ranges::stable_sort(cells, {}, &TransferCell::bytes);
    return cells;
}

void model_fit(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    Window window{runtime, largest_bytes};
    for (const Direction direction : {Direction::put, Direction::get}) {
        runtime.barrier();
        if (context.rank() == 0) {
            const detail::support::AlignedMemory buffer =
                detail::support::allocate_zeroed(largest_bytes); // as those of packed chunks
            const std::span memory{buffer.get(), largest_bytes};
            // Sizes to fit to and those between take turns: what is judged is the model, not how the machine drifts.
            std::vector<TransferSample> fitted;
            std::vector<TransferSample> between;
            for (const TransferSample& sample : detail::model::measure_transfers(
                     window, route.target, direction, all_cells(), memory, 60 * context.options().seconds))
                (std::has_single_bit(sample.bytes) ? fitted : between).push_back(sample);
            const detail::model::Aggregation aggregation =
                detail::model::aggregation_of(runtime.state(), route.path, direction);
            detail::model::TransferModel model = detail::model::fit_transfers(fitted, aggregation);
            detail::model::refine_changes(model, window, route.target, direction, memory,
                                          5 * context.options().seconds);
            const detail::model::FitQuality quality = detail::model::judge(model, between);
            const auto add = [&](const char* what, double value, const char* unit) {
                context.add({.case_name = fmt::format("{}, {}", name(direction), what),
                             .metric = what,
                             .value = value,
                             .unit = unit,
                             .baseline = "none",
                             .min = value,
                             .max = value,
                             .repetitions = 7});
            };
            add("R squared", quality.r_squared, "");
            add("cells within 15 %", quality.within_15, "");
            add("pieces", static_cast<double>(model.lines().size()), "");
        }
        runtime.barrier();
    }
    window.close();
    runtime.close();
}

const Registration fit{{.name = "model/fit",
                        .summary = "the cost model of contiguous transfers against sizes that it was not fitted to",
                        .run = model_fit,
                        .default_repetitions = 7,
                        .paths = {"direct", "rma", "service"}}};

} // namespace
} // namespace lapwing::bench
