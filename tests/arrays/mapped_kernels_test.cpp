// Kernels that know nothing of Lapwing, on mapped arrays: BLAS, FFTW, a routine in FORTRAN 77, a search, a hash join.
#include "tests/arrays/array_test.hpp"

#include <lapwing/mapped_array.hpp>
#include <lapwing/patterns.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <unordered_map>
#include <vector>

#ifdef TEST_FFTW
#include <fftw3.h>
#endif

using namespace lapwing;

extern "C" {
void dgemv_(const char* transposed, const int* rows, const int* columns, const double* alpha, const double* matrix,
            const int* leading, const double* vector, const int* step, const double* beta, double* result,
            const int* result_step);
void smooth_(const int* rows, const int* columns, const double* field, double* result);
}

namespace {

constexpr std::int64_t rows = 61;
constexpr std::int64_t columns = 157;

[[nodiscard]] double element(std::int64_t i, std::int64_t j) { return 0.5 + static_cast<double>((3 * i + 5 * j) % 17); }

void set_elements(GlobalArray<double, 2>& a) {
    a.for_each_local([](const Index<2>& index, double& value) { value = element(index[0], index[1]); });
    a.barrier();
}

} // namespace

#ifdef TEST_BLAS
TEST_CASE("BLAS multiplies a mapped matrix by a mapped vector") {
    Runtime runtime;
    GlobalArray<double, 2> matrix{runtime, {rows, columns}, Cyclic{}, {.name = "matrix"}};
    GlobalArray<double, 1> vector{runtime, {columns}, Block{}, {.name = "vector"}};
    set_elements(matrix);
    vector.for_each_local([](const Index<1>& index, double& value) { value = static_cast<double>(index[0]); });
    runtime.barrier();

    const MappedArray<double, 2> a = matrix.mapped();
    const MappedArray<double, 1> x = vector.mapped();
    std::vector<double> y(rows);
    const int m = static_cast<int>(columns); // of the transposed matrix in column-major order
    const int n = static_cast<int>(rows);
    const int one = 1;
    const double alpha = 1;
    const double beta = 0;
    dgemv_("T", &m, &n, &alpha, a.data(), &m, x.data(), &one, &beta, y.data(), &one);
    for (std::int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < columns; ++j) sum += element(i, j) * static_cast<double>(j);
        CHECK(std::abs(y[static_cast<std::size_t>(i)] - sum) <= 1e-9 * sum);
    }
    runtime.barrier();
    matrix.close();
    vector.close();
    runtime.close();
}
#endif

#ifdef TEST_FFTW
TEST_CASE("FFTW transforms a plane of a mapped array") {
    Runtime runtime;
    constexpr int side = 24;
    GlobalArray<double, 3> space{runtime, {5, side, side}, Cyclic{}, {.name = "space"}};
    space.for_each_local([](const Index<3>& index, double& value) { value = element(index[1], index[2] + index[0]); });
    space.barrier();
    const int plane = runtime.rank().value % 5;
    const MappedArray<double, 3> mapped =
        space.mapped(Domain<3>{Range{plane, plane + 1}, Range{0, side}, Range{0, side}});

    std::vector<std::complex<double>> spectrum(static_cast<std::size_t>(side * (side / 2 + 1)));
    // Its interface has no const; it leaves the input as it is.
    fftw_plan plan =
        fftw_plan_dft_r2c_2d(side, side, const_cast<double*>(&mapped(plane, 0, 0)),
                             reinterpret_cast<fftw_complex*>(spectrum.data()), FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    REQUIRE(plan != nullptr);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    for (const auto& [u, v] : {std::pair{0, 0}, {1, 0}, {3, 7}, {side - 1, side / 2}}) {
        std::complex<double> expected = 0;
        for (int i = 0; i < side; ++i)
            for (int j = 0; j < side; ++j)
                expected += element(i, j + plane) * std::polar(1.0, -2 * M_PI * (u * i + v * j) / side);
        CHECK(std::abs(spectrum[static_cast<std::size_t>(u * (side / 2 + 1) + v)] - expected) < 1e-8);
    }
    runtime.barrier();
    space.close();
    runtime.close();
}
#endif

#ifdef TEST_FORTRAN
TEST_CASE("a routine in FORTRAN 77 reads a mapped array as one of its own") {
    Runtime runtime;
    GlobalArray<double, 2> field{runtime, {rows, columns}, Block{}, {.name = "field"}};
    set_elements(field);
    const MappedArray<double, 2> mapped = field.mapped();
    std::vector<double> smoothed(static_cast<std::size_t>(rows * columns));
    const int m = static_cast<int>(columns);
    const int n = static_cast<int>(rows);
    smooth_(&m, &n, mapped.data(), smoothed.data());
    for (std::int64_t i = 1; i < rows - 1; ++i)
        for (std::int64_t j = 1; j < columns - 1; ++j)
            REQUIRE(smoothed[static_cast<std::size_t>(i * columns + j)] ==
                    (element(i - 1, j) + element(i + 1, j) + element(i, j - 1) + element(i, j + 1)) / 4);
    runtime.barrier();
    field.close();
    runtime.close();
}
#endif

TEST_CASE("a binary search, and a hash join, over mapped arrays") {
    Runtime runtime;
    constexpr std::int64_t count = 5000;
    GlobalArray<std::int64_t, 1> keys{runtime, {count}, BlockCyclic{.block = {7}}, {.name = "keys"}};
    GlobalArray<std::int64_t, 1> orders{runtime, {3 * count}, Block{}, {.name = "orders"}};
    keys.for_each_local([](const Index<1>& index, std::int64_t& key) { key = 3 * index[0] + 1; });
    orders.for_each_local([](const Index<1>& index, std::int64_t& key) { key = index[0] * 7919 % (4 * count); });
    runtime.barrier();

    const MappedArray<std::int64_t, 1> sorted = keys.mapped();
    const std::int64_t* const end = sorted.data() + count;
    for (const std::int64_t key : {1L, 2L, 7501L, 3 * count - 2, 3 * count})
        CHECK(std::lower_bound(sorted.data(), end, key) - sorted.data() == std::min(count, (key + 1) / 3));

    // Each rank's orders with all keys.
    const std::unordered_map<std::int64_t, std::int64_t> places = [&] {
        std::unordered_map<std::int64_t, std::int64_t> map;
        for (const std::int64_t* key = sorted.data(); key != end; ++key) map.emplace(*key, key - sorted.data());
        return map;
    }();
    const MappedArray<std::int64_t, 1> own = orders.mapped(orders.local_domain());
    std::int64_t joined = 0;
    for (const auto& [i] : orders.local_domain())
        if (const auto found = places.find(own[i]); found != places.end()) joined += found->second;
    std::int64_t expected = 0;
    for (std::int64_t i = 0; i < 3 * count; ++i) {
        const std::int64_t key = i * 7919 % (4 * count);
        if (key % 3 == 1 && key / 3 < count) expected += key / 3;
    }
    CHECK(runtime.sum(joined) == expected);
    keys.close();
    orders.close();
    runtime.close();
}
