// upc/nas: the NAS Parallel Benchmarks in UPC beside the same algorithms in plain MPI, and as one writes them first, with the cache, beside the
// optimised ones: the measurements of Zhang, "A Performance Model for Unified Parallel C" (2007), section 4.6.2.
#include "harness.hpp"

#include "nas.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace lapwing::bench {
namespace {

using nas::Variant;

/// Seconds of what NPB times. Nothing of Lapwing is open while MPI's variant runs, whose time its progress thread would take.
[[nodiscard]] double seconds_of(Context& context, const nas::Benchmark& benchmark, nas::Class size, Variant variant, CacheMode cache) {
    nas::Result result;
    if (variant == Variant::mpi) {
        result = benchmark.run(size, variant);
    } else {
        const nas::HeapNeeds needs = benchmark.heap(size, context.size());
        const upc::Program program{{.cache = {.mode = cache}, .heap_bytes = needs.blocks + nas::heap_slack, .local_heap_bytes = needs.local + nas::heap_slack}};
        result = benchmark.run(size, variant);
    }
    if (!result.verified)
        throw std::runtime_error{fmt::format("{} of class {}, {}: {}", benchmark.name, nas::letter(size), nas::name(variant), result.detail)};
    return result.seconds;
}

void run(Context& context) {
    {
        Runtime runtime;
        context.measure_against(runtime); // for the name of the path
        runtime.close();
    }
    const nas::Class size = context.options().full ? nas::Class::A : nas::Class::W;
    for (const nas::Benchmark& benchmark : nas::benchmarks()) {
        const auto subject = [&](std::string name, Variant variant, CacheMode cache) -> Subject {
            return {.name = std::move(name),
                    .run =
                        [&context, &benchmark, size, variant, cache](std::uint64_t iterations) {
                            double seconds = 0;
                            for (std::uint64_t n = 0; n < iterations; ++n) seconds += seconds_of(context, benchmark, size, variant, cache);
                            return seconds;
                        },
                    .iterations = 1};
        };
        const Subject optimised = subject("optimised", Variant::optimised, CacheMode::off);
        const std::string of_class = fmt::format("class {}", nas::letter(size));
        try {
            context.compare(fmt::format("{}, optimised, {}", benchmark.name, of_class), milliseconds(), optimised,
                            {subject("MPI", Variant::mpi, CacheMode::off)});
            context.compare(fmt::format("{}, naive with cache, {}", benchmark.name, of_class), milliseconds(),
                            subject("naive with cache", Variant::naive, CacheMode::epoch), {optimised});
        } catch (const std::invalid_argument& error) { // a number of ranks that the algorithm cannot do
            context.skip(benchmark.name, error.what());
        }
    }
}

const Registration registration{{.name = "upc/nas",
                                 .summary = "the NAS Parallel Benchmarks, beside MPI; class W, with --full class A",
                                 .run = run,
                                 .default_repetitions = 5,
                                 .paths = {"direct", "service"}}};

} // namespace
} // namespace lapwing::bench
