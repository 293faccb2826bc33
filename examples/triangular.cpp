// All pairwise distances of a set of points, each pair once: an array whose distribution the program defines itself.
//
//     mpirun -n 4 triangular [points]
#include "triangular.hpp"

#include <lapwing/lapwing.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

/// Returns whether the result is that of a serial computation.
bool run(std::int64_t points) {
    lapwing::Runtime runtime;

    // Every rank reads all points, so every rank has a copy.
    lapwing::GlobalArray<double, 2> position{runtime, {points, 2}, lapwing::Replicated{}, {.name = "position"}};
    for (auto [i, axis] : position.local_domain())
        position.local(i, axis) = axis == 0 ? std::cos(static_cast<double>(i)) : std::sin(static_cast<double>(i));

    lapwing::GlobalArray<double, 2> distance{runtime, {points, points}, example::Triangular{}, {.name = "distance"}};
    distance.for_each_local([&](const lapwing::Index<2>& index, double& element) {
        const auto [i, j] = index;
        element = std::hypot(position(i, 0) - position(j, 0), position(i, 1) - position(j, 1));
    });

    const double largest = distance.max();
    const double sum = distance.sum();
    bool correct = true;
    if (runtime.rank() == lapwing::Rank{0}) {
        // The distances of the last point to all others, from whoever has them.
        std::vector<double> row(static_cast<std::size_t>(points));
        distance({{points - 1, points}, {0, points}}).get(row);
        double nearest = largest;
        for (std::int64_t j = 0; j + 1 < points; ++j) nearest = std::fmin(nearest, row[static_cast<std::size_t>(j)]);
        std::printf("%lld points: mean distance %.4f, largest %.4f, from the last point to its nearest %.4f\n",
                    static_cast<long long>(points),
                    sum / (static_cast<double>(points) * (static_cast<double>(points) - 1) / 2), largest, nearest);

        // The same on one rank, from the copies of the positions; sums differ by the order of their terms.
        double serial_sum = 0;
        double serial_largest = 0;
        for (std::int64_t i = 0; i < points; ++i)
            for (std::int64_t j = 0; j < i; ++j) {
                const double between = std::hypot(position(i, 0) - position(j, 0), position(i, 1) - position(j, 1));
                serial_sum += between;
                serial_largest = std::fmax(serial_largest, between);
            }
        correct = largest == serial_largest &&
                  std::fabs(sum - serial_sum) <= 1e-12 * static_cast<double>(points) * serial_sum;
    }
    runtime.barrier(); // rank 0 has read the others' rows
    return correct;
}

} // namespace

int main(int argc, char** argv) {
    try {
        const std::int64_t points = argc > 1 ? std::atoll(argv[1]) : 1000;
        if (points < 2) {
            std::fprintf(stderr, "usage: triangular [points, at least 2]\n");
            return 2;
        }
        if (!run(points)) {
            std::fprintf(stderr, "WRONG: a serial computation gives something else\n");
            return 1;
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
