// progress/overhead: what an idle runtime costs a computation.
#include "computation.hpp"
#include "harness.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

namespace lapwing::bench {
namespace {

struct Computation {
    const char* name;
    void (*block)(std::vector<double>&);
    std::size_t values; ///< per rank
};

/// Seconds that the slowest rank needs for `blocks` blocks, all ranks computing at a time.
double slowest(MPI_Comm world, const Computation& computation, std::vector<double>& values, std::uint64_t blocks) {
    computation.block(values);
    MPI_Barrier(world);
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < blocks; ++i) computation.block(values);
    double seconds = watch.seconds();
    keep(values.front());
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, world);
    return seconds;
}

void overhead(Context& context) {
    // Larger than the second-level cache, so that the triad is slowed by anything else that uses the memory system.
    constexpr std::size_t memory_values = 3 * 1024 * 1024;
    for (const Computation& computation : {Computation{"arithmetic", arithmetic_block, 4096},
                                           Computation{"memory triad", memory_block, memory_values}}) {
        std::vector<double> values(computation.values, 1.0);
        MPI_Comm world = context.world();

        std::uint64_t blocks = 8;
        while (slowest(world, computation, values, blocks) < 0.25) blocks *= 2;
        blocks *= 2; // half a second or more: the noise of this measurement has to stay well below 2 %

        const Subject with{.name = "lapwing",
                           .run =
                               [&](std::uint64_t) {
                                   Runtime runtime;
                                   (void)context.measure_against(runtime); // names the path
                                   Window window{runtime, 4096};
                                   runtime.barrier();
                                   const double seconds = slowest(world, computation, values, blocks);
                                   window.close();
                                   runtime.close();
                                   return seconds;
                               },
                           .iterations = 1};
        const Subject without{.name = "no runtime",
                              .run = [&](std::uint64_t) { return slowest(world, computation, values, blocks); },
                              .iterations = 1};
        context.compare(computation.name, milliseconds(), with, {without});
    }
}

const Registration registration{{.name = "progress/overhead",
                                 .summary = "computation of all ranks beside an idle progress thread each",
                                 .run = overhead,
                                 .default_repetitions = 15}};

} // namespace
} // namespace lapwing::bench
