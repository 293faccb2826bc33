#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::distribution {

/// A column that a row may have, and its value to the row.
struct Candidate {
    int column = 0;
    std::uint64_t value = 0;
};

/// Assigns each row a different column, so that the sum of their values is as large as possible; a column that is not a
/// candidate of a row has no value to it. There are as many columns as rows; the result has a column for each row. If
/// the assignment of each row to the column of its own number is as good, that is the result.
///
/// Shortest augmenting paths over the candidates alone: Jonker and Volgenant, "A shortest augmenting path algorithm for
/// dense and sparse linear assignment problems" (1987). Cost: for each row that does not get its best column at once a
/// search through the candidates of the rows it competes with, at most all of them. Memory: a few words a row. The
/// values' sum must be below 2^62.
[[nodiscard]] std::vector<int> best_assignment(std::span<const std::vector<Candidate>> rows);

} // namespace lapwing::detail::distribution
