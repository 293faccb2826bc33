// assign/pdgemr2d and assign/global-arrays: assignments compared with the same in ScaLAPACK and Global Arrays.
// Built where these libraries are installed for the MPI.
#include "rounds.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#ifdef LAPWING_BENCH_GLOBAL_ARRAYS
extern "C" {
#include <ga.h>
#include <macdecls.h>
}
#endif

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef LAPWING_BENCH_SCALAPACK
// ScaLAPACK has no header of its own.
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* block, const int* process, const int* source, const int* processes);
void Cpdgemr2d(int m, int n, double* a, int ia, int ja, int* desc_a, double* b, int ib, int jb, int* desc_b,
               int context);
}
#endif

namespace lapwing::bench {
namespace {

constexpr std::int64_t n = 4096;

[[nodiscard]] double value_at(std::int64_t i, std::int64_t j) { return static_cast<double>(i * n + j); }

[[maybe_unused]] void fill(GlobalArray<double, 2>& array) {
    array.for_each_local([](const Index<2>& index, double& element) { element = value_at(index[0], index[1]); });
    array.barrier();
}

/// Throws unless all elements are where fill() puts them.
[[maybe_unused]] void check(Runtime& runtime, GlobalArray<double, 2>& array, const char* what) {
    bool right = true;
    array.for_each_local([&](const Index<2>& index, const double& element) {
        right = right && element == value_at(index[0], index[1]);
    });
    if (runtime.min(right ? 1 : 0) == 0)
        throw std::runtime_error{std::string{what} + ": an element is not where it should be"};
}

#ifdef LAPWING_BENCH_SCALAPACK

/// A matrix as ScaLAPACK has it: in columns, so that its first dimension is the second one of our arrays.
class Matrix {
public:
    /// Of arrays in blocks of block[0] x block[1] over a grid of grid[0] x grid[1] processes, the last dimension
    /// fastest.
    Matrix(const std::vector<std::int64_t>& block, const std::vector<int>& grid, int rank)
        : rows_{static_cast<int>(block[1]), grid[1], rank % grid[1]},
          columns_{static_cast<int>(block[0]), grid[0], rank / grid[1]} {
        Cblacs_get(-1, 0, &context_);
        Cblacs_gridinit(&context_, "C", grid[1], grid[0]);
        const int zero = 0;
        const int own_rows = numroc_(&extent, &rows_.block, &rows_.process, &zero, &rows_.processes);
        const int own_columns = numroc_(&extent, &columns_.block, &columns_.process, &zero, &columns_.processes);
        leading_ = std::max(1, own_rows);
        memory_.assign(static_cast<std::size_t>(leading_) * static_cast<std::size_t>(std::max(1, own_columns)), -1);
        const int fields[9] = {1, context_, extent, extent, rows_.block, columns_.block, 0, 0, leading_};
        std::copy(std::begin(fields), std::end(fields), std::begin(description_));
    }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
    ~Matrix() { Cblacs_gridexit(context_); }

    /// Element (i, j) of the array, which must be this rank's.
    [[nodiscard]] double& at(std::int64_t i, std::int64_t j) {
        return memory_[static_cast<std::size_t>(columns_.place(i)) * static_cast<std::size_t>(leading_) +
                       static_cast<std::size_t>(rows_.place(j))];
    }
    void copy_to(Matrix& target, int context_of_all) {
        Cpdgemr2d(extent, extent, memory_.data(), 1, 1, description_, target.memory_.data(), 1, 1, target.description_,
                  context_of_all);
    }
    [[nodiscard]] int context() const { return context_; }

private:
    struct Dimension {
        int block, processes, process;
        [[nodiscard]] std::int64_t place(std::int64_t i) const { return i / block / processes * block + i % block; }
    };
    static constexpr int extent = static_cast<int>(n);

    Dimension rows_, columns_;
    int context_ = 0;
    int leading_ = 1;
    int description_[9]{};
    std::vector<double> memory_;
};

void pdgemr2d(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    const int ranks = runtime.size();
    struct Side {
        std::int64_t block;
        std::vector<int> grid;
    };
    const auto row = [&](const std::string& name, const Side& from, const Side& to) {
        GlobalArray<double, 2> source{
            runtime, {n, n}, BlockCyclic{.block = {from.block, from.block}, .grid = from.grid}};
        GlobalArray<double, 2> target{runtime, {n, n}, BlockCyclic{.block = {to.block, to.block}, .grid = to.grid}};
        Matrix a{{from.block, from.block}, from.grid, runtime.rank().value};
        Matrix b{{to.block, to.block}, to.grid, runtime.rank().value};
        fill(source);
        source.for_each_local([&](const Index<2>& index, double& element) { a.at(index[0], index[1]) = element; });
        Assignment assignment;
        assignment.add(target.slice(), std::as_const(source).slice());
        assignment.execute();
        check(runtime, target, "assignment");
        a.copy_to(b, a.context());
        target.for_each_local([&](const Index<2>& index, double& element) { element = b.at(index[0], index[1]); });
        check(runtime, target, "pdgemr2d");
        context.compare(name, milliseconds(), rounds_of(runtime, "assignment", [&] { assignment.execute(); }),
                        {rounds_of(runtime, "pdgemr2d", [&] { a.copy_to(b, a.context()); })});
        source.close();
        target.close();
    };
    const std::vector<int> rows{ranks, 1};
    const std::vector<int> columns{1, ranks};
    row("4096 x 4096, blocks of 32 to 256", {32, rows}, {256, rows});
    row("4096 x 4096, blocks of 64 to 48", {64, columns}, {48, columns});
    row("4096 x 4096, blocks of 256 to 32, rows to columns of processes", {256, rows}, {32, columns});
    row("4096 x 4096, blocks of 8, columns to rows of processes", {8, columns}, {8, rows});
    row("4096 x 4096, blocks of 1 to 64", {1, columns}, {64, columns});
    runtime.close();
}

const Registration scalapack{{.name = "assign/pdgemr2d",
                              .summary = "between block-cyclic matrices, compared with ScaLAPACK's pdgemr2d",
                              .run = pdgemr2d,
                              .default_repetitions = 5}};

#endif

#ifdef LAPWING_BENCH_GLOBAL_ARRAYS

void global_arrays(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    static const bool ready = (GA_Initialize(), MA_init(C_DBL, 1 << 20, 1 << 20) != 0);
    if (!ready) throw std::runtime_error{"assign/global-arrays: MA_init failed"};
    const int ranks = runtime.size();
    int dims[2] = {static_cast<int>(n), static_cast<int>(n)};
    const auto make = [&](const char* name, bool rows, int block) {
        const int handle = GA_Create_handle();
        GA_Set_data(handle, 2, dims, C_DBL);
        GA_Set_array_name(handle, const_cast<char*>(name));
        int grid[2] = {rows ? ranks : 1, rows ? 1 : ranks};
        int blocks[2] = {block, block};
        int chunk[2] = {rows ? -1 : dims[0], rows ? dims[1] : -1};
        if (block > 0) GA_Set_block_cyclic_proc_grid(handle, blocks, grid);
        else GA_Set_chunk(handle, chunk);
        if (GA_Allocate(handle) == 0) throw std::runtime_error{"assign/global-arrays: GA_Allocate failed"};
        return handle;
    };
    const auto row = [&](const std::string& name, int block, const auto& wanted) {
        GlobalArray<double, 2> source{runtime, {n, n}, Block{.grid = {ranks, 1}}};
        GlobalArray<double, 2> target{runtime, {n, n}, wanted};
        Assignment assignment;
        assignment.add(target.slice(), std::as_const(source).slice());
        fill(source);
        assignment.execute();
        check(runtime, target, "assignment");
        int from = make("from", true, 0);
        int to = make("to", false, block);
        int low[2] = {0, 0};
        int high[2] = {static_cast<int>(n) - 1, static_cast<int>(n) - 1};
        int leading = static_cast<int>(n);
        std::vector<double> all(static_cast<std::size_t>(n * n));
        if (runtime.rank().value == 0) {
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < n; ++j) all[static_cast<std::size_t>(i * n + j)] = value_at(i, j);
            NGA_Put(from, low, high, all.data(), &leading);
        }
        GA_Sync();
        GA_Copy(from, to);
        std::ranges::fill(all, 0);
        NGA_Get(to, low, high, all.data(), &leading);
        for (std::int64_t i = 0; i < n; ++i)
            if (all[static_cast<std::size_t>(i * n + i)] != value_at(i, i))
                throw std::runtime_error{"GA_Copy: an element is not where it should be"};
        GA_Sync();
        context.compare(name, milliseconds(), rounds_of(runtime, "assignment", [&] { assignment.execute(); }),
                        {rounds_of(runtime, "GA_Copy", [&] { GA_Copy(from, to); })});
        GA_Destroy(from);
        GA_Destroy(to);
        source.close();
        target.close();
    };
    row("4096 x 4096, rows to columns", 0, Block{.grid = {1, ranks}});
    row("4096 x 4096, rows to columns in blocks of 64", 64, BlockCyclic{.block = {64, 64}, .grid = {1, ranks}});
    runtime.close();
}

const Registration ga{{.name = "assign/global-arrays",
                       .summary = "between two distributions, compared with GA_Copy of Global Arrays",
                       .run = global_arrays,
                       .default_repetitions = 5}};

#endif

} // namespace
} // namespace lapwing::bench
