#pragma once

#include <lapwing/range.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::detail::kernels {

/// A sparse matrix in compressed rows: the entries of row i are [row_start[i], row_start[i + 1]), by ascending column.
struct SparseMatrix {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<std::size_t> row_start = {0};
    std::vector<std::int64_t> column = {};
    std::vector<double> value = {};

    [[nodiscard]] std::size_t entries() const noexcept { return value.size(); }
};

/// Reads a Matrix Market file: coordinate, real or integer, general or symmetric. Throws FileError that names the file,
/// the line, what is wrong in it and what was expected.
[[nodiscard]] SparseMatrix read_matrix_market(const std::string& file);

/// The given rows (a range without a stride) of a matrix, numbered from 0.
[[nodiscard]] SparseMatrix rows_of(const SparseMatrix& matrix, const Range& rows);

} // namespace lapwing::detail::kernels
