#include "model/transfer_model.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lapwing::detail::model {

TransferModel::TransferModel(std::span<const TransferLine> lines, const Aggregation& aggregation)
    : count_{std::min(lines.size(), most_lines)}, aggregation_{aggregation} {
    std::ranges::copy_n(lines.begin(), static_cast<std::ptrdiff_t>(count_), lines_.begin());
    lines_[0].begin_bytes = 0;
}

const TransferLine& TransferModel::line_of(std::uint64_t bytes) const noexcept {
    std::size_t i = count_ == 0 ? 0 : count_ - 1;
    while (i > 0 && bytes < lines_[i].begin_bytes) --i;
    return lines_[i];
}

double TransferModel::gap(std::uint64_t bytes) const noexcept {
    const TransferLine& line = line_of(bytes);
    const std::uint64_t each = aggregation_.operations_per_message(bytes);
    return line.overhead + line.per_byte * static_cast<double>(bytes) +
           (each > 0 ? line.message / static_cast<double>(each) : 0);
}

double TransferModel::time(std::uint64_t bytes, std::uint64_t operations) const noexcept {
    const TransferLine& line = line_of(bytes);
    const auto size = static_cast<double>(bytes);
    return (operations > 1 ? line.batch_latency : line.latency) + line.latency_per_byte * size +
           static_cast<double>(operations) * (line.overhead + line.per_byte * size) +
           static_cast<double>(aggregation_.further_messages(bytes, operations)) * line.message;
}

double TransferModel::latency(std::uint64_t bytes, std::uint64_t operations) const noexcept {
    return time(bytes, operations) - static_cast<double>(operations) * gap(bytes);
}

double TransferModel::issue(std::uint64_t bytes) const noexcept {
    const TransferLine& line = line_of(bytes);
    return std::min(line.issue + line.issue_per_byte * static_cast<double>(bytes), gap(bytes));
}

void TransferModel::set_overlap(double overlap) noexcept { overlap_ = std::clamp(overlap, 0.0, 1.0); }

void TransferModel::scale(double factor) noexcept {
    for (TransferLine& line : lines_) {
        line.latency *= factor;
        line.batch_latency *= factor;
        line.overhead *= factor;
        line.per_byte *= factor;
        line.issue *= factor;
        line.issue_per_byte *= factor;
        line.latency_per_byte *= factor;
        line.message *= factor;
    }
}

TransferModel joined(const TransferModel& below, const TransferModel& above, const Aggregation& aggregation) {
    const std::uint64_t begin_bytes = aggregation.largest + 1;
    std::vector<TransferLine> lines;
    for (const TransferLine& line : below.lines())
        if (line.begin_bytes < begin_bytes) lines.push_back(line);
    lines.push_back(above.line_of(begin_bytes));
    lines.back().begin_bytes = begin_bytes;
    for (const TransferLine& line : above.lines())
        if (line.begin_bytes > begin_bytes) lines.push_back(line);
    const std::size_t left_out = lines.size() - std::min(lines.size(), TransferModel::most_lines);
    TransferModel model{std::span{lines}.subspan(left_out), aggregation};
    model.set_overlap(above.overlap());
    return model;
}

FitQuality judge(const TransferModel& model, std::span<const TransferSample> samples) {
    FitQuality quality;
    if (samples.empty() || model.empty()) return quality;
    double mean = 0;
    for (const TransferSample& sample : samples) mean += sample.seconds / static_cast<double>(samples.size());
    double residual = 0;
    double total = 0;
    std::size_t near = 0;
    for (const TransferSample& sample : samples) {
        const double predicted = model.time(sample.bytes, sample.operations);
        residual += (sample.seconds - predicted) * (sample.seconds - predicted);
        total += (sample.seconds - mean) * (sample.seconds - mean);
        near += std::abs(predicted / sample.seconds - 1) <= 0.15 ? 1U : 0U;
        quality.worst_ratio = std::max({quality.worst_ratio, predicted / sample.seconds, sample.seconds / predicted});
    }
    quality.r_squared = total > 0 ? 1 - residual / total : 0;
    quality.within_15 = static_cast<double>(near) / static_cast<double>(samples.size());
    return quality;
}

} // namespace lapwing::detail::model
