// The descriptions of the thesis's programs that benchmarks predict: what they say is what the programs do, as
// LAPWING_TRACE records it.
#include "benchmarks/model_kernels.hpp"
#include "model/described_trace.hpp"
#include "model/recorded_trace.hpp"
#include "model/reference_partition.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "support/run_number.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

using namespace lapwing;
using namespace lapwing::detail::model;
namespace thesis = lapwing::bench::thesis;

namespace {

struct Table {
    Table(Team& team, const char* name, thesis::Index elements, thesis::Index block)
        : array{team, {elements}, BlockCyclic{{block}}, {.name = name}} {}
    [[nodiscard]] double read(thesis::Index i) const { return array(i); }
    void write(thesis::Index i, double value) { array(i) = value; }
    GlobalArray<double, 1> array;
};

/// What a rank does with an object: by name, and whether it writes.
using Amounts = std::map<std::pair<std::string, bool>, Partition::Accesses>;

RecordedTrace trace_of(const thesis::Kernel& kernel) {
    const std::string file = "lapwing-described-" + std::to_string(test::run_number());
    {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_TRACE", file}}};
        {
            Table a{runtime, "a", kernel.elements, kernel.block};
            Table b{runtime, "b", kernel.elements, kernel.block_of_b};
            Table c{runtime, "c", kernel.elements, kernel.block};
            thesis::run_kernel(kernel, a, b, c, runtime.rank().value, runtime.size());
            runtime.barrier();
        }
        runtime.close();
    }
    if (test::world_rank() != 0) return {};
    std::ifstream in{file, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    std::remove(file.c_str());
    return parse_trace(text, file);
}

Amounts recorded(const RecordedTrace& trace, int rank) {
    Amounts amounts;
    const RecordedTrace::OfRank& of = trace.of_ranks[static_cast<std::size_t>(rank)];
    for (const RecordedTrace::OfRecord& found : of.records) {
        const detail::trace::Record& record = found.record;
        REQUIRE(record.object != 0);
        const bool write = record.operation == detail::trace::Operation::write;
        Partition::Accesses& sum = amounts[{of.objects[record.object - 1].name, write}];
        const bool own = record.affinity == detail::trace::Affinity::own;
        (own     ? write ? sum.local_writes : sum.local_reads
         : write ? sum.remote_writes
                 : sum.remote_reads) += record.accesses;
    }
    return amounts;
}

Amounts described(const ProgramDescription& program, int rank) {
    Amounts amounts;
    for (const DescribedInterval& interval : program.intervals)
        for (const Partition& partition : partition_references(program, interval, {})) {
            const Partition::Accesses of = partition.accesses(program, interval, rank);
            Partition::Accesses& reads = amounts[{partition.object, false}];
            reads.local_reads += of.local_reads;
            reads.remote_reads += of.remote_reads;
            Partition::Accesses& writes = amounts[{partition.object, true}];
            writes.local_writes += of.local_writes;
            writes.remote_writes += of.remote_writes;
        }
    std::erase_if(amounts, [](const auto& of) { return of.second.local() + of.second.remote() == 0; });
    return amounts;
}

/// Of the rows that a rank has: those of an image's edge have no neighbours.
double rows_share(const thesis::Kernel& kernel, int rank, int ranks) {
    if (kernel.program != thesis::Kernel::Program::sobel) return 1;
    const double rows = static_cast<double>(kernel.size) / ranks;
    return (rows - (rank == 0 ? 1 : 0) - (rank == ranks - 1 ? 1 : 0)) / rows;
}

void compare(const thesis::Kernel& kernel, const RecordedTrace& trace) {
    // Random places are shared out only about evenly.
    const double margin = kernel.program == thesis::Kernel::Program::histogram ? 0.15 : 0;
    for (int rank = 0; rank < trace.ranks; ++rank) {
        CAPTURE(kernel.name, rank, trace.ranks);
        const Amounts says = described(kernel.description, rank);
        const Amounts does = recorded(trace, rank);
        REQUIRE(says.size() == does.size());
        // The model finds the same in the record, without the description.
        const Amounts found = described(described_trace(trace, rank), rank);
        for (const auto& [what, of] : does) {
            const auto same = std::ranges::find_if(found, [&what = what](const auto& one) {
                return one.first.first.starts_with(what.first + '#') && one.first.second == what.second;
            });
            REQUIRE(same != found.end());
            CHECK(same->second.remote() == of.remote());
            CHECK(same->second.local() == of.local());
        }
        for (const auto& [what, of] : does) {
            CAPTURE(what.first, what.second);
            REQUIRE(says.contains(what));
            const Partition::Accesses& said = says.at(what);
            CHECK(static_cast<double>(of.remote()) ==
                  Approx(static_cast<double>(said.remote())).epsilon(margin).margin(1e-9));
            CHECK(static_cast<double>(of.local() + of.remote()) ==
                  Approx(static_cast<double>(said.local() + said.remote()) * rows_share(kernel, rank, trace.ranks)));
        }
    }
}

} // namespace

TEST_CASE("the thesis's programs access what their descriptions say") {
    const thesis::Sizes sizes{
        .histogram = 1 << 12, .increments = 1000, .matrix = 24, .image = 24, .percentages = {100}};
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (const thesis::Kernel& kernel : thesis::kernels(sizes, ranks)) {
        const RecordedTrace trace = trace_of(kernel);
        if (test::world_rank() == 0) compare(kernel, trace);
        test::world_barrier();
    }
}
