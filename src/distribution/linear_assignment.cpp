#include "src/distribution/linear_assignment.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace lapwing::detail::distribution {

namespace {

constexpr int nobody = -1;

/// Columns up to `rows` are those of the problem. Column rows + i means that row i has no useful column; only row i can
/// have it. The value that is missed is minimised.
class AssignmentSearch {
public:
    explicit AssignmentSearch(std::span<const std::vector<Candidate>> rows)
        : rows_{rows},
          size_{static_cast<int>(rows.size())},
          column_of_(rows.size(), nobody),
          row_of_(2 * rows.size(), nobody),
          price_(2 * rows.size()),
          distance_(2 * rows.size(), unreached),
          before_(2 * rows.size()) {
        for (const auto& row : rows)
            for (const Candidate& candidate : row) most_ = std::max(most_, static_cast<std::int64_t>(candidate.value));
    }

    std::vector<int> columns() {
        for (int row = 0; row < size_; ++row)
            if (!take_best(row)) augment(row);
        give_rest();
        return std::move(column_of_);
    }

private:
    static constexpr std::int64_t unreached = INT64_MAX;

    /// Calls `visit(column, cost)` for each column that a row may have.
    template <class Visit>
    void for_each_choice(int row, Visit visit) const {
        for (const Candidate& candidate : rows_[static_cast<std::size_t>(row)])
            visit(candidate.column, most_ - static_cast<std::int64_t>(candidate.value));
        visit(size_ + row, most_);
    }
    /// Most of the first rows get their best column: no path has to be found.
    bool take_best(int row) {
        std::int64_t best = unreached;
        int best_column = nobody;
        for_each_choice(row, [&](int column, std::int64_t cost) {
            const std::int64_t reduced = cost - price_[static_cast<std::size_t>(column)];
            if (reduced < best || (reduced == best && column == row)) {
                best = reduced;
                best_column = column;
            }
        });
        if (row_of_[static_cast<std::size_t>(best_column)] != nobody) return false;
        assign(row, best_column);
        return true;
    }
    void assign(int row, int column) {
        column_of_[static_cast<std::size_t>(row)] = column;
        row_of_[static_cast<std::size_t>(column)] = row;
    }
    [[nodiscard]] std::int64_t cost_of_assigned(int row) const {
        const int column = column_of_[static_cast<std::size_t>(row)];
        if (column == size_ + row) return most_;
        for (const Candidate& candidate : rows_[static_cast<std::size_t>(row)])
            if (candidate.column == column) return most_ - static_cast<std::int64_t>(candidate.value);
        return most_;
    }

    /// The cheapest way to give one more row a column while other rows change theirs: Dijkstra's algorithm over
    /// columns.
    void augment(int first) {
        using Reached = std::pair<std::int64_t, int>;
        std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
        std::vector<int> touched;
        std::vector<int> done;
        // What a row adds to the distance of the column through which it was reached.
        const auto relax = [&](int row, std::int64_t base) {
            for_each_choice(row, [&](int column, std::int64_t cost) {
                const auto c = static_cast<std::size_t>(column);
                const std::int64_t distance = base + cost - price_[c];
                if (distance >= distance_[c]) return;
                if (distance_[c] == unreached) touched.push_back(column);
                distance_[c] = distance;
                before_[c] = row;
                queue.push({distance, column});
            });
        };
        relax(first, 0);
        int last = nobody;
        std::int64_t shortest = 0;
        while (last == nobody) {
            const auto [distance, column] = queue.top(); // a row can always go without, so that there is one
            queue.pop();
            const auto c = static_cast<std::size_t>(column);
            if (distance != distance_[c]) continue;
            const int row = row_of_[c];
            if (row == nobody) {
                last = column;
                shortest = distance;
            } else {
                done.push_back(column);
                relax(row, distance - (cost_of_assigned(row) - price_[c]));
            }
        }
        for (const int column : done)
            price_[static_cast<std::size_t>(column)] += distance_[static_cast<std::size_t>(column)] - shortest;
        for (int column = last; column != nobody;) {
            const int row = before_[static_cast<std::size_t>(column)];
            const int next = row == first ? nobody : column_of_[static_cast<std::size_t>(row)];
            assign(row, column);
            column = next;
        }
        for (const int column : touched) distance_[static_cast<std::size_t>(column)] = unreached;
    }

    /// Rows without a useful column: first those whose own column is free, then the rest.
    void give_rest() {
        std::vector<int> left;
        for (int row = 0; row < size_; ++row)
            if (column_of_[static_cast<std::size_t>(row)] >= size_) {
                if (row_of_[static_cast<std::size_t>(row)] == nobody) assign(row, row);
                else left.push_back(row);
            }
        int column = 0;
        for (const int row : left) {
            while (row_of_[static_cast<std::size_t>(column)] != nobody) ++column;
            assign(row, column);
        }
    }

    std::span<const std::vector<Candidate>> rows_;
    int size_;
    std::int64_t most_ = 0;
    std::vector<int> column_of_; ///< by row
    std::vector<int> row_of_;    ///< by column
    std::vector<std::int64_t> price_;
    std::vector<std::int64_t> distance_; ///< of a search
    std::vector<int> before_;            ///< the row through which a column was reached
};

} // namespace

std::vector<int> best_assignment(std::span<const std::vector<Candidate>> rows) {
    std::vector<int> columns = AssignmentSearch{rows}.columns();
    std::vector<int> own(rows.size());
    std::iota(own.begin(), own.end(), 0);
    const auto value = [&](const std::vector<int>& assigned) {
        std::uint64_t sum = 0;
        for (std::size_t row = 0; row < rows.size(); ++row)
            for (const Candidate& candidate : rows[row])
                if (candidate.column == assigned[row]) sum += candidate.value;
        return sum;
    };
    return value(own) == value(columns) ? own : columns;
}

} // namespace lapwing::detail::distribution
