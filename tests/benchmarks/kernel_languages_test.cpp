// The kernels of lapwing-demo in C and in Fortran: the same results as those of C++, to the bit.
#include "heat.hpp"
#include "languages.h"
#include "power_iteration.hpp"
#include "sobel.hpp"
#include "sparse_matrix.hpp"
#include "transpose.hpp"

#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

using namespace lapwing::detail::kernels;

namespace {

struct Language {
    void (*start)();
    void (*make)(int, const std::int64_t*, const void*);
    void (*run)(int, std::int64_t, double*);
    void (*result)(int, void*);
    void (*end)();
    void (*finish)();
};

/// Whose result is read where all ranks have it: a rank alone reads.
template <class T>
std::vector<T> result_of(const Language& language, int kernel, const std::vector<std::int64_t>& extents,
                         const void* input, std::int64_t iterations, double* growth, std::size_t elements) {
    std::vector<T> result(elements);
    language.make(kernel, extents.data(), input);
    language.run(kernel, iterations, growth);
    language.result(kernel, result.data());
    language.end();
    return result;
}

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
    std::vector<std::uint64_t> result;
    result.reserve(values.size());
    for (const double value : values) result.push_back(std::bit_cast<std::uint64_t>(value));
    return result;
}

void check_all(const Language& language) {
    language.start();
    Image image{.rows = 23, .columns = 17};
    for (std::int64_t k = 0; k < image.rows * image.columns; ++k)
        image.pixels.push_back(static_cast<std::uint8_t>(k * k * 37 % 256));
    CHECK(result_of<std::uint8_t>(language, LAPWING_SOBEL, {image.rows, image.columns}, image.pixels.data(), 2, nullptr,
                                  image.pixels.size()) == sobel_serial(image).pixels);

    std::vector<double> matrix;
    matrix.reserve(9 * 14);
    for (int k = 0; k < 9 * 14; ++k) matrix.push_back(1.0 / (k + 1));
    CHECK(bits(result_of<double>(language, LAPWING_TRANSPOSE, {9, 14}, matrix.data(), 1, nullptr, matrix.size())) ==
          bits(transpose_serial(matrix, 9, 14)));

    const std::int64_t n = 11;
    for (const std::int64_t steps : {1, 4})
        CHECK(bits(result_of<double>(language, LAPWING_HEAT, {n, n, n}, nullptr, steps, nullptr, n * n * n)) ==
              bits(heat_serial(n, steps)));

    SparseMatrix sparse{.rows = 40, .columns = 40};
    for (std::int64_t i = 0; i < sparse.rows; ++i) {
        for (std::int64_t j = i % 3; j < sparse.columns; j += 1 + i % 7) {
            sparse.column.push_back(j);
            sparse.value.push_back((i % 5 == 0 ? -1.0 : 1.0) / static_cast<double>(3 * i + j + 1));
        }
        sparse.row_start.push_back(sparse.column.size());
    }
    const std::vector<std::int64_t> starts{sparse.row_start.begin(), sparse.row_start.end()};
    const lapwing_matrix_rows rows{sparse.rows, starts.data(), sparse.column.data(), sparse.value.data()};
    const PowerIterationResult expected = power_iteration_serial(sparse, 12);
    std::vector<double> growth(12);
    CHECK(bits(result_of<double>(language, LAPWING_PRODUCT, {sparse.rows}, &rows, 12, growth.data(), 40)) ==
          bits(expected.x));
    CHECK(bits(growth) == bits(expected.growth));
    language.finish();
}

} // namespace

TEST_CASE("kernels in C have the results of those in C++") {
    check_all({lapwing_c_start, lapwing_c_make, lapwing_c_run, lapwing_c_result, lapwing_c_end, lapwing_c_finish});
}

#ifdef LAPWING_TEST_FORTRAN
TEST_CASE("kernels in Fortran have the results of those in C++") {
    check_all({lapwing_fortran_start, lapwing_fortran_make, lapwing_fortran_run, lapwing_fortran_result,
               lapwing_fortran_end, lapwing_fortran_finish});
}
#endif
