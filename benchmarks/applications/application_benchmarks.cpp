// The applications: each way beside plain MPI by hand, and elements with the cache beside elements without. A wrong
// result ends the run.
#include "application.hpp"
#include "harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

using applications::Application;
using applications::ApplicationKind;
using applications::Input;
using applications::Ranks;
using applications::Way;

/// Runs the program, times it, and checks the last result. The barriers around what is measured are those of the
/// library that the way uses.
double seconds_of(Ranks ranks, Application& application, Way way, std::uint64_t iterations, const std::string& title) {
    double seconds = 0;
    for (std::uint64_t k = 0; k < iterations; ++k) {
        application.prepare(way);
        const auto body = [&] { application.run(way); };
        seconds += way == Way::mpi ? together(ranks.world, body) : together(ranks.runtime, body);
    }
    if (const std::string fault = application.fault(way); !fault.empty())
        throw std::runtime_error{fmt::format("{}, {}: {}", title, name(way), fault)};
    return seconds;
}

void compare(Context& context, Ranks ranks, const ApplicationKind& kind, const Input& input) {
    const std::unique_ptr<Application> application = input.make(ranks);
    const auto subject = [&](Way way) {
        return Subject{.name = std::string{name(way)},
                       .run =
                           [&, way](std::uint64_t iterations) {
                               return seconds_of(ranks, *application, way, iterations, kind.name + ": " + input.name);
                           },
                       .iterations = 1}; // one run is long enough
    };
    (void)seconds_of(ranks, *application, Way::mpi, 1, kind.name); // after which it is known how much there is to do
    const Quantity rate{
        .metric = kind.operations, .unit = "M/s", .scale = application->operations() * 1e-6, .rate = true};
    const bool has_elements = std::ranges::find(input.ways, Way::elements) != input.ways.end();
    for (const Way way : input.ways) {
        std::vector<Subject> baselines{subject(Way::mpi)};
        if (way == Way::cached && has_elements) {
            baselines.push_back(subject(Way::elements));
            baselines.back().case_suffix = ", beside no cache";
        }
        context.compare(fmt::format("{}, {}", input.name, name(way)), rate, subject(way), std::move(baselines));
    }
}

void run(Context& context, const ApplicationKind& kind) {
    Runtime runtime;
    context.measure_against(runtime); // for the name of the path
    using applications::Size;
    const bool only_has_to_run = context.options().seconds < 0.05;
    const Size largest = context.options().full ? Size::full : only_has_to_run ? Size::small : Size::measured;
    for (const Input& input : kind.inputs)
        if (input.size <= largest && (input.size != Size::small || largest == Size::small))
            compare(context, {runtime, context.world()}, kind, input);
    runtime.close();
}

std::vector<Registration> registered() {
    std::vector<Registration> registrations;
    for (const ApplicationKind& kind : applications::all_applications())
        registrations.emplace_back(Benchmark{.name = kind.name,
                                             .summary = kind.summary,
                                             .run = [kind](Context& context) { run(context, kind); },
                                             .default_repetitions = 5});
    return registrations;
}
const std::vector<Registration> registrations = registered();

} // namespace
} // namespace lapwing::bench
