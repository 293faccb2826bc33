// assign/…: assignments between distributions, compared with MPI_Alltoallw with derived datatypes, a contiguous
// transfer of the same bytes, and a loop over the elements; beside other libraries: assign_libraries.cpp. The running
// example is that of Sanz et al., "Global data re-allocation via communication aggregation in Chapel" (2012).
#include "rounds.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t blocks_sizes[] = {1, 2, 4, 8, 64};

/// Rows of `columns` elements, a part of the rows a rank, to block-cyclic columns, and back. All sizes are powers of
/// two times the number of ranks, so that vectors describe them.
struct Dealt {
    std::int64_t rows = 1; ///< 1: of one dimension
    std::int64_t columns = 0;
    std::int64_t block = 1;
};

/// What a program does by hand: one collective call, with a datatype for each pair of ranks.
class Exchange {
public:
    Exchange(MPI_Comm world, const Dealt& shape) : world_{world} {
        MPI_Comm_size(world, &ranks_);
        const std::int64_t ranks = ranks_;
        // Here: of one dimension the local columns, else the local rows. There: the columns of a rank.
        const std::int64_t own_rows = shape.rows == 1 ? 1 : shape.rows / ranks;
        const std::int64_t own_columns = shape.rows == 1 ? shape.columns / ranks : shape.columns;
        const std::int64_t pieces = own_columns / (shape.block * ranks);
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            MPI_Datatype row = MPI_DATATYPE_NULL;
            MPI_Datatype part = MPI_DATATYPE_NULL;
            MPI_Type_vector(static_cast<int>(pieces), static_cast<int>(shape.block),
                            static_cast<int>(shape.block * ranks), MPI_DOUBLE, &row);
            MPI_Type_create_hvector(static_cast<int>(own_rows), 1, own_columns * 8, row, &part);
            MPI_Type_commit(&part);
            MPI_Type_free(&row);
            blocks_.push_back(part);
            block_displacements_.push_back(static_cast<int>(rank * shape.block * 8));
            const std::int64_t packed = own_rows * pieces * shape.block;
            MPI_Datatype one = MPI_DATATYPE_NULL;
            MPI_Type_contiguous(static_cast<int>(packed), MPI_DOUBLE, &one);
            MPI_Type_commit(&one);
            dealt_.push_back(one);
            dealt_displacements_.push_back(static_cast<int>(rank * packed * 8));
        }
        counts_.assign(static_cast<std::size_t>(ranks), 1);
        const auto elements = static_cast<std::size_t>(own_rows * own_columns);
        block_memory_.assign(elements, 1.0);
        dealt_memory_.assign(elements, 2.0);
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    ~Exchange() {
        for (auto* types : {&blocks_, &dealt_})
            for (MPI_Datatype& type : *types) MPI_Type_free(&type);
    }

    void deal() {
        MPI_Alltoallw(block_memory_.data(), counts_.data(), block_displacements_.data(), blocks_.data(),
                      dealt_memory_.data(), counts_.data(), dealt_displacements_.data(), dealt_.data(), world_);
    }
    void collect() {
        MPI_Alltoallw(dealt_memory_.data(), counts_.data(), dealt_displacements_.data(), dealt_.data(),
                      block_memory_.data(), counts_.data(), block_displacements_.data(), blocks_.data(), world_);
    }

private:
    MPI_Comm world_;
    int ranks_ = 0;
    std::vector<MPI_Datatype> blocks_;
    std::vector<MPI_Datatype> dealt_;
    std::vector<int> block_displacements_;
    std::vector<int> dealt_displacements_;
    std::vector<int> counts_;
    std::vector<double> block_memory_;
    std::vector<double> dealt_memory_;
};

template <std::size_t N>
void measure_pair(Context& context, Runtime& runtime, const std::string& name, GlobalArray<double, N>& target,
                  GlobalArray<double, N>& source, std::function<void()> by_hand) {
    Assignment assignment;
    assignment.add(target.slice(), std::as_const(source).slice());
    context.compare(name, milliseconds(), rounds_of(runtime, "assignment", [&] { assignment.execute(); }),
                    {rounds_of(runtime, "MPI_Alltoallw", std::move(by_hand))});
}

/// `deal`: from blocks to block-cyclic ones; else back.
void block_cyclic(Context& context, bool deal) {
    Runtime runtime;
    context.measure_against(runtime);
    const int ranks = runtime.size();
    for (const bool matrix : {false, true})
        for (const std::int64_t block : blocks_sizes) {
            if (matrix && (block == 2 || block == 4)) continue;
            const Dealt shape{
                .rows = matrix ? 4096 : 1, .columns = matrix ? 4096 : std::int64_t{1} << 20, .block = block};
            const std::string name =
                (matrix ? "4096 x 4096" : "2^20") + std::string{" doubles, blocks of "} + std::to_string(block);
            if ((matrix ? shape.rows : shape.columns) % ranks != 0 || shape.columns % (ranks * ranks * block) != 0) {
                context.skip(name, "the ranks do not divide it");
                continue;
            }
            Exchange exchange{context.world(), shape};
            const auto by_hand = [&] { deal ? exchange.deal() : exchange.collect(); };
            const auto run = [&]<std::size_t N>(GlobalArray<double, N> blocks, GlobalArray<double, N> dealt) {
                blocks.fill(1);
                dealt.fill(2);
                if (deal) measure_pair(context, runtime, name, dealt, blocks, by_hand);
                else measure_pair(context, runtime, name, blocks, dealt, by_hand);
                blocks.close();
                dealt.close();
            };
            if (matrix)
                run(GlobalArray<double, 2>{runtime, {shape.rows, shape.columns}, Block{.grid = {0, 1}}},
                    GlobalArray<double, 2>{
                        runtime, {shape.rows, shape.columns}, BlockCyclic{.block = {block, block}, .grid = {1, 0}}});
            else
                run(GlobalArray<double, 1>{runtime, {shape.columns}, Block{}},
                    GlobalArray<double, 1>{runtime, {shape.columns}, BlockCyclic{.block = {block}}});
        }
    runtime.close();
}

/// One block with as many bytes as an assignment of 4096 x 4096 moves: what memory or network can do.
void limit(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    constexpr std::int64_t n = 4096;
    const int ranks = runtime.size();
    GlobalArray<double, 2> rows{runtime, {n, n}, Block{.grid = {0, 1}}};
    GlobalArray<double, 2> columns{runtime, {n, n}, Block{.grid = {1, 0}}};
    GlobalArray<double, 2> dealt{runtime, {n, n}, BlockCyclic{.block = {64, 64}}};
    rows.fill(1);
    columns.fill(2);
    dealt.fill(3);
    // Each rank sends to its neighbour the bytes that go to other ranks, and copies the rest.
    const auto own = static_cast<std::uint64_t>(n * n / ranks) * sizeof(double);
    const std::uint64_t stays = own / static_cast<std::uint64_t>(ranks);
    Window window{runtime, own};
    std::vector<std::byte> memory(own, std::byte{1});
    std::vector<std::byte> copy(own, std::byte{2});
    const Rank neighbour{(runtime.rank().value + 1) % ranks};
    const Subject contiguous = rounds_of(runtime, route.path == Path::direct ? "memcpy" : "one contiguous get", [&] {
        runtime.barrier();
        if (route.path == Path::direct) {
            std::memcpy(copy.data(), memory.data(), own);
        } else {
            Completion get = window.start_get(neighbour, Offset{0}, std::span{copy}.first(own - stays));
            std::memcpy(copy.data() + (own - stays), memory.data(), stays);
            get.wait();
        }
        runtime.barrier();
    });
    const auto row = [&](const char* name, const ArraySlice<double, 2>& target, const ArraySlice<double, 2>& source) {
        Assignment assignment;
        assignment.add(target, source);
        context.compare(name, milliseconds(), rounds_of(runtime, "assignment", [&] { assignment.execute(); }),
                        {contiguous});
    };
    row("rows to columns", columns.slice(), rows.slice());
    row("rows to blocks of 64 x 64", dealt.slice(), rows.slice());
    row("blocks of 64 x 64 to columns", columns.slice(), dealt.slice());
    row("transposed", rows.slice(), columns.slice().transposed());
    rows.close();
    columns.close();
    dealt.close();
    window.close();
    runtime.close();
}

/// Rows of 4096 x 4096 to blocks that are cyclic in the columns, transposed on the way: compared with the same without
/// transposition.
void transposed(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    constexpr std::int64_t n = 4096;
    GlobalArray<double, 2> rows{runtime, {n, n}, Block{.grid = {0, 1}}};
    rows.fill(1);
    for (const std::int64_t block : {8, 64, 128}) {
        GlobalArray<double, 2> dealt{runtime, {n, n}, BlockCyclic{.block = {block, block}, .grid = {1, 0}}};
        dealt.fill(2);
        Assignment straight;
        straight.add(dealt.slice(), std::as_const(rows).slice());
        Assignment turned;
        turned.add(dealt.slice(), std::as_const(rows).slice().transposed());
        context.compare("blocks of " + std::to_string(block), milliseconds(),
                        rounds_of(runtime, "transposed", [&] { turned.execute(); }),
                        {rounds_of(runtime, "straight", [&] { straight.execute(); })});
        dealt.close();
    }
    rows.close();
    runtime.close();
}

/// A[D] = B[D] of the paper: every fourth plane and third row, or every fourth row. The loop reads a sample of the
/// elements.
void paper(Context& context, bool first) {
    Runtime runtime;
    context.measure_against(runtime);
    const std::int64_t n = context.options().full ? 500 : 250;
    GlobalArray<double, 3> a{runtime, {n, n, n}, Block{}};
    GlobalArray<double, 3> b{runtime, {2 * n, 2 * n, 2 * n}, Block{}};
    a.fill(0);
    b.fill(1);
    const Domain<3> domain = first ? Domain<3>{Range{0, n}.by(4), Range{0, n}.by(3), Range{0, n}}
                                   : Domain<3>{Range{0, n}, Range{0, n}.by(4), Range{0, n}};
    // Each rank assigns its own elements of A: of these, some hundreds in places of their own.
    std::vector<Index<3>> own;
    for (const Domain<3> part : a.local_domains())
        for (const Index<3>& index : part.intersect(domain)) own.push_back(index);
    std::mt19937_64 generator{static_cast<std::uint64_t>(runtime.rank().value)};
    std::ranges::shuffle(own, generator);
    const std::size_t sample = std::min<std::size_t>(own.size(), 500);
    const double share = own.empty() ? 1 : static_cast<double>(sample) / static_cast<double>(own.size());
    const Subject loop{.name = "a loop over the elements",
                       .run =
                           [&](std::uint64_t rounds) {
                               const double seconds = together(runtime, [&] {
                                   for (std::uint64_t k = 0; k < rounds; ++k)
                                       for (std::size_t i = 0; i < sample; ++i) a(own[i]) = +b(own[i]);
                               });
                               return seconds / share;
                           },
                       .iterations = 1};
    Assignment assignment;
    assignment.add(a(domain), std::as_const(b)(domain));
    context.compare("n = " + std::to_string(n) + ", loop sampled", milliseconds(),
                    rounds_of(runtime, "assignment", [&] { assignment.execute(); }), {loop});
    a.close();
    b.close();
    runtime.close();
}

/// How long a first execution takes compared with a later one: what planning costs.
void plan_reuse(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    constexpr std::int64_t n = 131072;
    const auto row = [&](const char* name, const auto& from, const auto& to) {
        GlobalArray<double, 1> source{runtime, {n}, from};
        GlobalArray<double, 1> target{runtime, {n}, to};
        source.fill(1);
        Assignment kept;
        kept.add(target.slice(), source.slice());
        context.compare(name, milliseconds(),
                        rounds_of(runtime, "planned each time", [&] { target.slice() = source.slice(); }),
                        {rounds_of(runtime, "a kept assignment", [&] { kept.execute(); })});
        source.close();
        target.close();
    };
    row("1 MiB, Block to Cyclic", Block{}, Cyclic{});
    row("1 MiB, blocks of 3 to blocks of 5", BlockCyclic{{3}}, BlockCyclic{{5}});
    row("1 MiB, Block to blocks of 64", Block{}, BlockCyclic{{64}});
    runtime.close();
}

/// Transfers of an execution, counted: on the rank with the most, for each rank that it may exchange data with.
void messages(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    const auto others = static_cast<double>(std::max(1, runtime.size() - 1));
    const auto row = [&](const std::string& name, const auto& target, const auto& source, const Extents<2>& extents) {
        GlobalArray<double, 2> to{runtime, extents, target};
        GlobalArray<double, 2> from{runtime, extents, source};
        Assignment assignment;
        assignment.add(to.slice(), std::as_const(from).slice());
        assignment.execute();
        const double transfers = runtime.max(static_cast<double>(to.statistics()[Counter::assign_transfers] +
                                                                 from.statistics()[Counter::assign_transfers])) /
                                 others;
        if (runtime.rank() == Rank{0})
            context.add({.case_name = name,
                         .metric = "transfers",
                         .value = transfers,
                         .unit = "of a pair of ranks",
                         .baseline = "one for each ordered pair",
                         .baseline_value = 1,
                         .ratio = 1 / std::max(1.0, transfers),
                         .min = transfers,
                         .max = transfers,
                         .repetitions = 1});
        to.close();
        from.close();
    };
    const int ranks = runtime.size();
    row("Block to Cyclic", Cyclic{}, Block{}, {500, 500});
    row("rows to columns", Block{.grid = {1, ranks}}, Block{.grid = {ranks, 1}}, {500, 500});
    row("blocks of 3 x 5 to blocks of 7 x 2", BlockCyclic{{7, 2}}, BlockCyclic{{3, 5}}, {500, 500});
    row("4096 x 4096 in blocks of 4 x 4 to rows", Block{.grid = {ranks, 1}}, BlockCyclic{{4, 4}}, {4096, 4096});
    runtime.close();
}

const Registration block_to_cyclic{{.name = "assign/block-cyclic",
                                    .summary = "from blocks to block-cyclic blocks, compared with MPI_Alltoallw",
                                    .run = [](Context& context) { block_cyclic(context, true); },
                                    .default_repetitions = 5}};
const Registration cyclic_to_block{{.name = "assign/cyclic-block",
                                    .summary = "from block-cyclic blocks to blocks, compared with MPI_Alltoallw",
                                    .run = [](Context& context) { block_cyclic(context, false); },
                                    .default_repetitions = 5}};
const Registration limits{
    {.name = "assign/limit",
     .summary = "4096 x 4096 between distributions, compared with one contiguous transfer of the bytes",
     .run = limit,
     .default_repetitions = 5}};
const Registration turns{
    {.name = "assign/transposed",
     .summary = "rows of 4096 x 4096 to block-cyclic blocks, transposed, compared with the same straight",
     .run = transposed,
     .default_repetitions = 5}};
const Registration d1{{.name = "assign/paper-d1",
                       .summary = "a slice with strides 4, 3, 1 of blocks, compared with a loop over its elements",
                       .run = [](Context& context) { paper(context, true); },
                       .default_repetitions = 3}};
const Registration d2{{.name = "assign/paper-d2",
                       .summary = "a slice with strides 1, 4, 1 of blocks, compared with a loop over its elements",
                       .run = [](Context& context) { paper(context, false); },
                       .default_repetitions = 3}};
const Registration counted{{.name = "assign/messages",
                            .summary = "how many transfers an assignment makes, counted",
                            .run = messages,
                            .default_repetitions = 1}};
const Registration planning{{.name = "assign/plan-reuse",
                             .summary = "an assignment of 1 MiB that is planned anew, compared with one that is kept",
                             .run = plan_reuse,
                             .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
