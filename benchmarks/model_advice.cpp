// model/advice: whether advice comes true. Kernels of the demo in their naive form, one element at a time, are recorded
// (LAPWING_TRACE), and lapwing-advise's advice is worked out from the record and from rates that are measured here.
// Then every change that a kernel has is made, advised or not, and timed in turns with the naive form. A row's value is
// the time with the change, and its case says the rank of the advice, "-" for none; `predicted_gain` is what the advice
// says.
#include "harness.hpp"

#include "median.hpp"
#include "model/advice.hpp"
#include "model/recorded_trace.hpp"
#include "model_costs.hpp"
#include "naive_kernels.hpp"
#include "recorded_kernel.hpp"

#include <lapwing/runtime.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace detail::model;
using naive::Kernel;

/// The first advice of each kind, and its rank among them; on rank 0.
struct Advised {
    explicit Advised(const Advice& advice) {
        for (const AdvisedChange& change : advice.changes)
            if (std::ranges::find(changes, change.kind, &AdvisedChange::kind) == changes.end())
                changes.push_back(change);
    }
    [[nodiscard]] std::string rank_of(std::string_view kind) const {
        const auto found = std::ranges::find(changes, kind, &AdvisedChange::kind);
        return found == changes.end() ? "-" : std::to_string(found - changes.begin() + 1);
    }
    /// Seconds; none if it is not advised, or has no prediction.
    [[nodiscard]] std::optional<double> gain_of(std::string_view kind) const {
        const auto found = std::ranges::find(changes, kind, &AdvisedChange::kind);
        if (found == changes.end() || !found->now_seconds || !found->then_seconds) return {};
        return found->gain();
    }
    std::vector<AdvisedChange> changes = {};
};

/// Runs a kernel as it is and with every change that it has, advised or not, in turns.
void try_all(Context& context, Runtime& runtime, const Kernel& kernel, const Advised& advised, int repetitions) {
    for (const AdvisedChange& change : advised.changes)
        if (!kernel.kinds.contains(change.kind))
            context.skip(fmt::format("{}, advice {}: {}", kernel.name, advised.rank_of(change.kind), change.kind),
                         "this kernel has no such variant");
    std::vector<double> naive;
    std::map<std::string_view, std::vector<double>> changed;
    for (int turn = 0; turn < repetitions; ++turn) {
        naive.push_back(kernel.run(runtime, "naive"));
        for (const std::string_view kind : kernel.kinds) changed[kind].push_back(kernel.run(runtime, kind));
    }
    if (context.rank() != 0) return;
    const double now = median(naive);
    for (auto& [kind, seconds] : changed) {
        const auto [low, high] = std::ranges::minmax(seconds);
        const double then = median(seconds);
        Row row{.case_name = fmt::format("{}, advice {}: {}", kernel.name, advised.rank_of(kind), kind),
                .metric = "time",
                .value = 1e3 * then,
                .unit = "ms",
                .baseline = "naive",
                .baseline_value = 1e3 * now,
                .ratio = now / then,
                .min = 1e3 * low,
                .max = 1e3 * high,
                .repetitions = repetitions};
        if (const std::optional<double> gain = advised.gain_of(kind)) row.predicted_gain = 1e3 * *gain;
        context.add(std::move(row));
    }
}

void model_advice(Context& context) {
    const bool hasty = context.options().seconds < 0.05; // only to be seen that it runs
    naive::sizes = hasty ? naive::small : naive::Sizes{};
    const int repetitions = context.options().repetitions > 0 ? context.options().repetitions : hasty ? 1 : 5;
    Runtime runtime{context.world(), Settings{}};
    const Route route = context.measure_against(runtime);
    const CostTables tables = measured_costs(runtime, route, hasty ? 1 : 10);
    for (const Kernel& kernel : naive::kernels()) {
        const std::optional<RecordedTrace> trace = recorded(context, kernel);
        const Advised advised{trace ? advise(*trace, &tables) : Advice{}};
        try_all(context, runtime, kernel, advised, repetitions);
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
