// access/own: own elements through a(i) and a(i, j), beside a raw pointer.
#include "element_reads.hpp"
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <fmt/format.h>

namespace lapwing::bench {
namespace {

template <class T>
void own_elements(Context& context, Runtime& runtime, const char* type) {
    const std::int64_t ranks = runtime.size();
    for (const Working& working : working_sets) {
        {
            GlobalArray<T, 1> a{runtime, {working.elements * ranks}, Block{}};
            const Domain<1> mine = a.local_domain();
            for (const auto& [i] : mine) a.local(i) = static_cast<T>(i % 7);
            compare_reads<T, 1>(context, runtime, a, mine, &a.local(mine.first()[0]),
                                fmt::format("a(i), {}, {}", type, working.name), "raw pointer");
        }
        {
            constexpr std::int64_t columns = 64;
            GlobalArray<T, 2> a{runtime, {working.elements / columns * ranks, columns}, Block{.grid = {0, 1}}};
            const Domain<2> mine = a.local_domain();
            for (const auto& [i, j] : mine) a.local(i, j) = static_cast<T>((i + j) % 7);
            compare_reads<T, 2>(context, runtime, a, mine, &a.local(mine.first()[0], mine.first()[1]),
                                fmt::format("a(i, j), {}, {}", type, working.name), "raw pointer");
        }
    }
}

void access_own(Context& context) {
    Runtime runtime;
    context.set_path("self");
    own_elements<double>(context, runtime, "double");
    own_elements<std::int64_t>(context, runtime, "integer");
    runtime.close();
}

const Registration registration{{.name = "access/own",
                                 .summary = "single reads of own elements through a(i) and a(i, j)",
                                 .run = access_own,
                                 .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
