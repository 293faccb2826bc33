// Heat diffusion on a square plate: each rank computes its own block, and fetches it with the elements around it as one
// patch. Ends with a check against the same computation on one rank.
//
//     mpirun -n 4 heat
#include <lapwing/lapwing.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t n = 100;
constexpr int steps = 50;

/// One edge is hot, the rest of the plate is cold.
double start(std::int64_t i) { return i == 0 ? 100.0 : 0.0; }

/// The part `inner` of the next plate from a patch that holds one element more on each side.
std::vector<double> step(const std::vector<double>& patch, const lapwing::Domain<2>& inner) {
    const std::size_t columns = inner.range(1).size() + 2;
    std::vector<double> next;
    next.reserve(inner.size());
    for (std::size_t i = 1; i <= inner.range(0).size(); ++i)
        for (std::size_t j = 1; j <= inner.range(1).size(); ++j) {
            const std::size_t k = i * columns + j;
            next.push_back(patch[k] + 0.2 * (patch[k - columns] + patch[k + columns] + patch[k - 1] + patch[k + 1] -
                                             4 * patch[k]));
        }
    return next;
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    lapwing::GlobalArray<double, 2> now{runtime, {n, n}};
    lapwing::GlobalArray<double, 2> next{runtime, {n, n}};
    for (auto [i, j] : now.local_domain()) now.local(i, j) = next.local(i, j) = start(i);
    runtime.barrier();

    // The edges of the plate stay as they are.
    const lapwing::Domain<2> mine = now.local_domain().intersect(now.domain().expand(-1));
    const lapwing::Domain<2> with_halo = mine.expand(1);
    std::vector<double> patch(with_halo.size());
    for (int k = 0; k < steps; ++k) {
        now(with_halo).get(patch);
        next(mine).put(step(patch, mine));
        runtime.barrier(); // all have read the old plate and written the new one
        std::swap(now, next);
    }

    int wrong = 0;
    if (runtime.rank() == lapwing::Rank{0}) {
        lapwing::GlobalArray<double, 2>& result = now;
        std::vector<double> plate(n * n);
        result(result.domain()).get(plate);
        std::vector<double> serial(n * n);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) serial[static_cast<std::size_t>(i * n + j)] = start(i);
        const lapwing::Domain<2> inner = result.domain().expand(-1);
        for (int k = 0; k < steps; ++k) {
            const std::vector<double> values = step(serial, inner);
            std::size_t position = 0;
            for (auto [i, j] : inner) serial[static_cast<std::size_t>(i * n + j)] = values[position++];
        }
        wrong = plate == serial ? 0 : 1;
        std::printf(
            "after %d steps the plate is at %.3f five rows from the middle of the hot edge; %s as on one rank\n", steps,
            plate[5 * n + n / 2], wrong == 0 ? "the same" : "NOT the same");
    }
    runtime.barrier(); // rank 0 has read the others' parts
    return wrong;
}
