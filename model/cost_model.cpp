#include "model/cost_model.hpp"

#include <algorithm>
#include <cmath>

namespace lapwing::detail::model {
namespace {

std::size_t path_index(Path path) noexcept {
    // Local memory is reached like a node neighbour's.
    return path == Path::rma ? 1 : path == Path::service ? 2 : 0;
}

} // namespace

TransferModel& CostTables::transfers(Path path, Direction direction) {
    return paths[path_index(path)].transfers[static_cast<std::size_t>(direction)];
}

const TransferModel& CostTables::transfers(Path path, Direction direction) const {
    return paths[path_index(path)].transfers[static_cast<std::size_t>(direction)];
}

TransferModel built_in_model(Path path) {
    TransferLine line;
    if (path == Path::self || path == Path::direct) {
        line = {.overhead = 50e-9, .per_byte = 0.05e-9, .issue = 50e-9, .issue_per_byte = 0.05e-9};
        return TransferModel{{&line, 1}};
    }
    line = {.latency = 20e-6, .batch_latency = 20e-6, .overhead = 3e-6, .per_byte = 0.4e-9, .issue = 2e-6};
    TransferModel model{{&line, 1}};
    model.set_overlap(0.7);
    return model;
}

void CostModel::set(const CostTables& tables, Source source) {
    const std::lock_guard guard{mutex_};
    tables_.copy = tables.copy;
    for (const Path path : {Path::direct, Path::rma, Path::service})
        for (const Direction direction : {Direction::put, Direction::get}) {
            const TransferModel& model = tables.transfers(path, direction);
            if (model.empty()) continue;
            tables_.transfers(path, direction) = model;
            sources_[index(path, direction)] = source;
            drifts_[path_index(path)] = {};
        }
    version_.fetch_add(1, std::memory_order_release);
}

std::size_t CostModel::index(Path path, Direction direction) noexcept {
    return 2 * path_index(path) + static_cast<std::size_t>(direction);
}

TransferModel CostModel::transfers(Path path, Direction direction, std::uint64_t bytes) const {
    const std::lock_guard guard{mutex_};
    const TransferModel& measured = tables_.transfers(path, direction);
    TransferModel model = measured.empty() ? built_in_model(path) : measured;
    model.scale(std::exp(drifts_[path_index(path)][size_class(bytes)].scale));
    return model;
}

Source CostModel::source(Path path, Direction direction) const {
    const std::lock_guard guard{mutex_};
    return sources_[index(path, direction)];
}

CopyModel CostModel::copy() const {
    const std::lock_guard guard{mutex_};
    return tables_.copy;
}

void CostModel::set_transfers(Path path, Direction direction, const TransferModel& model, Source source) {
    const std::lock_guard guard{mutex_};
    tables_.transfers(path, direction) = model;
    sources_[index(path, direction)] = source;
    drifts_[path_index(path)] = {};
    version_.fetch_add(1, std::memory_order_release);
}

void CostModel::observe(Path path, std::uint64_t bytes, double predicted, double observed) {
    if (!(predicted > 0) || !(observed > 0) || !std::isfinite(predicted) || !std::isfinite(observed)) return;
    constexpr double weight = 1.0 / 8;
    constexpr unsigned least_count = 8;
    static const double tolerance = std::log(1.25);
    static const double bound = std::log(4.0);
    static const double most_scale = std::log(16.0);
    const double error = std::clamp(std::log(observed / predicted), -bound, bound);

    const std::lock_guard guard{mutex_};
    Drift& drift = drifts_[path_index(path)][size_class(bytes)];
    ++drift.count;
    // The plain mean at first, or the mean would start as if there had been eight good predictions.
    drift.mean += std::max(weight, 1.0 / drift.count) * (error - drift.mean);
    if (drift.count < least_count || std::abs(drift.mean) <= tolerance) return;
    const double scale = std::clamp(drift.scale + drift.mean, -most_scale, most_scale);
    const bool same = scale == drift.scale;
    drift = {.scale = scale};
    if (same) return;
    ++rescales_;
    version_.fetch_add(1, std::memory_order_release);
}

std::uint64_t CostModel::rescales() const {
    const std::lock_guard guard{mutex_};
    return rescales_;
}

} // namespace lapwing::detail::model
