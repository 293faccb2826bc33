// access/direct: a node neighbour's elements, compared with raw loads from the same shared memory. access/adopted: the
// same memory as a window of the program's that Lapwing has adopted, compared with one of Lapwing's own.
#include "element_reads.hpp"
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

const double* memory_of(const Window& window, Rank rank) {
    return reinterpret_cast<const double*>(window.reachable(rank).data());
}

void access_direct(Context& context) {
    Runtime runtime;
    const auto neighbour = direct_neighbour(context, runtime);
    if (!neighbour) return;
    for (const Working& working : working_sets) {
        GlobalArray<double, 1> a{runtime, {working.elements * runtime.size()}, Block{}};
        compare_reads(context, runtime, a, a.local_domain(*neighbour), memory_of(a.window(), *neighbour), working.name,
                      "raw load");
        GlobalArray<double, 2> b{
            runtime, {working.elements / columns * runtime.size(), columns}, Block{.grid = {0, 1}}};
        compare_reads(context, runtime, b, b.local_domain(*neighbour), memory_of(b.window(), *neighbour), working.name,
                      "raw load");
        a.close();
        b.close();
    }
    runtime.close();
}

void access_adopted(Context& context) {
    Runtime runtime;
    const auto neighbour = direct_neighbour(context, runtime);
    if (!neighbour) return;
    for (const Working& working : working_sets) {
        const auto bytes = static_cast<std::uint64_t>(working.elements) * sizeof(double);
        Window own{runtime, bytes};
        const auto compare = [&](MPI_Win host, const char* maker) {
            Window adopted = Window::adopt(runtime, host);
            const auto through = [to = *neighbour](Window& window) {
                return [&window, to](std::int64_t i) { return window.get<double>(to, Offset::of<double>(i)); };
            };
            const StoredIndices<1> indices{Domain<1>{{0, working.elements}}};
            context.compare(std::string{maker} + ", get of 8 bytes, " + working.name, nanoseconds(),
                            reads("adopted", runtime, indices, through(adopted)),
                            {reads("own window", runtime, indices, through(own))});
            adopted.close();
            MPI_Win_free(&host);
        };
        MPI_Win host = MPI_WIN_NULL;
        void* memory = nullptr;
        MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &host);
        compare(host, "MPI_Win_allocate");
        // MPI's own way, since the address at which the program's memory is mapped is unknown.
        std::vector<double> programs(static_cast<std::size_t>(working.elements));
        MPI_Win_create(programs.data(), static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &host);
        compare(host, "MPI_Win_create");
        own.close();
    }
    runtime.close();
}

const Registration adopted_registration{{.name = "access/adopted",
                                         .summary = "single reads of a neighbour's part of an adopted window",
                                         .run = access_adopted,
                                         .paths = {"direct"}}};
const Registration registration{{.name = "access/direct",
                                 .summary = "single reads of a node neighbour's elements",
                                 .run = access_direct,
                                 .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
