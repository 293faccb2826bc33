#pragma once

#include <lapwing/detail/direction.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace lapwing::detail::model {

using transport::Direction;

/// How a path aggregates small operations: several travel in one message, which has room for `room` bytes, where an
/// operation takes `head` bytes and its own, rounded up to 8.
struct Aggregation {
    std::uint64_t largest = 0; ///< bytes of the largest operation that is aggregated; 0: each travels by itself
    std::uint64_t room = 0;
    std::uint64_t head = 0;

    /// Operations of `bytes` that a message holds; 0: they are not aggregated.
    [[nodiscard]] std::uint64_t operations_per_message(std::uint64_t bytes) const noexcept {
        return largest > 0 && bytes <= largest ? room / (head + (bytes + 7) / 8 * 8) : 0;
    }
    /// Messages of so many operations beyond the first; 0 where they are not aggregated.
    [[nodiscard]] std::uint64_t further_messages(std::uint64_t bytes, std::uint64_t operations) const noexcept {
        const std::uint64_t each = operations_per_message(bytes);
        return each > 0 && operations > 0 ? (operations - 1) / each : 0;
    }
    friend bool operator==(const Aggregation&, const Aggregation&) = default;
};

/// Times of contiguous transfers with sizes from `begin_bytes` on: `operations` of them, started one after the other
/// and then completed at both ends, take
///
///     latency + latency_per_byte * bytes + operations * (overhead + per_byte * bytes) + further_messages * message
///
/// (Schneider, Gerstenberger and Hoefler, "Compiler Optimizations for Non-Contiguous Remote Data Movement", section 4:
/// L, o and G), where the latency of several differs from that of one: the service path sends the first at once, and
/// gathers the others until its answer arrives. The last term is of operations that are aggregated, see Aggregation;
/// the second is the time of the memory at both ends, which overlaps with other transfers. Of all that, the calls that
/// start the transfers keep the origin's processor for issue + issue_per_byte * bytes each.
struct TransferLine {
    std::uint64_t begin_bytes = 0;
    double latency = 0;       ///< L of one operation alone, seconds
    double batch_latency = 0; ///< L of several, seconds
    double overhead = 0;      ///< o, seconds; may be negative where the line begins so late that gap() is not
    double per_byte = 0;      ///< G, seconds
    double issue = 0;
    double issue_per_byte = 0;
    double latency_per_byte = 0;
    double message = 0; ///< a further message of aggregated operations, seconds
};

/// A measured (or predicted) batch of transfers.
struct TransferSample {
    std::uint64_t bytes = 0;      ///< of each
    std::uint64_t operations = 1; ///< started before the first is waited for
    double seconds = 0;           ///< until all are complete at both ends
    double issue_seconds = 0;     ///< until all are started
};

/// T(bytes) of one path, network and direction. The paper's one line holds on networks that treat all sizes alike; here
/// it is a few lines, each for a range of sizes, since MPI libraries change protocol with the size (eager and
/// rendezvous) and Lapwing's service path does (inside a packet, or straight from memory).
class TransferModel {
public:
    static constexpr std::size_t most_lines = 5;

    TransferModel() = default;
    /// Lines in ascending order; the first begins at 0.
    explicit TransferModel(std::span<const TransferLine> lines, const Aggregation& aggregation = {});

    [[nodiscard]] std::span<const TransferLine> lines() const noexcept { return {lines_.data(), count_}; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] const TransferLine& line_of(std::uint64_t bytes) const noexcept;
    [[nodiscard]] const Aggregation& aggregation() const noexcept { return aggregation_; }

    /// Seconds until `operations` transfers of `bytes` each are complete.
    [[nodiscard]] double time(std::uint64_t bytes, std::uint64_t operations = 1) const noexcept;
    /// Seconds after which the next transfer can follow one of `bytes`: o + G s, and its share of a message.
    [[nodiscard]] double gap(std::uint64_t bytes) const noexcept;
    /// Seconds of the origin's processor that the call to start one takes; never more than gap().
    [[nodiscard]] double issue(std::uint64_t bytes) const noexcept;
    /// What `operations` transfers take beyond their gaps, the last of which has so many bytes: L, less the first
    /// message, of which every gap has a share. May be negative.
    [[nodiscard]] double latency(std::uint64_t bytes, std::uint64_t operations) const noexcept;

    /// How much of a transfer under way goes on while the origin's processor does something else: 1 all, 0 nothing.
    [[nodiscard]] double overlap() const noexcept { return overlap_; }
    void set_overlap(double overlap) noexcept;

    /// Line number `index`, which must not be 0, begins at so many bytes.
    void set_begin(std::size_t index, std::uint64_t bytes) noexcept { lines_[index].begin_bytes = bytes; }

    /// All times `factor` times as long.
    void scale(double factor) noexcept;

private:
    std::array<TransferLine, most_lines> lines_{};
    std::size_t count_ = 0;
    double overlap_ = 0;
    Aggregation aggregation_;
};

/// Operations that are aggregated as `below` says, larger ones as `above` does, with the overlap of `above`. Of more
/// lines than a model has, the shortest sizes' go.
[[nodiscard]] TransferModel joined(const TransferModel& below, const TransferModel& above,
                                   const Aggregation& aggregation);

/// Lowers the times of samples that something else on the machine disturbed: a batch of as many operations of more
/// bytes that took less time shows what it takes at most. For few measurements; of many, typical times are better
/// evidence.
void remove_disturbances(std::span<TransferSample> samples);

/// How well a model describes samples.
struct FitQuality {
    double r_squared = 0;   ///< share of the samples' variance that the model explains
    double within_15 = 0;   ///< share of the samples that it predicts within 15 %
    double worst_ratio = 1; ///< the largest of predicted / measured and its inverse
};

[[nodiscard]] FitQuality judge(const TransferModel& model, std::span<const TransferSample> samples);

/// Fits a model to samples: least squares of the relative errors, since sizes span seven orders of magnitude, with
/// outliers weighted down (iteratively reweighted, Huber's loss), parameters not negative, and as many lines as pay for
/// themselves (Bayesian information criterion). A line ends where operations are no longer aggregated, if there are two
/// sizes on either side. Samples with a time that is not positive and finite are left out. Gives an empty model when
/// fewer than two sizes remain.
[[nodiscard]] TransferModel fit_transfers(std::span<const TransferSample> samples, const Aggregation& aggregation = {});

/// Finds where one line really gives way to the next, which a fit only knows to be between two sizes that differ by
/// `step`, by bisection: a size belongs to the line that `time_of(bytes)`, in seconds, is closer to. Asks for six sizes
/// at each change of more than 10 %; others do not matter, and the end of aggregation is known.
void refine_changes(TransferModel& model, double step, const std::function<double(std::uint64_t)>& time_of);

} // namespace lapwing::detail::model
