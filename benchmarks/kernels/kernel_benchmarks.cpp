// kernel/…: whole computations over global arrays with bulk patches, naive element access and mapped arrays.
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
#include <vector>

namespace lapwing::bench {
namespace {

using namespace lapwing::detail::kernels;

const std::string data_directory = LAPWING_DATA_DIRECTORY;

/// An iteration is one call of `kernel`, by all ranks.
template <class Kernel>
Subject repeated(const std::string& name, Runtime& runtime, Kernel kernel) {
    return {.name = name, .run = [&runtime, kernel](std::uint64_t iterations) {
                return together(runtime, [&] {
                    for (std::uint64_t n = 0; n < iterations; ++n) kernel();
                });
            }};
}

/// What is compared: bulk patches with naive element access, or with bulk patches naive element access to cached
/// arrays, or the same loop over a mapped array.
enum class Access { plain, cached, mapped };

[[nodiscard]] GlobalArrayOptions options_for(Access access) {
    return {.cache = {.mode = access == Access::cached ? CacheMode::epoch : CacheMode::off}};
}

template <class NaiveKernel, class BulkKernel, class MappedKernel>
void compare_techniques(Context& context, Runtime& runtime, Access access, const std::string& input, NaiveKernel naive,
                        BulkKernel bulk, MappedKernel mapped) {
    context.measure_against(runtime); // for the name of the path
    const Subject patches = repeated("bulk patches", runtime, bulk);
    switch (access) {
    case Access::plain:
        context.compare(input, milliseconds(), patches, {repeated("naive element access", runtime, naive)});
        break;
    case Access::cached:
        context.compare(input, milliseconds(), repeated("naive element access, cached", runtime, naive), {patches});
        break;
    case Access::mapped: context.compare(input, milliseconds(), repeated("mapped", runtime, mapped), {patches});
    }
}

void sobel(Context& context, Access access) {
    Runtime runtime;
    const Image picture = read_pgm(data_directory + "/hubble-deep-field.pgm");
    const Block by_rows{.grid = {0, 1}};
    Pixels image{runtime, {picture.rows, picture.columns}, by_rows, options_for(access)};
    Pixels edges{runtime, {picture.rows, picture.columns}, by_rows, options_for(access)};
    set_elements(image, picture.pixels);
    compare_techniques(
        context, runtime, access, fmt::format("{} x {} pixels, a sweep", picture.columns, picture.rows),
        [&] { sobel_naive(image, edges); }, [&] { sobel_bulk(image, edges); }, [&] { sobel_mapped(image, edges); });
    edges.close();
    image.close();
    runtime.close();
}

void sparse_product(Context& context, Access access) {
    Runtime runtime;
    const SparseMatrix matrix = read_matrix_market(data_directory + "/qh1484.mtx");
    Vector x{runtime, {matrix.rows}, Block{}, options_for(access)};
    Vector y{runtime, {matrix.rows}, Block{}, options_for(access)};
    const SparseMatrix own_rows = rows_of(matrix, x.local_domain().range(0));
    set_elements(x, starting_vector(matrix.rows));
    compare_techniques(
        context, runtime, access, fmt::format("qh1484, {} rows, a product", matrix.rows),
        [&] { (void)power_iteration(multiply_naive, own_rows, x, y, 1); },
        [&] { (void)power_iteration(multiply_bulk, own_rows, x, y, 1); },
        [&] { (void)power_iteration(multiply_mapped, own_rows, x, y, 1); });
    y.close();
    x.close();
    runtime.close();
}

void heat(Context& context, Access access) {
    constexpr std::int64_t n = 64;
    Runtime runtime;
    Temperature now{runtime, {n, n, n}, Block{}, options_for(access)};
    Temperature next{runtime, {n, n, n}, Block{}, options_for(access)};
    set_initial_temperature(now, next);
    compare_techniques(
        context, runtime, access, fmt::format("{} x {} x {} points, a step", n, n, n),
        [&] { heat_naive(now, next, 1); }, [&] { heat_bulk(now, next, 1); }, [&] { heat_mapped(now, next, 1); });
    next.close();
    now.close();
    runtime.close();
}

void transpose(Context& context, Access access) {
    constexpr std::int64_t n = 256;
    Runtime runtime;
    const Block by_rows{.grid = {0, 1}};
    Matrix a{runtime, {n, n}, by_rows, options_for(access)};
    Matrix b{runtime, {n, n}, by_rows, options_for(access)};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = static_cast<double>(i * n + j);
    a.barrier();
    compare_techniques(
        context, runtime, access, fmt::format("{} x {} elements", n, n), [&] { transpose_naive(a, b); },
        [&] { transpose_bulk(a, b); }, [&] { transpose_mapped(a, b); });
    b.close();
    a.close();
    runtime.close();
}

/// A kernel with plain arrays; with cached ones on the paths that have a cache; and by mapped arrays.
class KernelRegistration {
public:
    KernelRegistration(const std::string& name, const std::string& summary, void (*kernel)(Context&, Access))
        : plain_{{.name = name,
                  .summary = summary,
                  .run = [kernel](Context& context) { kernel(context, Access::plain); },
                  .default_repetitions = 5}},
          cached_{{.name = name + "-cached",
                   .summary = summary + ", by cached elements",
                   .run = [kernel](Context& context) { kernel(context, Access::cached); },
                   .default_repetitions = 5,
                   .paths = {"rma", "service"}}},
          mapped_{{.name = name + "-mapped",
                   .summary = summary + ", by a mapped array",
                   .run = [kernel](Context& context) { kernel(context, Access::mapped); },
                   .default_repetitions = 5}} {}

private:
    Registration plain_;
    Registration cached_;
    Registration mapped_;
};

const KernelRegistration sobel_registration{"kernel/sobel", "edge detection of the Hubble image", sobel};
const KernelRegistration product_registration{"kernel/spmv", "power iteration with the sparse matrix qh1484",
                                              sparse_product};
const KernelRegistration heat_registration{"kernel/heat", "heat diffusion in a cube", heat};
const KernelRegistration transpose_registration{"kernel/transpose", "transpose of a matrix that is distributed by rows",
                                                transpose};

} // namespace
} // namespace lapwing::bench
