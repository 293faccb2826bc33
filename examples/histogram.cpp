// A histogram that all ranks fill at once: each draws numbers and counts them in bins that are spread over the ranks.
//
//     mpirun -n 4 histogram
#include <lapwing/lapwing.hpp>

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace {

constexpr std::int64_t bins = 50;

/// The bins that a rank's numbers fall in.
std::vector<std::int64_t> draw(int rank) {
    std::minstd_rand engine{static_cast<unsigned>(rank) + 1};
    std::vector<std::int64_t> drawn(2000);
    // The sum of two is more often in the middle than at the ends.
    for (std::int64_t& bin : drawn) bin = static_cast<std::int64_t>((engine() % 1000 + engine() % 1000) * bins / 2000);
    return drawn;
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    lapwing::GlobalArray<std::int64_t, 1> histogram{runtime, {bins}, lapwing::Cyclic{}};
    // No count is lost, whoever else adds to the bin.
    for (const std::int64_t bin : draw(runtime.rank().value)) histogram(bin).atomic().fetch_add(1);
    runtime.barrier();

    int wrong = 0;
    if (runtime.rank() == lapwing::Rank{0}) {
        std::vector<std::int64_t> counts(bins);
        histogram({{0, bins}}).get(counts);
        std::vector<std::int64_t> expected(bins);
        for (int rank = 0; rank < runtime.size(); ++rank)
            for (const std::int64_t bin : draw(rank)) ++expected[static_cast<std::size_t>(bin)];
        wrong = counts == expected ? 0 : 1;
        std::printf("%lld in the first bin, %lld in the middle one: %s\n", static_cast<long long>(counts.front()),
                    static_cast<long long>(counts[bins / 2]), wrong == 0 ? "as counted on one rank" : "WRONG");
    }
    runtime.barrier(); // rank 0 has read the others' bins
    return wrong;
}
