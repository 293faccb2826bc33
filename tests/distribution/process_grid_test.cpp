#include "src/distribution/process_grid.hpp"

#include "support/catch.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace {

std::vector<int> grid(std::vector<int> fixed, int ranks, std::vector<std::int64_t> extents) {
    lapwing::detail::distribution::choose_grid(fixed, ranks, extents);
    return fixed;
}

} // namespace

TEST_CASE("a square is cut into near-squares") {
    CHECK(grid({0, 0}, 4, {1000, 1000}) == std::vector{2, 2});
    CHECK(grid({0, 0}, 9, {1000, 1000}) == std::vector{3, 3});
    CHECK(grid({0, 0}, 12, {1200, 1200}) == std::vector{4, 3});
    CHECK(grid({0, 0, 0}, 8, {100, 100, 100}) == std::vector{2, 2, 2});
    CHECK(grid({0, 0, 0, 0}, 16, {64, 64, 64, 64}) == std::vector{2, 2, 2, 2});
}

TEST_CASE("rows stay whole where it costs nothing") {
    CHECK(grid({0, 0}, 2, {1000, 1000}) == std::vector{2, 1});
    CHECK(grid({0, 0}, 7, {1000, 1000}) == std::vector{7, 1});
}

TEST_CASE("the grid follows the extents") {
    CHECK(grid({0, 0}, 4, {4, 1000000}) == std::vector{1, 4});
    CHECK(grid({0, 0}, 4, {1000000, 4}) == std::vector{4, 1});
    CHECK(grid({0, 0}, 4, {1, 1000}) == std::vector{1, 4});
    // 5 rows on 4 processes would leave one with 2 of them; columns divide.
    CHECK(grid({0, 0}, 4, {5, 8}) == std::vector{1, 4});
}

TEST_CASE("what the program fixes stays") {
    CHECK(grid({0, 1}, 6, {10, 1000}) == std::vector{6, 1});
    CHECK(grid({2, 0, 0}, 8, {100, 100, 100}) == std::vector{2, 2, 2});
    CHECK(grid({0, 3}, 6, {1, 9}) == std::vector{2, 3});
    CHECK(grid({0, 0, 5}, 20, {100, 100, 100}) == std::vector{2, 2, 5});
}

TEST_CASE("a grid for many ranks is found quickly and uses all") {
    const auto start = std::chrono::steady_clock::now();
    // 83160 has the most divisors of all numbers up to 100,000.
    for (const int ranks : {83160, 98280, 99991, 100000, 65536}) {
        const std::vector<int> chosen = grid({0, 0, 0, 0}, ranks, {1000, 2000, 3000, 4000});
        CHECK(std::accumulate(chosen.begin(), chosen.end(), 1, std::multiplies<>{}) == ranks);
    }
    // Generous: it takes milliseconds, and a search over all grids of 100,000 cells would take hours.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds{10});
}
