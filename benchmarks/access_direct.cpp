// access/direct: a node neighbour's elements, beside raw loads from the same shared memory.
#include "element_reads.hpp"
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

namespace lapwing::bench {
namespace {

const double* memory_of(const Window& window, Rank rank) {
    return reinterpret_cast<const double*>(window.reachable(rank).data());
}

void access_direct(Context& context) {
    Runtime runtime;
    const auto route = context.measure_against(runtime, Path::direct);
    if (!route) {
        context.skip("all cases", "rank 0 has no neighbour that it reaches by load and store");
        return;
    }
    const Rank neighbour = route->target;
    for (const Working& working : working_sets) {
        GlobalArray<double, 1> a{runtime, {working.elements * runtime.size()}, Block{}};
        compare_reads(context, runtime, a, a.local_domain(neighbour), memory_of(a.window(), neighbour), working.name,
                      "raw load");
        GlobalArray<double, 2> b{
            runtime, {working.elements / columns * runtime.size(), columns}, Block{.grid = {0, 1}}};
        compare_reads(context, runtime, b, b.local_domain(neighbour), memory_of(b.window(), neighbour), working.name,
                      "raw load");
        a.close();
        b.close();
    }
    runtime.close();
}

const Registration registration{{.name = "access/direct",
                                 .summary = "single reads of a node neighbour's elements",
                                 .run = access_direct,
                                 .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
