// What gdb is to print: see gdb_test.py.
#include <lapwing/lapwing.h>
#include <lapwing/lapwing.hpp>

#include <cstdio>

namespace {

[[gnu::noinline]] void stop_here() { std::puts("here"); }

} // namespace

int main() {
    lapwing::Runtime runtime;
    lapwing::GlobalArray<double, 2> a{runtime, {3, 4}, lapwing::Block{}, {.name = "a"}};
    a.fill(0.0);
    a(1, 2) = 1.5;
    lapwing::GlobalArray<int, 1> closed{runtime, {5}, lapwing::Block{}};
    closed.close();
    const auto element = a(1, 2);
    const lapwing::Domain<2> domain{{1, 3}, lapwing::Range{0, 4}.by(2)};
    const lapwing::Rank rank{7};

    lapwing_runtime* c_runtime = nullptr;
    lapwing_array* c_array = nullptr;
    const std::int64_t extents[] = {6}, lower[] = {10};
    lapwing_array_options options = lapwing_array_options_default();
    options.lower = lower;
    const double value = 2.5;
    lapwing_runtime_create(MPI_COMM_WORLD, nullptr, &c_runtime);
    lapwing_array_create(c_runtime, LAPWING_DOUBLE, 1, extents, nullptr, &options, &c_array);
    lapwing_array_fill(c_array, &value);
    stop_here();
    lapwing_array_free(&c_array);
    lapwing_runtime_free(&c_runtime);
    return static_cast<int>(domain.size()) + rank.value + (element > 0) > 0 ? 0 : 1;
}
