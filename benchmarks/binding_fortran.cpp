// binding/fortran: patches through the Fortran module beside C++, on one team, and loops over own elements beside a
// plain array.
#include "harness.hpp"

#include "bindings/c/runtime.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/lapwing.h>

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
// Of binding_fortran.f90.
lapwing_runtime* lapwing_bench_fortran_start(std::int64_t columns, std::int64_t rows);
void lapwing_bench_fortran_get(std::int64_t first, std::int64_t rows);
void lapwing_bench_fortran_put(std::int64_t first, std::int64_t rows);
void lapwing_bench_fortran_release();
double lapwing_bench_fortran_loop_local(std::int64_t iterations);
double lapwing_bench_fortran_loop_argument(std::int64_t iterations);
double lapwing_bench_fortran_loop_plain(std::int64_t iterations);
void lapwing_bench_fortran_finish();
}

namespace lapwing::bench {
namespace {

constexpr std::int64_t columns = 512; ///< a row is 4 KiB
constexpr std::int64_t rows = 512;    ///< of each rank

void binding_fortran(Context& context) {
    Team& team = detail::bindings::team_of(lapwing_bench_fortran_start(columns, rows));
    GlobalArray<double, 2> a{team, {rows * team.size(), columns}, Block{.grid = {0, 1}}};
    const Route route = context.measure_against(team);
    const std::int64_t first = route.target.value * rows;
    std::vector<double> buffer(static_cast<std::size_t>(rows * columns));

    const auto subject = [&](const char* language, auto step, auto release) {
        return Subject{.name = language, .run = [&team, step, release](std::uint64_t iterations) {
                           return alone(team, [&] {
                               for (std::uint64_t i = 0; i < iterations; ++i) step();
                               release();
                           });
                       }};
    };
    const auto in_cpp = [&](auto step) { return subject("C++", step, [&] { team.release(); }); };
    const auto in_fortran = [&](auto step) {
        return subject("Fortran", step, [] { lapwing_bench_fortran_release(); });
    };
    for (const std::int64_t high : {std::int64_t{2}, std::int64_t{256}}) {
        const Domain<2> patch{{first, first + high}, {0, columns}};
        const auto elements = static_cast<std::size_t>(high * columns);
        const Quantity bandwidth = gigabytes_per_second(static_cast<double>(elements * sizeof(double)));
        const std::string size = high == 2 ? "8 KiB" : "1 MiB";
        context.compare("get patch " + size, bandwidth,
                        in_fortran([first, high] { lapwing_bench_fortran_get(first + 1, high); }),
                        {in_cpp([&, patch, elements] { a(patch).get(std::span{buffer.data(), elements}); })});
        context.compare(
            "put patch " + size, bandwidth, in_fortran([first, high] { lapwing_bench_fortran_put(first + 1, high); }),
            {in_cpp([&, patch, elements] { a(patch).put(std::span<const double>{buffer.data(), elements}); })});
    }

    context.set_path("self");
    const auto loop = [&](const char* name, double (*run)(std::int64_t)) {
        return Subject{.name = name, .run = [&team, run](std::uint64_t iterations) {
                           return alone(team, [&] {
                               double sum = run(static_cast<std::int64_t>(iterations));
                               keep(sum);
                           });
                       }};
    };
    context.compare("loop over own elements", microseconds(), loop("argument", lapwing_bench_fortran_loop_argument),
                    {loop("plain array", lapwing_bench_fortran_loop_plain)});
    context.compare("loop by global indices", microseconds(), loop("associate", lapwing_bench_fortran_loop_local),
                    {loop("plain array", lapwing_bench_fortran_loop_plain)});
    a.close();
    lapwing_bench_fortran_finish();
}

const Registration registration{{.name = "binding/fortran",
                                 .summary = "patches through the Fortran module beside C++, loops beside a plain array",
                                 .run = binding_fortran}};

} // namespace
} // namespace lapwing::bench
