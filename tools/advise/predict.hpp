#pragma once

#include "model/cached_platform.hpp"
#include "model/cost_model.hpp"
#include "model/recorded_trace.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace lapwing::advise {

/// What --describe is combined with.
struct PredictionOptions {
    std::string describe;
    std::string profile;
    std::string path = "service";
    std::vector<double> loggp;
    int threads = 0;
    bool cached = false;
    detail::model::CacheSizes cache;
    std::string hits;
    bool speed_up = false;
    bool recorded = false;              ///< predict the run of the trace
    std::string computation;            ///< with it: the trace of the same run on private memory
    std::vector<std::string> platforms; ///< profiles to compare
};

/// Adds all but the profile; returns --describe, which the others need.
CLI::Option* add_options(CLI::App& app, PredictionOptions& options);

/// Prints the prediction for a program that is described. Throws UsageError and FileError.
void predict(const PredictionOptions& options);

/// Prints the prediction for a run that was recorded, on its own platform or another one. Throws UsageError.
void predict(const PredictionOptions& options, const detail::model::RecordedTrace& trace,
             const detail::model::CostTables& tables,
             const std::function<std::vector<std::string>(int rank)>& lines_of_intervals);

/// Prints what platforms are good at (Zhang 2007, chapter 8), and the order in which they run a program that is
/// described. Throws UsageError and FileError.
void compare_platforms(const PredictionOptions& options);

/// The bytes of a file. Throws FileError.
[[nodiscard]] std::string contents_of(const std::string& file);
/// What a profile has; none if it has no name.
[[nodiscard]] std::optional<detail::model::CostTables> costs(const std::string& profile);

} // namespace lapwing::advise
