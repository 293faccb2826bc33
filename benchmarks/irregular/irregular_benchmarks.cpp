// The irregular kernels: each way beside plain MPI by hand. A wrong result ends the run.
#include "harness.hpp"
#include "kernel.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using irregular::Input;
using irregular::KernelKind;
using irregular::Ranks;
using irregular::Way;

void check(const KernelKind& kind, const Input& input, irregular::Kernel& kernel, Way way) {
    if (const std::string fault = kernel.fault(way); !fault.empty())
        throw std::runtime_error{fmt::format("{}: {}, {}: {}", kind.name, input.name, name(way), fault)};
}

/// The barriers around what is measured are those of the library that the way uses.
double seconds_of(Ranks ranks, irregular::Kernel& kernel, Way way) {
    kernel.prepare(way);
    if (way == Way::mpi) return together(ranks.world, [&] { kernel.run(way); });
    return together(ranks.runtime, [&] { kernel.run(way); });
}

void compare(Context& context, Ranks ranks, const KernelKind& kind, const Input& input) {
    const std::unique_ptr<irregular::Kernel> kernel = input.make(ranks);
    const auto subject = [&](Way way) {
        (void)seconds_of(ranks, *kernel, way);
        check(kind, input, *kernel, way);
        return Subject{.name = std::string{name(way)}, .run = [&, way](std::uint64_t iterations) {
                           double seconds = 0;
                           for (std::uint64_t k = 0; k < iterations; ++k) seconds += seconds_of(ranks, *kernel, way);
                           return seconds;
                       }};
    };
    const Subject by_hand = subject(Way::mpi);
    for (const Way way : input.ways) {
        const Subject value = subject(way);
        const Quantity rate{
            .metric = kind.operations, .unit = "M/s", .scale = kernel->operations() * 1e-6, .rate = true};
        const std::string suffix = way == input.ways.front() ? "" : fmt::format(", {}", name(way));
        context.compare(input.name + suffix, input.shows_time ? milliseconds() : rate, value, {by_hand});
        check(kind, input, *kernel, way);
        check(kind, input, *kernel, Way::mpi);
    }
}

void run(Context& context, const KernelKind& kind) {
    Runtime runtime;
    context.measure_against(runtime); // for the name of the path
    const bool only_has_to_run = context.options().seconds < 0.05;
    for (const Input& input : kind.inputs)
        if (input.small || !only_has_to_run) compare(context, {runtime, context.world()}, kind, input);
    runtime.close();
}

std::vector<Registration> registered() {
    std::vector<Registration> registrations;
    for (const KernelKind& kind : irregular::all_kernels())
        registrations.emplace_back(Benchmark{.name = kind.name,
                                             .summary = kind.summary,
                                             .run = [kind](Context& context) { run(context, kind); },
                                             .default_repetitions = 5});
    return registrations;
}
const std::vector<Registration> registrations = registered();

} // namespace
} // namespace lapwing::bench
