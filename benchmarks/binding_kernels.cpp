// binding/kernels: whole computations in C and in Fortran, beside the same in C++, with bulk patches. A test compares
// their results.
#include "harness.hpp"

#include "heat.hpp"
#include "image.hpp"
#include "languages.h"
#include "patch_buffer.hpp"
#include "power_iteration.hpp"
#include "sobel.hpp"
#include "sparse_matrix.hpp"
#include "transpose.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/runtime.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

using namespace lapwing::detail::kernels;

struct Language {
    const char* name;
    void (*start)();
    void (*make)(int, const std::int64_t*, const void*);
    void (*run)(int, std::int64_t, double*);
    void (*end)();
    void (*finish)();
};

constexpr Language in_c{"C", lapwing_c_start, lapwing_c_make, lapwing_c_run, lapwing_c_end, lapwing_c_finish};
#ifdef LAPWING_BENCH_FORTRAN
constexpr Language in_fortran{"Fortran",           lapwing_fortran_start, lapwing_fortran_make,
                              lapwing_fortran_run, lapwing_fortran_end,   lapwing_fortran_finish};
#endif

/// A kernel of a language on arrays of its own, beside `in_cpp`: an iteration is one call by all ranks.
template <class InCpp>
void compare_with(Context& context, Runtime& runtime, const Language& language, int kernel, const std::string& name,
                  const std::vector<std::int64_t>& extents, const void* input, InCpp in_cpp) {
    language.make(kernel, extents.data(), input);
    std::vector<double> growth;
    context.compare(name + " in " + language.name, milliseconds(),
                    {.name = language.name,
                     .run =
                         [&](std::uint64_t iterations) {
                             growth.resize(iterations);
                             return together(runtime, [&] {
                                 language.run(kernel, static_cast<std::int64_t>(iterations), growth.data());
                             });
                         }},
                    {{.name = "C++", .run = [&](std::uint64_t iterations) {
                          return together(runtime, [&] { in_cpp(static_cast<std::int64_t>(iterations)); });
                      }}});
    language.end();
}

void compare_language(Context& context, Runtime& runtime, const Language& language) {
    const std::string data = LAPWING_DATA_DIRECTORY;
    const Block by_rows{.grid = {0, 1}};
    language.start();
    {
        const Image picture = read_pgm(data + "/hubble-deep-field.pgm");
        Pixels image{runtime, {picture.rows, picture.columns}, by_rows};
        Pixels edges{runtime, {picture.rows, picture.columns}, by_rows};
        set_elements(image, picture.pixels);
        compare_with(context, runtime, language, LAPWING_SOBEL, "sobel", {picture.rows, picture.columns},
                     picture.pixels.data(), [&](std::int64_t times) {
                         for (std::int64_t n = 0; n < times; ++n) sobel_bulk(image, edges);
                     });
    }
    {
        constexpr std::int64_t n = 256;
        std::vector<double> elements(n * n);
        for (std::size_t k = 0; k < elements.size(); ++k) elements[k] = static_cast<double>(k);
        Matrix a{runtime, {n, n}, by_rows};
        Matrix b{runtime, {n, n}, by_rows};
        set_elements(a, elements);
        compare_with(context, runtime, language, LAPWING_TRANSPOSE, "transpose", {n, n}, elements.data(),
                     [&](std::int64_t times) {
                         for (std::int64_t k = 0; k < times; ++k) transpose_bulk(a, b);
                     });
    }
    {
        constexpr std::int64_t n = 64;
        Temperature now{runtime, {n, n, n}};
        Temperature next{runtime, {n, n, n}};
        set_initial_temperature(now, next);
        compare_with(context, runtime, language, LAPWING_HEAT, "heat", {n, n, n}, nullptr,
                     [&](std::int64_t times) { heat_bulk(now, next, times); });
    }
    {
        const SparseMatrix matrix = read_matrix_market(data + "/qh1484.mtx");
        const std::vector<std::int64_t> starts{matrix.row_start.begin(), matrix.row_start.end()};
        const lapwing_matrix_rows rows{matrix.rows, starts.data(), matrix.column.data(), matrix.value.data()};
        Vector x{runtime, {matrix.rows}};
        Vector y{runtime, {matrix.rows}};
        const SparseMatrix own_rows = rows_of(matrix, x.local_domain().range(0));
        set_elements(x, starting_vector(matrix.rows));
        compare_with(context, runtime, language, LAPWING_PRODUCT, "product", {matrix.rows}, &rows,
                     [&](std::int64_t times) { (void)power_iteration(multiply_bulk, own_rows, x, y, times); });
    }
    language.finish();
}

void binding_kernels(Context& context) {
    Runtime runtime;
    context.measure_against(runtime); // for the name of the path
    compare_language(context, runtime, in_c);
#ifdef LAPWING_BENCH_FORTRAN
    compare_language(context, runtime, in_fortran);
#endif
    runtime.close();
}

const Registration registration{{.name = "binding/kernels",
                                 .summary = "the kernels of lapwing-demo in C and Fortran, beside C++",
                                 .run = binding_kernels,
                                 .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
