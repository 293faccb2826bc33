// Blocks with a length for each rank: the rows of a matrix are dealt by the work that they make, not by their number.
// Row i of a triangle has i + 1 elements, so that blocks of equal numbers of rows would give the last rank most work.
//
//     mpirun -n 4 blocks
#include <lapwing/lapwing.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>

int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t n = 200;
    // Each rank says how many rows it takes: here those up to the next equal part of the triangle.
    const auto first_row = [&](int rank) {
        return std::llround(n * std::sqrt(static_cast<double>(rank) / runtime.size()));
    };
    const int rank = runtime.rank().value;
    const auto blocks = lapwing::Blocks::gather(runtime, first_row(rank + 1) - first_row(rank));
    lapwing::GlobalArray<double, 2> a{runtime, {blocks.total(), n}, blocks}; // whole rows
    a.for_each_local([](const lapwing::Index<2>& index, double& element) { element = index[1] <= index[0] ? 1 : 0; });

    // The rank's own rows are one block of memory.
    const auto own = a.local_span();
    const auto work = static_cast<std::int64_t>(std::accumulate(own.begin(), own.end(), 0.0));
    a.barrier();
    const bool right = a.sum() == n * (n + 1) / 2 && blocks.total() == n;
    std::printf("rank %d: %lld rows, %lld elements of the triangle\n", rank,
                static_cast<long long>(a.local_view().extent(0)), static_cast<long long>(work));
    a.redistribute(lapwing::Block{}); // the same values in blocks of equal lengths
    return right && a.sum() == n * (n + 1) / 2 ? 0 : 1;
}
