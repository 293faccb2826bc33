#include "src/distribution/linear_assignment.hpp"

#include "tests/distribution/random_maps.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

using lapwing::detail::distribution::best_assignment;
using lapwing::detail::distribution::Candidate;

namespace {

using Rows = std::vector<std::vector<Candidate>>;

/// What an assignment is worth; every column is checked to be given once.
std::uint64_t value_of(const Rows& rows, const std::vector<int>& columns) {
    REQUIRE(columns.size() == rows.size());
    std::vector<int> sorted = columns;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<int>(i));
    std::uint64_t value = 0;
    for (std::size_t row = 0; row < rows.size(); ++row)
        for (const Candidate& candidate : rows[row])
            if (candidate.column == columns[row]) value += candidate.value;
    return value;
}

/// The best of all permutations.
std::uint64_t best_value(const Rows& rows) {
    std::vector<int> columns(rows.size());
    std::iota(columns.begin(), columns.end(), 0);
    std::uint64_t best = 0;
    do {
        std::uint64_t value = 0;
        for (std::size_t row = 0; row < rows.size(); ++row)
            for (const Candidate& candidate : rows[row])
                if (candidate.column == columns[row]) value += candidate.value;
        best = std::max(best, value);
    } while (std::ranges::next_permutation(columns).found);
    return best;
}

} // namespace

TEST_CASE("no assignment is worth more than the one that is found") {
    test::Random random{5};
    for (int round = 0; round < 2000; ++round) {
        Rows rows(static_cast<std::size_t>(random.number(0, 6)));
        const std::int64_t most = random.number(0, 2) == 0 ? 3 : 1000; // many that are alike, or none
        for (auto& row : rows)
            for (int column = 0; column < static_cast<int>(rows.size()); ++column)
                if (random.number(0, 2) > 0)
                    row.push_back({column, static_cast<std::uint64_t>(random.number(0, most))});
        REQUIRE(value_of(rows, best_assignment(rows)) == best_value(rows));
    }
}

TEST_CASE("what makes no difference stays") {
    CHECK(best_assignment(Rows(4)) == std::vector<int>{0, 1, 2, 3});
    // Each column is worth the same to each row.
    Rows alike(5);
    for (auto& row : alike)
        for (int column = 0; column < 5; ++column) row.push_back({column, 7});
    CHECK(best_assignment(alike) == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("thousands of rows with a few candidates each") {
    test::Random random{6};
    constexpr int size = 20'000;
    std::vector<int> hidden(size);
    std::iota(hidden.begin(), hidden.end(), 0);
    for (int i = size - 1; i > 0; --i)
        std::swap(hidden[static_cast<std::size_t>(i)], hidden[static_cast<std::size_t>(random.number(0, i))]);
    Rows rows(size);
    for (int row = 0; row < size; ++row) {
        rows[static_cast<std::size_t>(row)].push_back({hidden[static_cast<std::size_t>(row)], 1000});
        for (int k = 0; k < 8; ++k) {
            const auto column = static_cast<int>(random.number(0, size - 1));
            if (column != hidden[static_cast<std::size_t>(row)])
                rows[static_cast<std::size_t>(row)].push_back(
                    {column, static_cast<std::uint64_t>(random.number(0, 1000))});
        }
    }
    CHECK(value_of(rows, best_assignment(rows)) == std::uint64_t{1000} * size);
}
