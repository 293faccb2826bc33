// A function of elements of several arrays, each under another distribution: one line, in which every array is moved as
// a whole to where the results are.
#include <lapwing/lapwing.hpp>

#include <cstdio>

// [program]
int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t n = 200;
    lapwing::GlobalArray<double, 2> result{runtime, {n, n}, lapwing::Block{}};
    lapwing::GlobalArray<double, 2> height{runtime, {n, n}, lapwing::Cyclic{}};
    lapwing::GlobalArray<float, 2> slope{runtime, {n, n}, lapwing::BlockCyclic{.block = {16, 16}}};
    lapwing::GlobalArray<int, 2> land{runtime, {n, n}, lapwing::Block{.grid = {0, 1}}};
    height.for_each_local([](lapwing::Index<2> at, double& x) { x = static_cast<double>(at[0]); });
    slope.for_each_local([](lapwing::Index<2> at, float& x) { x = static_cast<float>(at[1]); });
    land.for_each_local([](lapwing::Index<2> at, int& x) { x = (at[0] + at[1]) % 2 == 0 ? 1 : 0; });

    using lapwing::all;
    const auto cost = [](double h, float s, int l) noexcept { return l != 0 ? h + 2.0 * s : -1.0; };
    result(all, all).assign(cost, height(all, all), slope(all, all).transposed(), land(all, all));
    const double total = result.sum();

    const bool right = total == 5950000 && result(3, 4) == -1 && result(3, 5) == 9;
    if (runtime.rank() == lapwing::Rank{0}) std::printf("the sum is %g\n", total);
    result.close();
    height.close();
    slope.close();
    land.close();
    runtime.close();
    return right ? 0 : 1;
}
// [end]
