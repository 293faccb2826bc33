// assign/promotion: a function of the elements of several arrays, Chapel's promotion, compared with what a program does
// by hand: exchanges by MPI, and a loop over its own elements. Also of fewer arrays, of one value, and of a row that
// goes to all rows.
#include "columns_to_rows.hpp"
#include "rounds.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
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
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t n = 2048;

using Matrix = GlobalArray<double, 2>;

/// Exact for small integers, in whatever order a compiler adds.
constexpr auto mixture = [](double x, double y, double z) noexcept { return x + 0.5 * y - 0.25 * z; };
[[nodiscard]] double value_at(const Index<2>& index, int array) {
    return static_cast<double>((index[0] * 31 + index[1] * 17) % 1009 + array);
}

class Promotions {
public:
    Promotions(Context& context, Runtime& runtime)
        : context_{context}, runtime_{runtime}, exchange_{context.world(), n}, own_(target_.local_span().size()) {
        const auto set = [](Matrix& matrix, int array) {
            matrix.for_each_local(
                [array](const Index<2>& index, double& element) { element = value_at(index, array); });
        };
        set(x_, 0);
        set(y_, 1);
        set(z_, 2);
        set(x_columns_, 0);
        set(z_columns_, 2);
        row_.for_each_local([](const Index<1>& index, double& element) { element = static_cast<double>(index[0]); });
        runtime_.barrier();
    }
    void close() {
        for (Matrix* matrix : {&target_, &x_, &y_, &z_, &x_columns_, &z_columns_}) matrix->close();
        row_.close();
        everywhere_.close();
    }

    void one_distribution() {
        Assignment assignment;
        assignment.add(target_.slice(), mixture, source(x_), source(y_), source(z_));
        row("three sources under the target's distribution", assignment, "a loop over own elements", [this] {
            const double* const x = own(x_);
            const double* const y = own(y_);
            const double* const z = own(z_);
            for (std::size_t k = 0; k < own_.size(); ++k) own_[k] = mixture(x[k], y[k], z[k]);
        });
        Assignment of_one;
        of_one.add(target_.slice(), [](double x) noexcept { return 3 * x; }, source(x_));
        row("one source under the target's distribution, and a value", of_one, "a loop over own elements", [this] {
            const double* const x = own(x_);
            for (std::size_t k = 0; k < own_.size(); ++k) own_[k] = 3 * x[k];
        });
        Assignment of_none;
        of_none.add_fill(target_.slice(), 7.0);
        row("one value", of_none, "std::fill", [this] { std::ranges::fill(own_, 7.0); });
    }
    void other_distributions() {
        std::vector<double> x(own_.size());
        std::vector<double> z(own_.size());
        Assignment assignment;
        assignment.add(target_.slice(), mixture, source(x_columns_), source(y_), source(z_columns_));
        row("three sources, two of them by columns", assignment, "MPI_Alltoallw, and a loop", [&] {
            exchange_.exchange(own(x_columns_), x.data());
            exchange_.exchange(own(z_columns_), z.data());
            const double* const y = own(y_);
            for (std::size_t k = 0; k < own_.size(); ++k) own_[k] = mixture(x[k], y[k], z[k]);
        });
    }
    /// target(i, j) = row(j), and + y(i, j).
    void fewer_dimensions() {
        std::vector<double> whole(static_cast<std::size_t>(n));
        const auto gather = [&] {
            const int part = static_cast<int>(n / runtime_.size());
            MPI_Allgather(row_.local_span().data(), part, MPI_DOUBLE, whole.data(), part, MPI_DOUBLE, context_.world());
        };
        const auto add_to_rows = [this](std::span<double> result, std::span<const double> row) {
            const double* const y = own(y_);
            for (std::size_t k = 0; k < result.size(); k += row.size())
                for (std::size_t j = 0; j < row.size(); ++j) result[k + j] = row[j] + y[k + j];
        };
        Assignment to_all;
        to_all.add(everywhere_.slice(), std::as_const(row_).slice());
        row(
            "a row and each row, by a replicated array",
            [&] {
                to_all.execute();
                add_to_rows(target_.local_span(), everywhere_.local_span());
            },
            "MPI_Allgather, and a loop",
            [&] {
                gather();
                add_to_rows(own_, whole);
            });
        Assignment each_row;
        for (std::int64_t i = 0; i < n; ++i) each_row.add(target_(i, all), std::as_const(row_).slice());
        row("a row to each row, a slice each", each_row, "MPI_Allgather, and copies", [&] {
            gather();
            for (std::size_t k = 0; k < own_.size(); k += whole.size())
                std::ranges::copy(whole, own_.begin() + static_cast<std::ptrdiff_t>(k));
        });
    }

private:
    [[nodiscard]] static ArraySlice<const double, 2> source(const Matrix& matrix) { return matrix.slice(); }
    [[nodiscard]] static const double* own(Matrix& matrix) { return matrix.local_span().data(); }

    void row(const std::string& name, Assignment& assignment, const char* baseline, std::function<void()> by_hand) {
        row(name, [&assignment] { assignment.execute(); }, baseline, std::move(by_hand));
    }
    /// What Lapwing leaves in the target, `by_hand` leaves in own_.
    void row(const std::string& name, std::function<void()> assign, const char* baseline,
             std::function<void()> by_hand) {
        target_.fill(-1);
        std::ranges::fill(own_, -2.0);
        context_.compare(name, milliseconds(), rounds_of(runtime_, "assignment", std::move(assign)),
                         {rounds_of(runtime_, baseline, std::move(by_hand))});
        runtime_.barrier();
        // Without its baseline own_ has nothing to compare with.
        const bool right = context_.options().value_only || std::ranges::equal(target_.local_span(), own_);
        if (!runtime_.min(right)) throw std::runtime_error{"assign/promotion: " + name + ": an element is wrong"};
    }

    Context& context_;
    Runtime& runtime_;
    ColumnsToRows exchange_;
    Matrix target_{runtime_, {n, n}, Block{.grid = {0, 1}}};
    Matrix x_{runtime_, {n, n}, Block{.grid = {0, 1}}};
    Matrix y_{runtime_, {n, n}, Block{.grid = {0, 1}}};
    Matrix z_{runtime_, {n, n}, Block{.grid = {0, 1}}};
    Matrix x_columns_{runtime_, {n, n}, Block{.grid = {1, 0}}};
    Matrix z_columns_{runtime_, {n, n}, Block{.grid = {1, 0}}};
    GlobalArray<double, 1> row_{runtime_, {n}, Block{}};
    GlobalArray<double, 1> everywhere_{runtime_, {n}, Replicated{}};
    std::vector<double> own_;
};

void promotion(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    if (n % runtime.size() != 0) {
        context.skip("all cases", "the ranks do not divide 2048");
        return runtime.close();
    }
    {
        Promotions rows{context, runtime};
        rows.one_distribution();
        rows.other_distributions();
        rows.fewer_dimensions();
        rows.close();
    }
    runtime.close();
}

const Registration registration{
    {.name = "assign/promotion",
     .summary = "a function of elements of several arrays, compared with exchanges by MPI and a loop",
     .run = promotion,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
