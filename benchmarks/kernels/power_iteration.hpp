#pragma once

#include "sparse_matrix.hpp"

#include <lapwing/global_array.hpp>

#include <cstdint>
#include <vector>

/// Power iteration: repeated products of a sparse matrix and a vector, x = A x / |A x|. The rows of the matrix are
/// spread over the ranks as the elements of x are.
namespace lapwing::detail::kernels {

using Vector = GlobalArray<double, 1>;

/// y = A x for the local rows: `own_rows` are those of y.local_domain(), numbered from 0. x and y have the distribution
/// Block. Collective in so far as x must be complete before.
using Multiply = void (*)(const SparseMatrix& own_rows, const Vector& x, Vector& y);
void multiply_naive(const SparseMatrix& own_rows, const Vector& x, Vector& y);
void multiply_bulk(const SparseMatrix& own_rows, const Vector& x, Vector& y);
void multiply_mapped(const SparseMatrix& own_rows, const Vector& x, Vector& y);

/// Iterates on x; y is work space. Returns the growth |A x| / |x| of each iteration in the maximum norm, whose mean on
/// a logarithmic scale tends to the spectral radius of A. Collective; x is complete on all ranks on return.
///
/// The maximum norm does not depend on the order in which ranks are combined, and each row is summed up in the order of
/// its columns: so the results are the same to the bit on any number of ranks.
[[nodiscard]] std::vector<double> power_iteration(Multiply multiply, const SparseMatrix& own_rows, Vector& x, Vector& y,
                                                  std::int64_t iterations);

/// The vector that iterations start from; its elements are all different.
[[nodiscard]] std::vector<double> starting_vector(std::int64_t n);

struct PowerIterationResult {
    std::vector<double> x = {};
    std::vector<double> growth = {};
};
[[nodiscard]] PowerIterationResult power_iteration_serial(const SparseMatrix& matrix, std::int64_t iterations);

/// The estimate of the spectral radius: the mean of the growth over the second half of the iterations.
[[nodiscard]] double spectral_radius(const std::vector<double>& growth);

} // namespace lapwing::detail::kernels
