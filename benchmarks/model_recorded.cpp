// model/recorded: what the performance model predicts of programs that it was not built on, from their records alone
// (LAPWING_TRACE, lapwing-advise --predict), with the time of the computation on private memory: kernels of the demo
// one element at a time, and with patches, lists and atomics; and the NAS Parallel Benchmarks in UPC, whose computation
// is their run with LAPWING_PRIVATE. Rates and programs are measured in turns. A row's value is the time of the program
// without recording.
#include "harness.hpp"

#include "median.hpp"
#include "model/access_platform.hpp"
#include "model/described_trace.hpp"
#include "model_costs.hpp"
#include "naive_kernels.hpp"
#include "recorded_kernel.hpp"

#include <lapwing/path.hpp>
#include <lapwing/runtime.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace detail::model;

/// A kernel in a form whose accesses are recorded as the program makes them: neither cached nor prefetched.
struct Program {
    naive::Kernel kernel = {};
    std::string_view kind = {};
    std::vector<double> actual = {};
    std::vector<double> predicted = {}; ///< on rank 0
    [[nodiscard]] std::string name() const {
        return kind == "naive" ? kernel.name : fmt::format("{}, {}", kernel.name, kind);
    }
};

[[nodiscard]] std::vector<Program> all_programs(int ranks) {
    std::vector<Program> programs;
    for (const naive::Kernel& kernel : naive::kernels(ranks))
        for (const std::string_view kind : {"naive", "patch", "list", "update"})
            if (kind == "naive" || kernel.kinds.contains(kind)) programs.push_back({.kernel = kernel, .kind = kind});
    return programs;
}

/// Collective. What is predicted of a program: of the accesses with the time of the same computation without them, or
/// of all of the run with one on private memory. On rank 0.
[[nodiscard]] std::optional<double> predicted(Context& context, const Program& program, const AccessPlatform& platform,
                                              double computation) {
    // In a loop, so that both runs have the same places of the program, from the inside out.
    std::vector<bool> on_private_memory{false};
    if (program.kernel.of_nas) on_private_memory.push_back(true);
    std::vector<RecordedTrace> traces;
    for (const bool is_private : on_private_memory)
        if (std::optional<RecordedTrace> trace = recorded(context, program.kernel, program.kind, is_private))
            traces.push_back(std::move(*trace));
    if (traces.empty()) return {};
    if (!program.kernel.of_nas)
        return predict_recorded(traces[0], beside_private_memory(platform)).seconds + computation;
    const ComputationTimes times{traces[1], "the run on private memory"};
    return predict_recorded(traces[0], platform, &times).seconds;
}

/// Collective. One turn of all programs.
void measure(Context& context, std::vector<Program>& programs, bool hasty) {
    CostTables costs;
    Path path = Path::self;
    std::vector<double> computation;
    {
        Runtime runtime{context.world(), Settings{}};
        const Route route = context.measure_against(runtime);
        path = route.path;
        costs = measured_costs(runtime, route, hasty ? 1 : 5);
        for (Program& program : programs) {
            program.actual.push_back(naive::seconds_of(program.kernel, runtime, program.kind));
            computation.push_back(program.kernel.of_nas ? 0 : naive::seconds_of(program.kernel, runtime, "private"));
        }
        runtime.close();
    }
    const AccessPlatform platform = measured_platform(costs, name(path), context.size());
    for (std::size_t k = 0; k < programs.size(); ++k)
        if (const std::optional<double> seconds = predicted(context, programs[k], platform, computation[k]))
            programs[k].predicted.push_back(*seconds);
}

void model_recorded(Context& context) {
    const bool hasty = context.options().seconds < 0.05; // only to be seen that it runs
    naive::sizes = hasty ? naive::small : naive::Sizes{};
    const int turns = context.options().repetitions > 0 ? context.options().repetitions : hasty ? 1 : 9;
    std::vector<Program> programs = all_programs(context.size());
    for (int turn = 0; turn < turns; ++turn) measure(context, programs, hasty);
    if (context.rank() != 0) return;
    for (const Program& program : programs) {
        const auto [low, high] = std::ranges::minmax(program.actual);
        context.add({.case_name = program.name(),
                     .metric = "time",
                     .value = 1e3 * median(program.actual),
                     .unit = "ms",
                     .baseline = "none",
                     .min = 1e3 * low,
                     .max = 1e3 * high,
                     .repetitions = turns,
                     .predicted = 1e3 * median(program.predicted)});
    }
}

const Registration recorded_kernels{
    {.name = "model/recorded",
     .summary = "kernels that the performance model was not built on, as it predicts them from their records",
     .run = model_recorded,
     .default_repetitions = 9,
     .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
