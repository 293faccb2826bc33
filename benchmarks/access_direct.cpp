// access/direct: a node neighbour's elements, beside raw loads from the same shared memory.
#include "element_reads.hpp"
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

namespace lapwing::bench {
namespace {

template <class T>
void neighbour_elements(Context& context, Runtime& runtime, Rank neighbour, const char* type) {
    const std::int64_t ranks = runtime.size();
    for (const Working& working : working_sets) {
        {
            GlobalArray<T, 1> a{runtime, {working.elements * ranks}, Block{}};
            const Domain<1> theirs = a.local_domain(neighbour);
            const auto memory = a.window().reachable(neighbour);
            compare_reads<T, 1>(context, runtime, a, theirs, reinterpret_cast<const T*>(memory.data()),
                                fmt::format("a(i), {}, {}", type, working.name), "raw load");
        }
        {
            constexpr std::int64_t columns = 64;
            GlobalArray<T, 2> a{runtime, {working.elements / columns * ranks, columns}, Block{.grid = {0, 1}}};
            const Domain<2> theirs = a.local_domain(neighbour);
            const auto memory = a.window().reachable(neighbour);
            compare_reads<T, 2>(context, runtime, a, theirs, reinterpret_cast<const T*>(memory.data()),
                                fmt::format("a(i, j), {}, {}", type, working.name), "raw load");
        }
    }
}

void access_direct(Context& context) {
    Runtime runtime;
    if (const auto route = context.measure_against(runtime, Path::direct)) {
        neighbour_elements<double>(context, runtime, route->target, "double");
        neighbour_elements<std::int64_t>(context, runtime, route->target, "integer");
    } else {
        context.skip("all cases", "rank 0 has no neighbour that it reaches by load and store");
    }
    runtime.close();
}

const Registration registration{{.name = "access/direct",
                                 .summary = "single reads of a node neighbour's elements",
                                 .run = access_direct,
                                 .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
