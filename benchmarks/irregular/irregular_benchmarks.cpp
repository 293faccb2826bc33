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

/// Runs the kernel, times it, and checks the last result. The barriers around what is measured are those of the library
/// that the way uses.
double seconds_of(Ranks ranks, irregular::Kernel& kernel, Way way, std::uint64_t iterations, const std::string& title) {
    double seconds = 0;
    for (std::uint64_t k = 0; k < iterations; ++k) {
        kernel.prepare(way);
        const auto body = [&] { kernel.run(way); };
        seconds += way == Way::mpi ? together(ranks.world, body) : together(ranks.runtime, body);
    }
    if (const std::string fault = kernel.fault(way); !fault.empty())
        throw std::runtime_error{fmt::format("{}, {}: {}", title, name(way), fault)};
    return seconds;
}

void compare(Context& context, Ranks ranks, const KernelKind& kind, const Input& input) {
    const std::unique_ptr<irregular::Kernel> kernel = input.make(ranks);
    const auto subject = [&](Way way) {
        return Subject{.name = std::string{name(way)}, .run = [&, way](std::uint64_t iterations) {
                           return seconds_of(ranks, *kernel, way, iterations, kind.name + ": " + input.name);
                       }};
    };
    const Subject by_hand = subject(Way::mpi);
    (void)by_hand.run(1); // after which it is known how much there is to do
    const Quantity rate{.metric = kind.operations, .unit = "M/s", .scale = kernel->operations() * 1e-6, .rate = true};
    for (const Way way : input.ways) {
        const std::string suffix = way == input.ways.front() ? "" : fmt::format(", {}", name(way));
        context.compare(input.name + suffix, input.shows_time ? milliseconds() : rate, subject(way), {by_hand});
    }
}

void run(Context& context, const KernelKind& kind) {
    Runtime runtime;
    context.measure_against(runtime); // for the name of the path
    using irregular::Size;
    const bool only_has_to_run = context.options().seconds < 0.05;
    const Size largest = context.options().full ? Size::full : only_has_to_run ? Size::small : Size::measured;
    for (const Input& input : kind.inputs)
        if (input.size <= largest) compare(context, {runtime, context.world()}, kind, input);
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
