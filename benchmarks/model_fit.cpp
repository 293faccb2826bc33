// model/fit: how well the cost model predicts contiguous transfers of sizes that it was not fitted to.
#include "harness.hpp"

#include "pipeline/measure_transfers.hpp"
#include "pipeline/transfer_model.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <vector>

namespace lapwing::bench {
namespace {

using pipeline::Direction;
using pipeline::TransferCell;
using pipeline::TransferSample;

constexpr std::uint64_t largest_bytes = 16 * 1024 * 1024;

/// Half-way between the sizes of the grid that the model is fitted to.
std::vector<TransferCell> other_sizes() {
    std::vector<TransferCell> cells;
    for (std::uint64_t bytes = 12; bytes <= largest_bytes; bytes *= 2)
        for (const std::uint64_t operations : {1U, 4U, 16U})
            if (operations == 1 || bytes * operations <= largest_bytes) cells.push_back({bytes, operations});
    return cells;
}

void model_fit(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    Window window{runtime, largest_bytes};
    for (const Direction direction : {Direction::put, Direction::get}) {
        runtime.barrier();
        if (context.rank() == 0) {
            std::vector<TransferCell> cells = pipeline::transfer_grid(largest_bytes);
            const std::size_t fitted = cells.size();
            for (const TransferCell& cell : other_sizes()) cells.push_back(cell);
            std::vector<std::byte> memory(largest_bytes);
            // Fitted and other sizes take turns: what is judged is the model, not how the machine drifts.
            const std::vector<TransferSample> samples = pipeline::measure_transfers(
                window, route.target, direction, cells, memory, 60 * context.options().seconds);
            const std::span<const TransferSample> all{samples};
            pipeline::TransferModel model = pipeline::fit_transfers(all.first(fitted));
            pipeline::refine_changes(model, window, route.target, direction, memory, 5 * context.options().seconds);
            const pipeline::FitQuality quality = pipeline::judge(model, all.subspan(fitted));
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
            add("pieces", static_cast<double>(model.pieces().size()), "");
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
