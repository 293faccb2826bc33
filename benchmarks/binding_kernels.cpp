// binding/kernels: whole computations in C and in Fortran, beside the same in C++, with bulk patches. A test compares
// their results.
#include "harness.hpp"

#include "image.hpp"
#include "languages.h"
#include "sparse_matrix.hpp"

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

constexpr Language in_cpp{"C++",           lapwing_cpp_start, lapwing_cpp_make,
                          lapwing_cpp_run, lapwing_cpp_end,   lapwing_cpp_finish};
constexpr Language in_c{"C", lapwing_c_start, lapwing_c_make, lapwing_c_run, lapwing_c_end, lapwing_c_finish};
#ifdef LAPWING_BENCH_FORTRAN
constexpr Language in_fortran{"Fortran",           lapwing_fortran_start, lapwing_fortran_make,
                              lapwing_fortran_run, lapwing_fortran_end,   lapwing_fortran_finish};
#endif

/// An iteration is one call by all ranks; each language has arrays of its own.
void compare_languages(Context& context, Runtime& runtime, int kernel, const std::string& name,
                       const std::vector<std::int64_t>& extents, const void* input) {
    const auto subject = [&](const Language& language) {
        return Subject{.name = language.name, .run = [&runtime, &language, kernel](std::uint64_t iterations) {
                           std::vector<double> growth(iterations);
                           return together(runtime, [&] {
                               language.run(kernel, static_cast<std::int64_t>(iterations), growth.data());
                           });
                       }};
    };
    const auto compare = [&](const Language& language) {
        language.make(kernel, extents.data(), input);
        context.compare(name + " in " + language.name, milliseconds(), subject(language), {subject(in_cpp)});
        language.end();
    };
    in_cpp.make(kernel, extents.data(), input);
    compare(in_c);
#ifdef LAPWING_BENCH_FORTRAN
    compare(in_fortran);
#endif
    in_cpp.end();
}

void binding_kernels(Context& context) {
    const std::string data = LAPWING_DATA_DIRECTORY;
    Runtime runtime;
    context.measure_against(runtime); // for the name of the path
    in_cpp.start();
    in_c.start();
#ifdef LAPWING_BENCH_FORTRAN
    in_fortran.start();
#endif
    const Image picture = read_pgm(data + "/hubble-deep-field.pgm");
    compare_languages(context, runtime, LAPWING_SOBEL, "sobel", {picture.rows, picture.columns}, picture.pixels.data());
    std::vector<double> elements(256 * 256);
    for (std::size_t k = 0; k < elements.size(); ++k) elements[k] = static_cast<double>(k);
    compare_languages(context, runtime, LAPWING_TRANSPOSE, "transpose", {256, 256}, elements.data());
    compare_languages(context, runtime, LAPWING_HEAT, "heat", {64, 64, 64}, nullptr);
    const SparseMatrix matrix = read_matrix_market(data + "/qh1484.mtx");
    const std::vector<std::int64_t> starts{matrix.row_start.begin(), matrix.row_start.end()};
    const lapwing_matrix_rows rows{matrix.rows, starts.data(), matrix.column.data(), matrix.value.data()};
    compare_languages(context, runtime, LAPWING_PRODUCT, "product", {matrix.rows}, &rows);
#ifdef LAPWING_BENCH_FORTRAN
    in_fortran.finish();
#endif
    in_c.finish();
    in_cpp.finish();
    runtime.close();
}

const Registration registration{{.name = "binding/kernels",
                                 .summary = "the kernels of lapwing-demo in C and Fortran, beside C++",
                                 .run = binding_kernels,
                                 .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
