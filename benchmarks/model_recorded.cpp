// model/recorded: what the performance model predicts of programs that it was not built on, from their records alone
// (LAPWING_TRACE, lapwing-advise --predict), with the time of the computation on private memory: kernels of the demo
// one element at a time, and with patches, lists and atomics. Rates and programs are measured in turns. A row's value
// is the time of the program without recording.
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
#include <vector>

namespace lapwing::bench {
namespace {

using namespace detail::model;

/// A kernel in a form whose accesses are recorded as the program makes them: neither cached nor prefetched.
struct Program {
    const naive::Kernel* kernel = nullptr;
    std::string_view kind = {};
    std::vector<double> actual = {};
    std::vector<double> computation = {};
    std::vector<double> accesses = {}; ///< predicted; on rank 0
    [[nodiscard]] std::string name() const {
        return kind == "naive" ? kernel->name : fmt::format("{}, {}", kernel->name, kind);
    }
};

[[nodiscard]] std::vector<Program> all_programs() {
    std::vector<Program> programs;
    for (const naive::Kernel& kernel : naive::kernels())
        for (const std::string_view kind : {"naive", "patch", "list", "update"})
            if (kind == "naive" || kernel.kinds.contains(kind)) programs.push_back({.kernel = &kernel, .kind = kind});
    return programs;
}

/// Collective. One turn of all programs.
void measure(Context& context, std::vector<Program>& programs, bool hasty) {
    CostTables costs;
    Path path = Path::self;
    {
        Runtime runtime{context.world(), Settings{}};
        const Route route = context.measure_against(runtime);
        path = route.path;
        costs = measured_costs(runtime, route, hasty ? 1 : 5);
        for (Program& program : programs) {
            program.actual.push_back(naive::seconds_of(*program.kernel, runtime, program.kind));
            program.computation.push_back(naive::seconds_of(*program.kernel, runtime, "private"));
        }
        runtime.close();
    }
    for (Program& program : programs)
        if (const std::optional<RecordedTrace> trace = recorded(context, *program.kernel, program.kind))
            program.accesses.push_back(
                predict_recorded(*trace, measured_platform(costs, name(path), context.size())).seconds);
}

void model_recorded(Context& context) {
    const bool hasty = context.options().seconds < 0.05; // only to be seen that it runs
    naive::sizes = hasty ? naive::small : naive::Sizes{};
    const int turns = context.options().repetitions > 0 ? context.options().repetitions : hasty ? 1 : 9;
    std::vector<Program> programs = all_programs();
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
                     .predicted = 1e3 * (median(program.accesses) + median(program.computation))});
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
