// kernel/…: whole computations over global arrays with bulk patches, beside the same with naive element access.
#include "harness.hpp"

#include "heat.hpp"
#include "image.hpp"
#include "patch_buffer.hpp"
#include "power_iteration.hpp"
#include "sobel.hpp"
#include "sparse_matrix.hpp"
#include "transpose.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/runtime.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace lapwing::kernels;

const std::string data_directory = LAPWING_DATA_DIRECTORY;

/// An iteration is one call of `kernel`, by all ranks.
template <class Kernel>
Subject repeated(std::string name, Runtime& runtime, Kernel kernel) {
    return {.name = std::move(name), .run = [&runtime, kernel](std::uint64_t iterations) {
                return together(runtime, [&] {
                    for (std::uint64_t n = 0; n < iterations; ++n) kernel();
                });
            }};
}

template <class Naive, class Bulk>
void compare_techniques(Context& context, Runtime& runtime, const std::string& input, Naive naive, Bulk bulk) {
    context.measure_against(runtime); // for the name of the path
    context.compare(input, milliseconds(), repeated("bulk patches", runtime, bulk),
                    {repeated("naive element access", runtime, naive)});
}

void sobel(Context& context) {
    Runtime runtime;
    const Image picture = read_pgm(data_directory + "/hubble-deep-field.pgm");
    const Block by_rows{.grid = {0, 1}};
    Pixels image{runtime, {picture.rows, picture.columns}, by_rows};
    Pixels edges{runtime, {picture.rows, picture.columns}, by_rows};
    set_elements(image, picture.pixels);
    compare_techniques(
        context, runtime, fmt::format("{} x {} pixels, a sweep", picture.columns, picture.rows),
        [&] { sobel_naive(image, edges); }, [&] { sobel_bulk(image, edges); });
    edges.close();
    image.close();
    runtime.close();
}

void sparse_product(Context& context) {
    Runtime runtime;
    const SparseMatrix matrix = read_matrix_market(data_directory + "/qh1484.mtx");
    Vector x{runtime, {matrix.rows}, Block{}};
    Vector y{runtime, {matrix.rows}, Block{}};
    const SparseMatrix own_rows = rows_of(matrix, x.local_domain().range(0));
    set_elements(x, starting_vector(matrix.rows));
    compare_techniques(
        context, runtime, fmt::format("qh1484, {} rows, a product", matrix.rows),
        [&] { (void)power_iteration(multiply_naive, own_rows, x, y, 1); },
        [&] { (void)power_iteration(multiply_bulk, own_rows, x, y, 1); });
    y.close();
    x.close();
    runtime.close();
}

void heat(Context& context) {
    constexpr std::int64_t n = 64;
    Runtime runtime;
    Temperature now{runtime, {n, n, n}, Block{}};
    Temperature next{runtime, {n, n, n}, Block{}};
    set_initial_temperature(now, next);
    compare_techniques(
        context, runtime, fmt::format("{} x {} x {} points, a step", n, n, n), [&] { heat_naive(now, next, 1); },
        [&] { heat_bulk(now, next, 1); });
    next.close();
    now.close();
    runtime.close();
}

void transpose(Context& context) {
    constexpr std::int64_t n = 256;
    Runtime runtime;
    const Block by_rows{.grid = {0, 1}};
    Matrix a{runtime, {n, n}, by_rows};
    Matrix b{runtime, {n, n}, by_rows};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = static_cast<double>(i * n + j);
    a.barrier();
    compare_techniques(
        context, runtime, fmt::format("{} x {} elements", n, n), [&] { transpose_naive(a, b); },
        [&] { transpose_bulk(a, b); });
    b.close();
    a.close();
    runtime.close();
}

const Registration sobel_registration{
    {.name = "kernel/sobel", .summary = "edge detection of the Hubble image", .run = sobel, .default_repetitions = 5}};
const Registration product_registration{{.name = "kernel/spmv",
                                         .summary = "power iteration with the sparse matrix qh1484",
                                         .run = sparse_product,
                                         .default_repetitions = 5}};
const Registration heat_registration{
    {.name = "kernel/heat", .summary = "heat diffusion in a cube", .run = heat, .default_repetitions = 5}};
const Registration transpose_registration{{.name = "kernel/transpose",
                                           .summary = "transpose of a matrix that is distributed by rows",
                                           .run = transpose,
                                           .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
