// assign/along: sums along one dimension of a matrix, compared with what a program does by hand: a loop over its own
// elements, and a reduction of MPI that leaves each rank its part of the result.
#include "rounds.hpp"

#include <lapwing/dimension_reduction.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

/// A matrix in blocks of rows, and by hand its sums along either dimension.
class Sums {
public:
    Sums(Context& context, Runtime& runtime, std::int64_t rows, std::int64_t columns)
        : context_{context},
          runtime_{runtime},
          rows_{rows},
          columns_{columns},
          matrix_{runtime, {rows, columns}, Block{.grid = {0, 1}}},
          name_{std::to_string(rows) + " x " + std::to_string(columns)} {
        // Small integers, whose sums are exact in any order.
        matrix_.for_each_local([](const Index<2>& index, double& element) {
            element = static_cast<double>((index[0] * 31 + index[1] * 17) % 1009);
        });
        runtime.barrier();
    }
    void close() { matrix_.close(); }

    /// Along the dimension that is distributed.
    void down(bool also_planned_each_time) {
        GlobalArray<double, 1> totals{runtime_, {columns_}, Block{}};
        std::vector<double> partial(static_cast<std::size_t>(columns_));
        std::vector<double> result(totals.local_span().size());
        const auto by_hand = [&] {
            std::ranges::fill(partial, 0.0);
            const std::span<const double> own = std::as_const(matrix_).local_span();
            for (std::size_t k = 0; k < own.size(); k += partial.size())
                for (std::size_t j = 0; j < partial.size(); ++j) partial[j] += own[k + j];
            MPI_Reduce_scatter_block(partial.data(), result.data(), static_cast<int>(result.size()), MPI_DOUBLE,
                                     MPI_SUM, context_.world());
        };
        {
            DimensionReduction sums{matrix_, 0, totals.slice(), 0.0, detail::arrays::Sum{}};
            row(
                "sums of columns", totals, result, [&] { sums.execute(); }, "a loop, and MPI_Reduce_scatter_block",
                by_hand);
            sums.close();
        }
        if (also_planned_each_time)
            row(
                "sums of columns, planned each time", totals, result, [&] { sum_along(matrix_, 0, totals.slice()); },
                "a loop, and MPI_Reduce_scatter_block", by_hand);
        totals.close();
    }
    /// Along the dimension that each rank has whole.
    void across() {
        GlobalArray<double, 1> totals{runtime_, {rows_}, Block{}};
        std::vector<double> result(totals.local_span().size());
        DimensionReduction sums{matrix_, 1, totals.slice(), 0.0, detail::arrays::Sum{}};
        row(
            "sums of rows", totals, result, [&] { sums.execute(); }, "a loop over own rows",
            [&] {
                const std::span<const double> own = std::as_const(matrix_).local_span();
                const auto length = static_cast<std::size_t>(columns_);
                for (std::size_t i = 0; i < result.size(); ++i) result[i] = sum_of(own.subspan(i * length, length));
            });
        sums.close();
        totals.close();
    }

private:
    /// In four chains, as one writes it where rounding may differ.
    [[nodiscard]] static double sum_of(std::span<const double> values) {
        double sums[4] = {};
        std::size_t k = 0;
        for (; k + 4 <= values.size(); k += 4)
            for (std::size_t chain = 0; chain < 4; ++chain) sums[chain] += values[k + chain];
        for (; k < values.size(); ++k) sums[0] += values[k];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    /// What `reduce` leaves in the rank's part of `totals`, `by_hand` leaves in `result`.
    void row(const std::string& what, GlobalArray<double, 1>& totals, std::vector<double>& result,
             std::function<void()> reduce, const char* baseline, std::function<void()> by_hand) {
        totals.fill(-1);
        std::ranges::fill(result, -2.0);
        context_.compare(name_ + ", " + what, milliseconds(), rounds_of(runtime_, "lapwing", std::move(reduce)),
                         {rounds_of(runtime_, baseline, std::move(by_hand))});
        runtime_.barrier();
        const bool right = context_.options().value_only || std::ranges::equal(totals.local_span(), result);
        if (!runtime_.min(right)) throw std::runtime_error{"assign/along: " + what + ": a sum is wrong"};
    }

    Context& context_;
    Runtime& runtime_;
    std::int64_t rows_, columns_;
    GlobalArray<double, 2> matrix_;
    std::string name_;
};

void along(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    const auto measure = [&](std::int64_t rows, std::int64_t columns, auto rows_of) {
        if (rows % runtime.size() != 0 || columns % runtime.size() != 0)
            return context.skip(std::to_string(rows) + " x " + std::to_string(columns), "the ranks do not divide it");
        Sums sums{context, runtime, rows, columns};
        rows_of(sums);
        sums.close();
    };
    measure(2048, 2048, [](Sums& sums) {
        sums.down(true);
        sums.across();
    });
    // Few sums: what the calls cost.
    measure(4096, 8, [](Sums& sums) { sums.down(false); });
    runtime.close();
}

const Registration registration{
    {.name = "assign/along",
     .summary = "sums along one dimension of a matrix, compared with a loop and a reduction of MPI",
     .run = along,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
