// From Global Arrays to Lapwing: the right-hand sides of docs/porting.md, which shows the parts between the marks. Each
// part checks itself.
//
//     mpirun -n 4 porting_global_arrays
#include <lapwing/lapwing.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t n = 40;
constexpr std::int64_t m = 30;

double start(std::int64_t i, std::int64_t j) { return static_cast<double>(100 * i + j); }

bool patches(lapwing::Runtime& runtime) {
    // [patch]
    lapwing::GlobalArray<double, 2> a{runtime, {n, m}, lapwing::Block{}, {.name = "a"}}; // zero at the start
    for (auto [i, j] : a.local_domain()) a.local(i, j) = start(i, j);
    runtime.barrier();

    std::vector<double> buffer(10 * 5);
    a({{20, 30}, {7, 12}}).get(buffer); // the ends are excluded
    // [end]
    bool right = true;
    std::size_t k = 0;
    for (auto [i, j] : lapwing::Domain<2>{{20, 30}, {7, 12}}) right = right && buffer[k++] == start(i, j);
    runtime.barrier();
    return right;
}

bool tasks(lapwing::Runtime& runtime) {
    const std::int64_t last = 57;
    std::int64_t done = 0;
    // [tasks]
    lapwing::GlobalArray<std::int64_t, 1> next{runtime, {1}};
    std::int64_t task = next(0).atomic().fetch_add(1);
    while (task < last) {
        done += task; // the work
        task = next(0).atomic().fetch_add(1);
    }
    // [end]
    return runtime.sum(done) == last * (last - 1) / 2;
}

bool accumulated(lapwing::Runtime& runtime) {
    lapwing::GlobalArray<double, 2> a{runtime, {n, m}};
    const std::vector<double> buffer(10 * 5, 0.5);
    // [accumulate]
    std::size_t k = 0;
    for (auto [i, j] : lapwing::Domain<2>{{20, 30}, {7, 12}}) a(i, j).atomic().add(buffer[k++]);
    runtime.barrier();
    // [end]
    const double sum = a.sum();
    return sum == 0.5 * 50 * runtime.size();
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    int wrong = 0;
    const auto check = [&](const char* what, bool right) {
        if (right) return;
        std::printf("rank %d: %s: WRONG\n", runtime.rank().value, what);
        wrong = 1;
    };
    check("patch", patches(runtime));
    check("tasks", tasks(runtime));
    check("accumulate", accumulated(runtime));
    if (runtime.rank() == 0 && wrong == 0) std::printf("three kernels of Global Arrays programs: correct\n");
    return wrong;
}
