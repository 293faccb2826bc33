// A matrix in blocks of rows goes to blocks dealt to a grid of processes, as linear algebra libraries want it, and back
// transposed: whatever the distributions, an assignment is one line, and one transfer for each pair of ranks.
#include <lapwing/lapwing.hpp>

#include <cstdio>

// [program]
int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t n = 300;
    lapwing::GlobalArray<double, 2> rows{runtime, {n, n}, lapwing::Block{.grid = {0, 1}}};
    lapwing::GlobalArray<double, 2> dealt{runtime, {n, n}, lapwing::BlockCyclic{.block = {16, 16}}};
    rows.for_each_local(
        [](lapwing::Index<2> index, double& element) { element = static_cast<double>(index[0] * n + index[1]); });

    using lapwing::all;
    dealt(all, all) = rows(all, all);              // another distribution
    rows(all, all) = dealt(all, all).transposed(); // and back, transposed
    const lapwing::Range even = lapwing::Range{0, n}.by(2);
    dealt(even, all) +=
        rows(even, lapwing::reversed(lapwing::Range{0, n})); // part of it, the columns from last to first
    double corner[4];
    dealt(lapwing::Range{0, 2}, lapwing::Range{0, 2}).get(corner); // this rank alone, into its own memory

    const bool right =
        corner[0] == 0 + (n - 1) * n && corner[1] == 1 + (n - 2) * n && corner[2] == n && corner[3] == n + 1;
    if (runtime.rank() == lapwing::Rank{0}) std::printf("%g %g\n%g %g\n", corner[0], corner[1], corner[2], corner[3]);
    rows.close();
    dealt.close();
    runtime.close();
    return right ? 0 : 1;
}
// [end]
