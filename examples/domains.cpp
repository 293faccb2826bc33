// Arrays over domains, as in Fortran and Chapel: lower bounds that are not 0, and two arrays whose elements of an index
// are at the same rank.
#include <lapwing/lapwing.hpp>

#include <cstdio>

// [program]
int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t n = 100;
    // The plate has a border, row and column 0 and n + 1; what is computed has none.
    const lapwing::Aligned plate{lapwing::Domain<2>{{0, n + 2}, {0, n + 2}}, lapwing::Block{}};
    lapwing::DomainArray<double, 2> heat{runtime, plate.space(), plate};
    lapwing::DomainArray<double, 2> next{runtime, {{1, n + 1}, {1, n + 1}}, plate};

    heat(0, lapwing::all).fill(1); // the upper border; the rest begins with zeros
    heat.array().prefetch(lapwing::Stencil{.depth = 1});
    for (int step = 0; step < 50; ++step) {
        next.for_each_local([&](lapwing::Index<2> index, double& element) {
            const auto [i, j] = index;
            element = (heat(i - 1, j) + heat(i + 1, j) + heat(i, j - 1) + heat(i, j + 1)) / 4;
        });
        heat(next.domain()) = next.slice(); // of each element's own rank
    }
    const double middle = heat(1, n / 2);
    const bool right = middle > 0.8 && middle < 1 && heat.owner(1, 1) == next.owner(1, 1);
    if (runtime.rank() == lapwing::Rank{0}) std::printf("below the border it is %.3f\n", middle);
    heat.close();
    next.close();
    runtime.close();
    return right ? 0 : 1;
}
// [end]
