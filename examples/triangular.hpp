// A distribution of a program's own: the lower triangle of an n x n matrix, diagonal included.
#pragma once

#include <lapwing/distribution.hpp>
#include <lapwing/error.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace example {

/// Rows of a triangle have different lengths, so whole rows dealt in blocks would give the last rank most of the work.
/// Here a short row and a long one make a pair (row q and row n - 1 - q, n + 1 elements together), and the pairs are
/// dealt to the ranks in turn. Nothing above the diagonal is stored.
struct Triangular {
    class Map {
    public:
        Map(std::int64_t n, int ranks) : n_{n}, ranks_{ranks} {}

        [[nodiscard]] lapwing::Location locate(const lapwing::Index<2>& index) const {
            const auto [row, column] = index;
            if (column > row) return {}; // not stored
            const std::int64_t pair = std::min(row, n_ - 1 - row);
            const std::int64_t start = pair / ranks_ * (n_ + 1) + (row == pair ? 0 : pair + 1);
            return {.owner = lapwing::Rank{static_cast<int>(pair % ranks_)},
                    .offset = static_cast<std::uint64_t>(start + column),
                    .contiguous = static_cast<std::uint64_t>(row - column + 1)};
        }

        [[nodiscard]] std::uint64_t local_capacity() const {
            return static_cast<std::uint64_t>((pairs() + ranks_ - 1) / ranks_ * (n_ + 1));
        }

        /// One domain for each row of the rank.
        [[nodiscard]] std::uint64_t domain_count(lapwing::Rank rank) const {
            const std::int64_t own_pairs = (pairs() - rank.value + ranks_ - 1) / ranks_;
            if (rank.value >= pairs()) return 0;
            // With odd n the last pair is the middle row alone.
            const bool has_middle = n_ % 2 == 1 && (pairs() - 1) % ranks_ == rank.value;
            return static_cast<std::uint64_t>(2 * own_pairs - (has_middle ? 1 : 0));
        }
        [[nodiscard]] lapwing::Domain<2> domain(lapwing::Rank rank, std::uint64_t k) const {
            const std::int64_t pair = rank.value + static_cast<std::int64_t>(k / 2) * ranks_;
            const std::int64_t row = k % 2 == 0 ? pair : n_ - 1 - pair;
            return {{row, row + 1}, {0, row + 1}};
        }

    private:
        [[nodiscard]] std::int64_t pairs() const { return (n_ + 1) / 2; }

        std::int64_t n_;
        std::int64_t ranks_;
    };

    [[nodiscard]] Map map(const lapwing::Extents<2>& extents, int ranks) const {
        if (extents[0] != extents[1])
            throw lapwing::RangeError{"Triangular: a triangle needs as many rows as columns, not " +
                                      lapwing::to_string(extents.values())};
        return {extents[0], ranks};
    }
};

} // namespace example
