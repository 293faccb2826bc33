// model/advice: whether advice comes true. Kernels of the demo, of UPC and of NAS in their naive form, one element at a
// time, are recorded (LAPWING_TRACE), and lapwing-advise's advice is worked out from the record and from rates that are
// measured here. Every change that a kernel has is made, advised or not, and timed; and it is run as it is with
// LAPWING_ADVICE, where that prefetches. Rates, records and times are taken in turns. A row's value is the time with
// the change, and its case says the rank of the advice, "-" for none; `predicted_gain` is what the advice says.
#include "harness.hpp"

#include "median.hpp"
#include "model/advice.hpp"
#include "model/advice_file.hpp"
#include "model/recorded_trace.hpp"
#include "model_costs.hpp"
#include "naive_kernels.hpp"
#include "recorded_kernel.hpp"

#include <lapwing/runtime.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace detail::model;

/// A change, by the turns.
struct Change {
    std::vector<double> seconds = {}; ///< with it; none if the kernel has no such variant
    std::vector<double> gains = {};   ///< that are predicted, in those turns in which it was advised; on rank 0
};

struct AdvisedKernel {
    naive::Kernel of = {};
    std::vector<double> naive_seconds = {};
    std::map<std::string, Change> changes = {}; ///< by the kind of advice

    /// Collective.
    void run(Runtime& runtime) {
        naive_seconds.push_back(naive::seconds_of(of, runtime, "naive"));
        for (const std::string_view kind : of.kinds)
            changes[std::string{kind}].seconds.push_back(naive::seconds_of(of, runtime, kind));
    }
    /// The first advice of each kind counts.
    void add(const Advice& advice) {
        std::set<std::string> seen;
        for (const AdvisedChange& change : advice.changes)
            if (seen.insert(change.kind).second) changes[change.kind].gains.push_back(change.gain());
    }
    /// The kinds that were advised in most of the turns, those that gain most first.
    [[nodiscard]] std::vector<std::string> advised() const {
        std::vector<std::pair<double, std::string>> found;
        for (const auto& [kind, change] : changes)
            if (2 * change.gains.size() > naive_seconds.size()) found.emplace_back(-median(change.gains), kind);
        std::ranges::sort(found);
        std::vector<std::string> kinds;
        for (auto& [gain, kind] : found) kinds.push_back(std::move(kind));
        return kinds;
    }
};

constexpr std::string_view follow = "follow";

/// Collective. Runs a kernel as it is, with rank 0's text for LAPWING_ADVICE, if it has any.
void run_followed(Context& context, AdvisedKernel& kernel, const std::string& advice) {
    int any = advice.empty() ? 0 : 1;
    MPI_Bcast(&any, 1, MPI_INT, 0, context.world());
    if (any == 0) return;
    const std::string file = trace_file(context) + ".advice";
    if (context.rank() == 0) std::ofstream{file} << advice;
    {
        Runtime runtime{context.world(), Settings{{"LAPWING_ADVICE", file}}};
        kernel.changes[std::string{follow}].seconds.push_back(naive::seconds_of(kernel.of, runtime, follow));
        runtime.close();
    }
    if (context.rank() == 0) std::remove(file.c_str());
}

/// Collective. One turn of all kernels. Nothing else is open while a kernel is recorded.
void take_turn(Context& context, std::vector<AdvisedKernel>& kernels, bool hasty) {
    CostTables costs;
    {
        Runtime runtime{context.world(), Settings{}};
        const Route route = context.measure_against(runtime);
        costs = measured_costs(runtime, route, hasty ? 1 : 5);
        for (AdvisedKernel& kernel : kernels) kernel.run(runtime);
        runtime.close();
    }
    for (AdvisedKernel& kernel : kernels) {
        const std::optional<RecordedTrace> trace = recorded(context, kernel.of, "naive");
        std::string followed;
        if (trace) {
            const Advice advice = advise(*trace, &costs);
            kernel.add(advice);
            if (std::ranges::find(advice.changes, follow, &AdvisedChange::kind) != advice.changes.end())
                followed = to_text(advice_file(*trace, advice), "a trace");
        }
        run_followed(context, kernel, followed);
    }
}

/// On rank 0.
void report(Context& context, const AdvisedKernel& kernel) {
    const std::vector<std::string> advised = kernel.advised();
    const double now = median(kernel.naive_seconds);
    for (const auto& [kind, change] : kernel.changes) {
        const auto found = std::ranges::find(advised, kind);
        const bool is_advised = found != advised.end();
        const std::string name =
            fmt::format("{}, advice {}: {}", kernel.of.name,
                        is_advised ? std::to_string(found - advised.begin() + 1) : std::string{"-"}, kind);
        if (change.seconds.empty()) {
            if (is_advised) context.skip(name, "this kernel has no such variant");
            continue;
        }
        const auto [low, high] = std::ranges::minmax(change.seconds);
        const double then = median(change.seconds);
        Row row{.case_name = name,
                .metric = "time",
                .value = 1e3 * then,
                .unit = "ms",
                .baseline = "naive",
                .baseline_value = 1e3 * now,
                .ratio = now / then,
                .min = 1e3 * low,
                .max = 1e3 * high,
                .repetitions = static_cast<int>(change.seconds.size())};
        if (is_advised) row.predicted_gain = 1e3 * median(change.gains);
        context.add(std::move(row));
    }
}

void model_advice(Context& context) {
    const bool hasty = context.options().seconds < 0.05; // only to be seen that it runs
    naive::sizes = hasty ? naive::small : naive::Sizes{};
    const int turns = context.options().repetitions > 0 ? context.options().repetitions : hasty ? 1 : 9;
    std::vector<AdvisedKernel> kernels;
    for (const naive::Kernel& kernel : naive::kernels(context.size())) kernels.push_back({.of = kernel});
    for (int turn = 0; turn < turns; ++turn) take_turn(context, kernels, hasty);
    if (context.rank() != 0) return;
    for (const AdvisedKernel& kernel : kernels) report(context, kernel);
}

const Registration advised{
    {.name = "model/advice",
     .summary = "naive kernels with every change that lapwing-advise advises: gains predicted and measured",
     .run = model_advice,
     .default_repetitions = 9,
     .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
