#pragma once

#include <optional>
#include <span>
#include <string>

namespace lapwing::bench {

/// One line of a result, as in the JSON.
struct Row {
    std::string bench = {};
    std::string case_name = {};
    std::string mpi = {};
    std::string network = {};
    std::string path = {};
    int ranks = 0;
    std::string metric = {};
    double value = 0;
    std::string unit = {};
    std::string baseline = {}; ///< what it is compared with, in words
    std::optional<double> baseline_value = {};
    std::optional<double> ratio = {}; ///< how many times better than the baseline; above 1 is better
    double min = 0;                   ///< of the value, over the repetitions
    double max = 0;
    int repetitions = 0;
    std::optional<double> predicted = {};      ///< the value that the cost model gives
    std::optional<double> predicted_gain = {}; ///< how much less than the baseline's value
};

/// `row` as a line for people.
[[nodiscard]] std::string line(const Row& row);

/// Writes {"machine": …, "rows": …} to `file`, complete or not at all. Throws std::runtime_error.
void write_json(const std::string& file, std::span<const Row> rows);

} // namespace lapwing::bench
