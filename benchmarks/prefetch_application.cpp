#include "prefetch_application.hpp"
#include "prefetch_modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace lapwing::bench {
namespace {

/// Of elements of other ranks, by a loop that waits for each, in a measured stretch of a second, if the network is not
/// slower than that: such a run is to last about ten times as long as a stretch of the others.
constexpr double bearable_reads = 600'000;
constexpr double bearable_seconds = 10;

/// The largest number up to `limit` that divides `number`.
[[nodiscard]] std::int64_t largest_divisor(std::int64_t number, std::int64_t limit) {
    std::int64_t divisor = std::clamp<std::int64_t>(limit, 1, number);
    while (number % divisor != 0) --divisor;
    return divisor;
}

/// What a loop that waits for each element computes of the whole. Collective.
[[nodiscard]] Sample sample_of(const Context& context, Runtime& runtime, Application& application) {
    const Application::Size size = application.size();
    // Elements of the same node are loads: there it computes everything.
    const std::int64_t reads = runtime.nodes() == 1 ? 0 : runtime.max(size.reads);
    if (reads == 0) return {.steps = size.steps};
    const std::int64_t parts = runtime.max(size.parts);
    // Some MPIs take hundreds of microseconds for each.
    const Sample trial{.steps = 1, .stride = largest_divisor(parts, 64)};
    application.start();
    const double trial_seconds = runtime.max(together(runtime, [&] { application.run(trial, {}); }));
    application.check(trial);
    const double a_second = bearable_reads / bearable_seconds;
    const double rate = static_cast<double>(reads) / static_cast<double>(trial.stride) / trial_seconds;
    const auto bearable = std::max<std::int64_t>(
        1, std::llround(bearable_reads * std::min(1.0, rate / a_second) * context.options().seconds));
    return {.steps = largest_divisor(size.steps, bearable / reads), .stride = largest_divisor(parts, reads / bearable)};
}

/// Measures whole runs. A run by `sample` stands for one of all steps and parts.
template <class Run>
[[nodiscard]] Subject subject(const std::string& name, Runtime& runtime, Application& application, const Sample& sample,
                              Run run) {
    const double whole =
        static_cast<double>(application.size().steps * sample.stride) / static_cast<double>(sample.steps);
    return {.name = name, .run = [&runtime, &application, sample, run, whole](std::uint64_t iterations) {
                double seconds = 0;
                for (std::uint64_t k = 0; k < iterations; ++k) {
                    application.start();
                    seconds += together(runtime, run);
                    application.check(sample);
                }
                return whole * seconds;
            }};
}

} // namespace

void compare_variants(Context& context, Runtime& runtime, Application& application) {
    const Application::Size size = application.size();
    const Sample all{.steps = size.steps};
    const Quantity per_step{.metric = "time", .unit = "ms", .scale = 1e3 / static_cast<double>(size.steps)};
    Subject hand = subject("copies by hand", runtime, application, all, [&] { application.run_by_hand(size.steps); });
    // A run of the publication's size is long enough, and a second one to warm up too long.
    if (context.options().full) hand.iterations = 1;

    const Sample part = sample_of(context, runtime, application);
    Subject base = subject("base", runtime, application, part, [&] { application.run(part, {}); });
    base.iterations = 1;
    const std::int64_t share = size.steps / part.steps * part.stride;
    context.compare(size.input + ", base" + (share > 1 ? fmt::format(", sampled 1/{}", share) : ""), per_step, base,
                    {hand});

    const auto prefetched = [&](const char* name, const PrefetchOptions& options) {
        PrefetchCalls calls = application.prefetch_calls(options);
        if (options.consistent) calls.in_loop = [](std::int64_t) {};
        Subject one =
            subject(name, runtime, application, all, [&application, all, calls] { application.run(all, calls); });
        one.iterations = hand.iterations;
        return one;
    };
    const auto compare = [&](const PrefetchOptions& options) {
        context.compare(fmt::format("{}, {}", size.input, text(options)), per_step, prefetched("prefetched", options),
                        {hand});
    };
    const auto compare_mapped = [&](const std::string& suffix) {
        Subject mapped =
            subject("mapped", runtime, application, all,
                    [&application, all, calls = application.mapping_calls()] { application.run(all, calls); });
        mapped.iterations = hand.iterations;
        context.compare(size.input + ", mapped" + suffix, per_step, mapped, {hand});
    };
    compare_mapped("");
    for (const bool static_domain : {false, true})
        for (const bool consistent : {true, false}) compare({.consistent = consistent, .static_domain = static_domain});
    const Subject more[] = {prefetched("a pattern with more", {.consistent = true}),
                            prefetched("a pattern with more", {.consistent = false})};
    if (application.prefetch_exactly()) {
        compare_mapped(", exactly what is read");
        for (const bool consistent : {true, false}) {
            const PrefetchOptions options{.consistent = consistent};
            Subject beside = more[consistent ? 0 : 1];
            beside.case_suffix = ", beside a pattern with more";
            context.compare(fmt::format("{}, {}, exactly what is read", size.input, text(options)), per_step,
                            prefetched("prefetched", options), {hand, std::move(beside)});
        }
    }
    if (!application.make_with_halo()) return;
    for (const bool consistent : {true, false}) compare({.consistent = consistent, .storage = PrefetchStorage::halo});
}

void require_result(bool right, std::string_view application, const std::string& found) {
    if (!right) throw std::runtime_error{fmt::format("{}: wrong result: {}", application, found)};
}

std::int64_t side(const Context& context, int dimensions, std::int64_t usual, std::int64_t published,
                  std::int64_t multiple) {
    const std::int64_t one = context.options().full ? published : usual;
    if (!context.options().weak) return one;
    const double grown = static_cast<double>(one) * std::pow(context.size(), 1.0 / dimensions);
    return multiple * std::llround(grown / static_cast<double>(multiple));
}

} // namespace lapwing::bench
