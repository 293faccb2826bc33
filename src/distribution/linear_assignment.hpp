#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::distribution {

/// A column that a row may have, and what that is worth.
struct Candidate {
    int column = 0;
    std::uint64_t value = 0;
};

/// Assigns each row a column of its own, so that the sum of their values is the largest there is; columns that are no
/// candidates of a row are worth nothing to it. There are as many columns as rows; the result has a column for each
/// row. Where it is worth as much that all rows have the column of their own number, they do.
///
/// Shortest augmenting paths over the candidates alone: Jonker and Volgenant, "A shortest augmenting path algorithm for
/// dense and sparse linear assignment problems" (1987). Cost: for each row that does not get its best column at once a
/// search through the candidates of the rows it competes with, at most all of them. Memory: a few words a row. The
/// values' sum must be below 2^62.
[[nodiscard]] std::vector<int> best_assignment(std::span<const std::vector<Candidate>> rows);

} // namespace lapwing::detail::distribution
