// A naive program, for a trace: y = A x, whose loop reads the vector x one element at a time, whoever owns it.
//
//     LAPWING_TRACE=naive.trace mpirun -n 4 traced && lapwing-advise naive.trace
//
// docs/advice.md shows what lapwing-advise says of it. Compile with -g, so that it finds the lines.
#include <lapwing/lapwing.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>

int main() {
    constexpr std::int64_t n = 120;
    lapwing::Runtime runtime;
    // Names appear in messages, statistics and traces.
    lapwing::GlobalArray<double, 2> a{runtime, {n, n}, lapwing::Block{}, {.name = "matrix"}};
    lapwing::GlobalArray<double, 1> x{runtime, {n}, lapwing::Block{}, {.name = "vector"}};
    lapwing::GlobalArray<double, 1> y{runtime, {n}, lapwing::Block{}, {.name = "product"}};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = i == j ? 2.0 : 0.0;
    for (auto [j] : x.local_domain()) x.local(j) = 1.0 + static_cast<double>(j);
    runtime.barrier();

    for (auto [i] : y.local_domain()) {
        double sum = 0;
        for (std::int64_t j = 0; j < n; ++j) sum += a(i, j) * x(j); // a(i, j) may be another rank's, too
        y.local(i) = sum;
    }
    runtime.barrier();

    bool right = true;
    for (auto [i] : y.local_domain())
        right = right && std::fabs(y.local(i) - 2.0 * (1.0 + static_cast<double>(i))) < 1e-12;
    const auto wrong = runtime.max(std::int64_t{right ? 0 : 1});
    if (runtime.rank() == 0) std::printf("%d ranks: y is %s\n", runtime.size(), wrong == 0 ? "2 x" : "wrong");
    return wrong == 0 ? 0 : 1;
}
