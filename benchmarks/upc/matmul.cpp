// upc/matmul: table 5.1 of Zhang (2007): a matrix product whose right factor is read element by element, through MuPC's
// cache, with rates of misses. The rows of A and C are the thread's own, the columns of B are dealt to the threads in
// turn. With --full the matrices are 400 x 400, as there.
#include "median.hpp"
#include "upc/accesses.hpp"
#include "upc/mupc_cache.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

using Rows = upc::SharedArray<float, upc::dynamic_block, 2>; ///< shared [N] float A[N][N]
using Columns = upc::SharedArray<float, 1, 2>;               ///< shared float B[N][N]

// upc_forall (i = 0; i < N; i++; &A[i][0]): row i is with thread i % THREADS, which forall() by numbers knows without a
// look at each i.

/// Each column of B is used for one row of A, and read again for the next.
void naive(const Rows& a, const Columns& b, const Rows& c, std::int64_t n) {
    upc::forall(0, n, [&](std::int64_t i) {
        for (std::int64_t j = 0; j < n; ++j) {
            c[i][j] = 0;
            for (std::int64_t k = 0; k < n; ++k) c[i][j] += a[i][k] * b[k][j];
        }
    });
}
/// Each element of B is used for all own rows of A.
void temporal(const Rows& a, const Columns& b, const Rows& c, std::int64_t n) {
    upc::forall(0, n, [&](std::int64_t i) {
        for (std::int64_t j = 0; j < n; ++j) c[i][j] = 0;
    });
    for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t k = 0; k < n; ++k) upc::forall(0, n, [&](std::int64_t i) { c[i][j] += a[i][k] * b[k][j]; });
}

struct Result {
    double seconds = 0;
    double miss_rate = 0;
};

/// The values make each element of the product known and exact in a float.
[[nodiscard]] float left(std::int64_t i) { return static_cast<float>(i % 7); }
[[nodiscard]] float right(std::int64_t j) { return static_cast<float>(j % 5); }

/// Collective: multiplies once, from an empty cache.
[[nodiscard]] Result multiply(MPI_Comm world, const CacheOptions& cache, std::int64_t n, decltype(naive)* product) {
    const auto size = static_cast<std::size_t>(n);
    const upc::Program program{
        {.cache = cache,
         .heap_bytes = std::uint64_t{3} * size * (size + 1) * sizeof(float) + (std::uint64_t{1} << 16)}};
    const Rows a{{size, size}, size}, c{{size, size}, size};
    const Columns b{{size, size}};
    std::int64_t own_rows = 0;
    upc::forall(0, n, [&](std::int64_t i) {
        ++own_rows;
        for (std::int64_t k = 0; k < n; ++k) a[i][k] = left(i);
    });
    std::uint64_t remote_elements = 0;
    for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t j = 0; j < n; ++j) {
            if (b.threadof(k * n + j) == upc::mythread()) b[k][j] = right(j);
            else ++remote_elements;
        }
    upc::barrier();
    const std::uint64_t misses_before = upc::statistics()[Counter::cache_misses];
    double seconds = together(upc_threads, [&] { product(a, b, c, n); });
    double counts[2] = {static_cast<double>(upc::statistics()[Counter::cache_misses] - misses_before),
                        static_cast<double>(own_rows) * static_cast<double>(remote_elements)};
    int wrong = 0;
    upc::forall(0, n, [&](std::int64_t i) {
        for (std::int64_t j = 0; j < n; ++j)
            if (c[i][j] != static_cast<float>(n) * left(i) * right(j)) wrong = 1;
    });
    MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_DOUBLE, MPI_SUM, world);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, world);
    if (wrong != 0) throw std::runtime_error{"upc/matmul: an element of the product is wrong"};
    return {seconds, counts[1] > 0 ? counts[0] / counts[1] : 0};
}

void matmul(Context& context) {
    {
        Runtime runtime;
        (void)context.measure_against(runtime); // names the path
        runtime.close();
    }
    const std::int64_t n = context.options().full ? 400 : 96;
    const int repetitions = context.options().repetitions > 0 ? context.options().repetitions : 1;
    const auto rows = [&](const std::string& name, decltype(naive)* product) {
        std::optional<double> uncached;
        const auto add = [&](const std::string& cache_name, const CacheOptions& cache) {
            std::vector<double> seconds, rates;
            for (int repetition = 0; repetition < repetitions; ++repetition) {
                const Result result = multiply(context.world(), cache, n, product);
                seconds.push_back(result.seconds);
                rates.push_back(100 * result.miss_rate);
            }
            const std::string case_name = fmt::format("{} x {}, {}, {}", n, n, name, cache_name);
            const auto row = [&](const std::string& what, std::vector<double>& values, std::string metric,
                                 std::string unit) {
                const auto [least, most] = std::ranges::minmax(values);
                return Row{.case_name = case_name + what,
                           .metric = std::move(metric),
                           .value = median(values),
                           .unit = std::move(unit),
                           .baseline = "none",
                           .min = least,
                           .max = most,
                           .repetitions = repetitions};
            };
            Row times = row("", seconds, "time", "s");
            if (uncached) {
                times.baseline = "no cache";
                times.baseline_value = *uncached;
                times.ratio = *uncached / times.value;
            }
            context.add(times);
            if (uncached) context.add(row(", misses", rates, "miss rate", "%"));
            else uncached = times.value;
        };
        add("no cache", {.mode = CacheMode::off});
        for (const std::uint64_t block_bytes : {256U, 512U, 1024U, 2048U})
            add(fmt::format("64 sets of {} bytes", block_bytes), mupc_sets(context.size(), 64, block_bytes));
        add("Lapwing's cache", {.mode = CacheMode::epoch});
    };
    rows("naive", naive);
    rows("temporal", temporal);
}

const Registration registration{{.name = "upc/matmul",
                                 .summary = "matrix product in UPC with MuPC's cache: seconds and misses",
                                 .run = matmul,
                                 .default_repetitions = 1,
                                 .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
