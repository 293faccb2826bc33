// cached-matmul: the example of the MuPC report's section 5.5. Rows of A and C are own, columns of B are dealt to the ranks; the
// naive loop takes the columns in turn for each row, the temporal one each column for all rows. Page size and policy are those of
// the row; "as it is" is the cache with its own settings, which adapts.
#include "cached_array.hpp"

#include <fmt/format.h>

#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t n = 128;
constexpr std::uint64_t pages = 64; ///< as in the report
constexpr std::int64_t share = 8;   ///< of the columns, for the loops that wait for each element

enum class Order { naive, temporal };

/// Multiplies the own rows with the first `columns` columns.
void multiply(const std::vector<double>& a, GlobalArray<double, 2>& b, std::vector<double>& c, std::int64_t rows,
              std::int64_t columns, Order order) {
    const auto at = [](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * n + j); };
    if (order == Order::naive) {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) {
                double sum = 0;
                for (std::int64_t k = 0; k < n; ++k) sum += a[at(i, k)] * b(k, j);
                c[at(i, j)] = sum;
            }
    } else {
        std::fill(c.begin(), c.end(), 0.0);
        for (std::int64_t j = 0; j < columns; ++j)
            for (std::int64_t k = 0; k < n; ++k)
                for (std::int64_t i = 0; i < rows; ++i) c[at(i, j)] += a[at(i, k)] * b(k, j);
    }
    b.fence();
}

void cached_matmul(Context& context) {
    Runtime runtime;
    (void)context.measure_against(runtime);
    const std::int64_t rows = n / runtime.size();
    const std::vector<double> a(static_cast<std::size_t>(rows * n), 0.5);
    std::vector<double> c(static_cast<std::size_t>(rows * n));
    const auto array = [&](const CacheOptions& options) {
        GlobalArray<double, 2> b{runtime, {n, n}, Cyclic{.grid = {1, 0}}, {.name = "b", .cache = options}};
        b.fill(2.0);
        return b;
    };
    for (const Order order : {Order::naive, Order::temporal}) {
        const std::string name = order == Order::naive ? "naive" : "temporal";
        GlobalArray<double, 2> far = array(uncached());
        const auto compare = [&](const std::string& case_name, const CacheOptions& options) {
            GlobalArray<double, 2> b = array(options);
            context.compare(case_name, milliseconds(), by_one("cached", runtime, [&] { multiply(a, b, c, rows, n, order); }),
                            {once(by_one("uncached", runtime, [&] { multiply(a, far, c, rows, n / share, order); }, share))});
            b.close();
        };
        for (const CachePolicy policy : {CachePolicy::direct_mapped, CachePolicy::two_queues})
            for (const std::uint64_t page : {256U, 512U, 1024U, 2048U})
                compare(fmt::format("{}, {}, pages of {}", name, policy_name(policy), page), fixed_cache(policy, page, pages));
        compare(fmt::format("{}, as it is", name), cached());
        far.close();
    }
    runtime.close();
}

const Registration registration{{.name = "cached-matmul",
                                 .summary = "matrix product whose right factor is read element by element",
                                 .run = cached_matmul,
                                 .default_repetitions = 5,
                                 .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
