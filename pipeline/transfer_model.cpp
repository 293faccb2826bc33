#include "pipeline/transfer_model.hpp"

#include <algorithm>
#include <cmath>

namespace lapwing::pipeline {

TransferModel::TransferModel(std::span<const TransferPiece> pieces) : count_{std::min(pieces.size(), most_pieces)} {
    std::ranges::copy_n(pieces.begin(), static_cast<std::ptrdiff_t>(count_), pieces_.begin());
    pieces_[0].begin_bytes = 0;
}

const TransferPiece& TransferModel::piece(std::uint64_t bytes) const noexcept {
    std::size_t i = count_ == 0 ? 0 : count_ - 1;
    while (i > 0 && bytes < pieces_[i].begin_bytes) --i;
    return pieces_[i];
}

double TransferModel::gap(std::uint64_t bytes) const noexcept {
    const TransferPiece& line = piece(bytes);
    return line.overhead + line.per_byte * static_cast<double>(bytes);
}

double TransferModel::time(std::uint64_t bytes, std::uint64_t operations) const noexcept {
    return latency(bytes, operations) + static_cast<double>(operations) * gap(bytes);
}

double TransferModel::issue(std::uint64_t bytes) const noexcept {
    const TransferPiece& line = piece(bytes);
    return std::min(line.issue + line.issue_per_byte * static_cast<double>(bytes), gap(bytes));
}

void TransferModel::set_overlap(double overlap) noexcept { overlap_ = std::clamp(overlap, 0.0, 1.0); }

void TransferModel::snap_change(std::uint64_t bytes) noexcept {
    for (std::size_t i = 1; i < count_; ++i) {
        std::uint64_t& begin = pieces_[i].begin_bytes;
        const bool free = pieces_[i - 1].begin_bytes < bytes && (i + 1 == count_ || bytes < pieces_[i + 1].begin_bytes);
        if (free && begin < bytes + bytes / 2 && bytes < begin + begin / 2) begin = bytes;
    }
}

void TransferModel::scale(double factor) noexcept {
    for (TransferPiece& line : pieces_) {
        line.latency *= factor;
        line.batch_latency *= factor;
        line.overhead *= factor;
        line.per_byte *= factor;
        line.issue *= factor;
        line.issue_per_byte *= factor;
    }
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

} // namespace lapwing::pipeline
