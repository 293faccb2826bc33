#include "power_iteration.hpp"

#include "patch_buffer.hpp"

#include <lapwing/team.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace lapwing::detail::kernels {
namespace {

/// Row `row` of the matrix times x.
template <class Values>
double row_times(const SparseMatrix& matrix, std::size_t row, const Values& x) {
    double sum = 0;
    for (std::size_t k = matrix.row_start[row]; k < matrix.row_start[row + 1]; ++k)
        sum += matrix.value[k] * x(matrix.column[k]);
    return sum;
}

template <class Values>
void multiply_own(const SparseMatrix& own_rows, const Values& x, Vector& y) {
    std::size_t row = 0;
    for (auto [i] : y.local_domain()) y.local(i) = row_times(own_rows, row++, x);
}

} // namespace

void multiply_naive(const SparseMatrix& own_rows, const Vector& x, Vector& y) {
    std::size_t row = 0;
    for (auto [i] : y.local_domain()) y(i) = row_times(own_rows, row++, x);
}

void multiply_bulk(const SparseMatrix& own_rows, const Vector& x, Vector& y) {
    multiply_own(own_rows, PatchBuffer<double, 1>{x, x.domain()}, y);
}

void multiply_mapped(const SparseMatrix& own_rows, const Vector& x, Vector& y) {
    multiply_own(own_rows, x.mapped(), y);
}

std::vector<double> power_iteration(Multiply multiply, const SparseMatrix& own_rows, Vector& x, Vector& y,
                                    std::int64_t iterations) {
    std::vector<double> growth;
    for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
        multiply(own_rows, x, y);
        double norm = 0;
        for (auto [i] : y.local_domain()) norm = std::max(norm, std::abs(y.local(i)));
        // It is also the point after which no rank reads the old x any more, since each brings its norm after that.
        x.team().max(std::span{&norm, 1});
        for (auto [i] : x.local_domain()) x.local(i) = y.local(i) / norm;
        x.barrier();
        growth.push_back(norm);
    }
    return growth;
}

std::vector<double> starting_vector(std::int64_t n) {
    std::vector<double> x;
    // As large as 1, so that the growth of the first iteration is one.
    for (std::int64_t i = 0; i < n; ++i) x.push_back(1.0 / static_cast<double>(i + 1));
    return x;
}

PowerIterationResult power_iteration_serial(const SparseMatrix& matrix, std::int64_t iterations) {
    PowerIterationResult result{.x = starting_vector(matrix.rows)};
    std::vector<double> y(result.x.size());
    const auto x = [&result](std::int64_t i) { return result.x[static_cast<std::size_t>(i)]; };
    for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
        double norm = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            y[i] = row_times(matrix, i, x);
            norm = std::max(norm, std::abs(y[i]));
        }
        for (std::size_t i = 0; i < y.size(); ++i) result.x[i] = y[i] / norm;
        result.growth.push_back(norm);
    }
    return result;
}

double spectral_radius(const std::vector<double>& growth) {
    double sum = 0;
    const std::size_t first = growth.size() / 2;
    for (std::size_t i = first; i < growth.size(); ++i) sum += std::log(growth[i]);
    return growth.empty() ? 0 : std::exp(sum / static_cast<double>(growth.size() - first));
}

} // namespace lapwing::detail::kernels
