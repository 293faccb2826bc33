// Heat flows through a plate whose rows are spread over the ranks. The loop reads neighbours wherever they are; two
// lines before it say which ones they are, and from then on those of other ranks come in bulk, once a step.
#include <lapwing/lapwing.hpp>

#include <cstdio>
#include <utility>

// [program]
int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t n = 256;
    lapwing::GlobalArray<double, 2> now{runtime, {n, n}, lapwing::Block{}};
    lapwing::GlobalArray<double, 2> next{runtime, {n, n}, lapwing::Block{}};
    if (now.is_local(n / 2, n / 2)) now(n / 2, n / 2) = next(n / 2, n / 2) = 1e6;

    now.prefetch(lapwing::Stencil{.depth = 1, .corners = false});
    next.prefetch(lapwing::Stencil{.depth = 1, .corners = false});
    const lapwing::Domain<2> inner = now.local_domain().intersect({{1, n - 1}, {1, n - 1}});
    for (int step = 0; step < 100; ++step) {
        for (auto [i, j] : inner) next(i, j) = 0.25 * (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1));
        runtime.barrier();
        std::swap(now, next); // the copies go with the arrays
    }
    const double total = now.sum();
    if (runtime.rank() == lapwing::Rank{0}) std::printf("heat on the plate: %.6f\n", total);
    const bool right = total > 999999.0 && total < 1000001.0;
    now.close();
    next.close();
    runtime.close();
    return right ? 0 : 1;
}
// [end]
