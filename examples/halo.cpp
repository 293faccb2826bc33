// Heat diffusion with a halo: each rank's block with what lies around it in one piece of memory, from which the next
// state of the local elements is written straight to the array. Ends with a check against the same computation on one
// rank.
//
//     mpirun -n 4 halo
#include <lapwing/lapwing.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t n = 101; // divides by no usual number of ranks
constexpr int steps = 40;

/// One edge is hot, the rest of the plate is cold.
double start(std::int64_t i) { return i == 0 ? 100.0 : 0.0; }

template <class Plate>
double next(const Plate& plate, std::int64_t i, std::int64_t j) {
    return plate(i, j) +
           0.2 * (plate(i - 1, j) + plate(i + 1, j) + plate(i, j - 1) + plate(i, j + 1) - 4 * plate(i, j));
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    lapwing::GlobalArray<double, 2> plate{runtime, {n, n}};
    for (auto [i, j] : plate.local_domain()) plate.local(i, j) = start(i);

    // The edges of the plate stay as they are.
    const lapwing::Domain<2> mine = plate.local_domain().intersect(plate.domain().expand(-1));
    lapwing::Halo halo{plate, 1};
    for (int k = 0; k < steps; ++k) {
        halo.exchange();
        for (auto [i, j] : mine) plate.local(i, j) = next(halo, i, j);
    }
    runtime.barrier();

    int wrong = 0;
    if (runtime.rank() == 0) {
        std::vector<double> result(n * n);
        plate(plate.domain()).get(result);
        std::vector<double> now(n * n);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) now[static_cast<std::size_t>(i * n + j)] = start(i);
        for (int k = 0; k < steps; ++k) {
            const std::vector<double> before = now;
            const auto old = [&](std::int64_t i, std::int64_t j) {
                return before[static_cast<std::size_t>(i * n + j)];
            };
            for (auto [i, j] : plate.domain().expand(-1)) now[static_cast<std::size_t>(i * n + j)] = next(old, i, j);
        }
        wrong = result == now ? 0 : 1;
        std::printf(
            "after %d steps the plate is at %.3f five rows from the middle of the hot edge; %s as on one rank\n", steps,
            +plate(5, n / 2), wrong == 0 ? "the same" : "NOT the same");
    }
    runtime.barrier(); // rank 0 has read the others' parts
    return wrong;
}
