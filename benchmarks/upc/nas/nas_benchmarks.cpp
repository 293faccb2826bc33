// upc/nas: the NAS Parallel Benchmarks in UPC beside the same algorithms in plain MPI, and as one writes them first,
// with the cache, compared with the optimised ones: the measurements of Zhang, "A Performance Model for Unified
// Parallel C" (2007), section 4.6.2.
#include "harness.hpp"

#include "nas.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using nas::Variant;

/// Seconds of what NPB times. Nothing of Lapwing is open while MPI's variant runs, whose time its progress thread would
/// take.
[[nodiscard]] double seconds_of(Context& context, const nas::Benchmark& benchmark, nas::Class size, Variant variant,
                                CacheMode cache) {
    nas::Result result;
    if (nas::is_mpi(variant)) {
        result = benchmark.run(size, variant);
    } else {
        const nas::HeapNeeds needs = benchmark.heap(size, context.size());
        const upc::Program program{{.cache = {.mode = cache},
                                    .heap_bytes = needs.blocks + nas::heap_slack,
                                    .local_heap_bytes = needs.local + nas::heap_slack}};
        result = benchmark.run(size, variant);
    }
    if (!result.verified)
        throw std::runtime_error{fmt::format("{} of class {}, {}: {}", benchmark.name, nas::letter(size),
                                             nas::name(variant), result.detail)};
    return result.seconds;
}

/// A subject for each of a benchmark's variants.
class Subjects {
public:
    Subjects(Context& context, const nas::Benchmark& benchmark) : context_{context}, benchmark_{benchmark} {}
    [[nodiscard]] static nas::Class size(const Context& context) {
        return context.options().full ? nas::Class::A : nas::Class::W;
    }

    [[nodiscard]] Subject operator()(std::string name, Variant variant, CacheMode cache = CacheMode::off) const {
        return {.name = std::move(name),
                .run =
                    [&context = context_, &benchmark = benchmark_, variant, cache](std::uint64_t iterations) {
                        double seconds = 0;
                        for (std::uint64_t n = 0; n < iterations; ++n)
                            seconds += seconds_of(context, benchmark, size(context), variant, cache);
                        return seconds;
                    },
                .iterations = 1};
    }
    /// Of FT the one that overlaps, too, as UPC's does: whichever is faster is the one to beat.
    [[nodiscard]] std::vector<Subject> mpi() const {
        std::vector<Subject> all{(*this)("MPI", Variant::mpi)};
        if (benchmark_.name == "FT") {
            all.push_back((*this)("MPI, non-blocking", Variant::mpi_overlapped));
            all.back().case_suffix = ", beside non-blocking MPI";
        }
        return all;
    }
    [[nodiscard]] std::string optimised_case() const {
        return fmt::format("{}, optimised, class {}", benchmark_.name, nas::letter(size(context_)));
    }
    [[nodiscard]] std::string naive_case(std::string_view how) const {
        return fmt::format("{}, naive {}, class {}", benchmark_.name, how, nas::letter(size(context_)));
    }
    /// Whether it reads what other threads have.
    [[nodiscard]] bool has_mapped() const { return benchmark_.name != "EP" && benchmark_.name != "IS"; }

private:
    Context& context_;
    const nas::Benchmark& benchmark_;
};

/// Calls measure(subjects) for each benchmark that this number of ranks can do.
template <class Measure>
void for_each_benchmark(Context& context, Measure measure) {
    for (const nas::Benchmark& benchmark : nas::benchmarks()) {
        try {
            measure(Subjects{context, benchmark});
        } catch (const std::invalid_argument& error) { // a number of ranks that the algorithm cannot do
            context.skip(benchmark.name, error.what());
        }
    }
}

void run(Context& context) {
    {
        Runtime runtime;
        context.measure_against(runtime); // for the name of the path
        runtime.close();
    }
    for_each_benchmark(context, [&](const Subjects& subjects) {
        const Subject optimised = subjects("optimised", Variant::optimised);
        context.compare(subjects.optimised_case(), milliseconds(), optimised, subjects.mpi());
        context.compare(subjects.naive_case("with cache"), milliseconds(),
                        subjects("naive with cache", Variant::naive, CacheMode::epoch), {optimised});
        if (subjects.has_mapped())
            context.compare(subjects.naive_case("mapped"), milliseconds(),
                            subjects("naive, mapped", Variant::naive_mapped), {optimised});
    });
}

/// At the thread level of a program that has no other library: the level that Lapwing's progress thread needs makes MPI
/// lock.
void run_plain(Context& context) {
    for_each_benchmark(context, [&](const Subjects& subjects) {
        context.compare(subjects.optimised_case(), milliseconds(), subjects.mpi().back(), {});
    });
}

const Registration registration{
    {.name = "upc/nas",
     .summary = "the NAS Parallel Benchmarks, compared with MPI; class W, with --full class A",
     .run = run,
     .default_repetitions = 5,
     .paths = {"direct", "service"},
     .alone = {{.path = "direct", .bench = "raw/nas", .thread_level = "single"},
               {.path = "service", .bench = "raw/nas", .thread_level = "single"}}}};
const Registration raw_registration{{.name = "raw/nas",
                                     .summary = "the NAS Parallel Benchmarks in plain MPI",
                                     .run = run_plain,
                                     .default_repetitions = 5,
                                     .paths = {}}};

} // namespace
} // namespace lapwing::bench
