// Random extents and distributions, with few elements so that every one of them can be looked at.
#pragma once

#include <lapwing/distribution.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace test {

class Random {
public:
    explicit Random(unsigned seed) : engine_{seed} {}
    /// A number in [low, high].
    std::int64_t number(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>{low, high}(engine_);
    }

private:
    std::mt19937_64 engine_;
};

/// Often smaller than the number of ranks, and now and then 0.
template <std::size_t N>
lapwing::Extents<N> random_extents(Random& random) {
    constexpr std::array<std::int64_t, 4> largest{40, 12, 7, 5};
    lapwing::Index<N> extents{};
    for (auto& extent : extents) extent = random.number(random.number(0, 9) == 0 ? 0 : 1, largest[N - 1]);
    return lapwing::Extents<N>{extents};
}

template <std::size_t N>
lapwing::Domain<N> random_domain(Random& random, const lapwing::Extents<N>& extents) {
    std::array<lapwing::Range, N> ranges;
    for (std::size_t d = 0; d < N; ++d) {
        const std::int64_t begin = random.number(0, extents[d]);
        ranges[d] = lapwing::Range{begin, random.number(begin, extents[d])};
        if (random.number(0, 1) == 1) ranges[d] = ranges[d].by(random.number(1, 7));
    }
    return lapwing::Domain<N>{ranges};
}

/// A grid with the product `ranks`, or an empty one.
template <std::size_t N>
std::vector<int> random_grid(Random& random, int ranks) {
    if (random.number(0, 1) == 0) return {};
    std::vector<int> grid(N, 1);
    int left = ranks;
    for (int factor = 2; left > 1;) {
        if (left % factor != 0) {
            ++factor;
            continue;
        }
        grid[static_cast<std::size_t>(random.number(0, N - 1))] *= factor;
        left /= factor;
    }
    return grid;
}

template <std::size_t N>
std::vector<std::int64_t> random_blocks(Random& random) {
    std::vector<std::int64_t> blocks(N);
    for (auto& block : blocks) block = random.number(1, 6);
    return blocks;
}

} // namespace test
