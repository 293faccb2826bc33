#pragma once

#include <lapwing/global_array.hpp>

#include <cstdint>
#include <vector>

/// Transpose of a dense matrix: every rank needs elements of every other.
namespace lapwing::detail::kernels {

using Matrix = GlobalArray<double, 2>;

/// b(i, j) = a(j, i). b has the extents of a in reverse; both have the distribution Block. Collective; complete on all
/// ranks on return. Nothing is computed: the results are the same to the bit.
void transpose_naive(const Matrix& a, Matrix& b);
/// The same, with a buffer as large as the local part of b.
void transpose_bulk(const Matrix& a, Matrix& b);
/// The same, by a mapped array.
void transpose_mapped(const Matrix& a, Matrix& b);
/// Of a row-major matrix.
[[nodiscard]] std::vector<double> transpose_serial(const std::vector<double>& a, std::int64_t rows,
                                                   std::int64_t columns);

} // namespace lapwing::detail::kernels
