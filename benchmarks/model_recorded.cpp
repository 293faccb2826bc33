// model/recorded: what the performance model predicts of programs that it was not built on, from their records alone
// (LAPWING_TRACE, lapwing-advise --predict): kernels of the demo in their naive form, one element at a time. Rates and
// programs are measured in turns. A row's value is the time of the program without recording.
#include "harness.hpp"

#include "median.hpp"
#include "model/access_platform.hpp"
#include "model/described_trace.hpp"
#include "model_costs.hpp"
#include "naive_kernels.hpp"
#include "recorded_kernel.hpp"

#include <lapwing/path.hpp>
#include <lapwing/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace detail::model;

struct Measured {
    std::vector<double> actual;
    std::vector<double> predicted;
};

/// Collective. One turn of all kernels.
void measure(Context& context, const std::vector<naive::Kernel>& kernels, bool hasty, std::vector<Measured>& measured) {
    CostTables costs;
    Path path = Path::self;
    {
        Runtime runtime{context.world(), Settings{}};
        const Route route = context.measure_against(runtime);
        path = route.path;
        costs = measured_costs(runtime, route, hasty ? 1 : 5);
        for (std::size_t k = 0; k < kernels.size(); ++k) measured[k].actual.push_back(kernels[k].run(runtime, "naive"));
        runtime.close();
    }
    for (std::size_t k = 0; k < kernels.size(); ++k)
        if (const std::optional<RecordedTrace> trace = recorded(context, kernels[k]))
            measured[k].predicted.push_back(
                predict_recorded(*trace, measured_platform(costs, name(path), context.size())).seconds);
}

void model_recorded(Context& context) {
    const bool hasty = context.options().seconds < 0.05; // only to be seen that it runs
    naive::sizes = hasty ? naive::small : naive::Sizes{};
    const int turns = context.options().repetitions > 0 ? context.options().repetitions : hasty ? 1 : 5;
    const std::vector<naive::Kernel>& kernels = naive::kernels();
    std::vector<Measured> measured(kernels.size());
    for (int turn = 0; turn < turns; ++turn) measure(context, kernels, hasty, measured);
    if (context.rank() != 0) return;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        const auto [low, high] = std::ranges::minmax(measured[k].actual);
        context.add({.case_name = kernels[k].name,
                     .metric = "time",
                     .value = 1e3 * median(measured[k].actual),
                     .unit = "ms",
                     .baseline = "none",
                     .min = 1e3 * low,
                     .max = 1e3 * high,
                     .repetitions = turns,
                     .predicted = 1e3 * median(measured[k].predicted)});
    }
}

const Registration recorded_kernels{
    {.name = "model/recorded",
     .summary = "naive kernels, as the performance model predicts them from their records",
     .run = model_recorded,
     .default_repetitions = 5,
     .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
