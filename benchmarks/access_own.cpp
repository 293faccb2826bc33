// access/own: own elements through a(i) and a(i, j), compared with a raw pointer.
#include "element_reads.hpp"
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

namespace lapwing::bench {
namespace {

void access_own(Context& context) {
    Runtime runtime;
    context.set_path("self");
    for (const Working& working : working_sets) {
        GlobalArray<double, 1> a{runtime, {working.elements * runtime.size()}, Block{}};
        const Domain<1> mine = a.local_domain();
        compare_reads(context, runtime, a, mine, &a.local(mine.first()), working.name, "raw pointer");
        GlobalArray<double, 2> b{
            runtime, {working.elements / columns * runtime.size(), columns}, Block{.grid = {0, 1}}};
        const Domain<2> rows = b.local_domain();
        compare_reads(context, runtime, b, rows, &b.local(rows.first()), working.name, "raw pointer");
        a.close();
        b.close();
    }
    runtime.close();
}

const Registration registration{{.name = "access/own",
                                 .summary = "single reads of own elements through a(i) and a(i, j)",
                                 .run = access_own,
                                 .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
