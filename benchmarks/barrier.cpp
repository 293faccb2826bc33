// barrier: compared with MPI_Barrier.
#include "harness.hpp"

#include <lapwing/runtime.hpp>

namespace lapwing::bench {
namespace {

void barrier(Context& context) {
    Runtime runtime;
    (void)context.measure_against(runtime);
    MPI_Comm world = context.world();
    const auto repeat = [](auto& ranks) {
        return [&ranks](std::uint64_t iterations) {
            return together(ranks, [&] {
                for (std::uint64_t i = 0; i < iterations; ++i) wait_for_all(ranks);
            });
        };
    };
    context.compare("one after another", microseconds(),
                    {.name = "lapwing", .run = repeat(static_cast<Team&>(runtime))},
                    {{.name = "MPI_Barrier", .run = repeat(world)}});
    runtime.close();
}

const Registration registration{{.name = "barrier", .summary = "barrier of all ranks", .run = barrier}};

} // namespace
} // namespace lapwing::bench
