#include "model/measure_transfers.hpp"

#include "model/typical_time.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/completion.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

namespace lapwing::detail::model {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs one batch at a time; has room for its completions.
class BatchRunner {
public:
    BatchRunner(Window& window, Rank target, Direction direction, std::span<std::byte> memory)
        : window_{window}, target_{target}, direction_{direction}, memory_{memory} {}

    void start(const TransferCell& cell) {
        if (completions_.size() < cell.operations) completions_.resize(cell.operations);
        // Every batch uses other addresses, as a program's transfers do: at the same addresses, small batches would
        // stay in the caches and large ones would not, whatever the size of each transfer.
        const std::uint64_t batch_bytes = cell.operations * cell.bytes;
        if (batch_bytes > memory_.size() - position_) position_ = 0;
        for (std::uint64_t i = 0; i < cell.operations; ++i) {
            const Offset offset{position_ + i * cell.bytes};
            const std::span<std::byte> mine = memory_.subspan(offset.bytes, cell.bytes);
            completions_[i] = direction_ == Direction::put ? window_.start_put(target_, offset, mine)
                                                           : window_.start_get(target_, offset, mine);
        }
        position_ += batch_bytes;
    }
    void complete() {
        for (Completion& completion : completions_) completion.wait();
        if (direction_ == Direction::put) window_.flush(target_);
    }
    /// Seconds for a batch, and for the calls that start it.
    std::pair<double, double> run(const TransferCell& cell) {
        const auto begin = Clock::now();
        start(cell);
        const double issued = seconds_since(begin);
        complete();
        return {seconds_since(begin), issued};
    }

private:
    Window& window_;
    Rank target_;
    Direction direction_;
    std::span<std::byte> memory_;
    std::vector<Completion> completions_;
    std::uint64_t position_ = 0;
};

} // namespace

std::vector<TransferCell> transfer_grid(std::uint64_t largest_bytes) {
    std::vector<TransferCell> cells;
    for (std::uint64_t bytes = 8; bytes <= largest_bytes; bytes *= 2)
        for (const std::uint64_t operations : {1U, 4U, 16U})
            if (operations == 1 || bytes * operations <= largest_bytes) cells.push_back({bytes, operations});
    return cells;
}

std::vector<TransferSample> measure_transfers(Window& window, Rank target, Direction direction,
                                              std::span<const TransferCell> cells, std::span<std::byte> memory,
                                              double seconds) {
    constexpr int rounds = 7;
    constexpr std::size_t most_a_round = 200;
    BatchRunner batch{window, target, direction, memory};
    std::vector<std::vector<double>> times(cells.size());
    std::vector<std::vector<double>> issue_times(cells.size());
    const auto all_begin = Clock::now();
    const double slice = seconds / (rounds * static_cast<double>(cells.size()));
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            // Each cell once, however slow the network is; then those that still finish in time. Few of them are large.
            const double left = seconds - seconds_since(all_begin);
            const double last = times[i].empty() ? 0 : times[i].back();
            if (round > 0 && 2 * last > left) continue;
            // What ran before has left the caches and the progress threads in another state.
            if (left > 0) (void)batch.run(cells[i]);
            const auto begin = Clock::now();
            for (std::size_t n = 0; n == 0 || (n < most_a_round && seconds_since(begin) < slice); ++n) {
                const auto [all, issued] = batch.run(cells[i]);
                times[i].push_back(all);
                issue_times[i].push_back(issued);
            }
        }
    }
    std::vector<TransferSample> samples;
    for (std::size_t i = 0; i < cells.size(); ++i)
        samples.push_back({cells[i].bytes, cells[i].operations, typical_time(times[i]), typical_time(issue_times[i])});
    return samples;
}

Aggregation aggregation_of(team::TeamState& team, Path path, Direction direction) {
    const messages::Engine& engine = team.engine();
    const std::uint64_t head = direction == Direction::put ? sizeof(messages::Request) : sizeof(messages::Reply);
    std::uint64_t largest = 0;
    if (path == Path::service) largest = engine.inline_limit();
    if (path == Path::rma && team.paths().small_by_messages) largest = team.least_rma_bytes() - 1;
    return largest == 0 ? Aggregation{} : Aggregation{.largest = largest, .room = engine.packet_room(), .head = head};
}

void refine_changes(TransferModel& model, Window& window, Rank target, Direction direction, std::span<std::byte> memory,
                    double seconds) {
    BatchRunner batch{window, target, direction, memory};
    const auto begin = Clock::now();
    refine_changes(model, 2, [&](std::uint64_t bytes) {
        const TransferCell cell{std::min<std::uint64_t>(bytes, memory.size()), 1};
        std::vector<double> times;
        for (int i = 0; i < 21 && (i < 3 || seconds_since(begin) < seconds); ++i)
            times.push_back(batch.run(cell).first);
        return typical_time(times);
    });
}

double measure_overlap(const std::function<void()>& start, const std::function<void()>& complete,
                       std::size_t least_count, double seconds) {
    // Copies between private buffers that stay in the cache, as packing does; in slices, to end on time.
    std::vector<std::byte> from(16384);
    std::vector<std::byte> to(16384);
    const auto compute_for = [&](double length) {
        const auto begin = Clock::now();
        while (seconds_since(begin) < length) {
            std::memcpy(to.data(), from.data(), from.size());
            asm volatile("" : : "r"(to.data()) : "memory");
        }
    };
    std::vector<double> alone;
    std::vector<double> issue;
    std::vector<double> both;
    // What is left after the call that starts the transfer, over all samples: single calls may take longer than a
    // typical transfer.
    const auto rest = [&] { return typical_time(alone) - typical_time(issue); };
    const auto begin = Clock::now();
    for (std::size_t n = 0; n < least_count || (n < 200 && seconds_since(begin) < seconds); ++n) {
        const auto first = Clock::now();
        start();
        issue.push_back(seconds_since(first));
        complete();
        alone.push_back(seconds_since(first));
        const double length = std::max(rest(), 0.0);
        const auto second = Clock::now();
        start();
        compute_for(length);
        complete();
        both.push_back(seconds_since(second));
    }
    constexpr double least_share = 0.1; // of a transfer: less is within the noise, and not worth hiding
    if (!(rest() > least_share * typical_time(alone))) return 0; // the call that starts it does all of it
    // Nothing hidden: all that the call left is still to be done after the computation.
    return std::clamp(1 - (typical_time(both) - typical_time(alone)) / rest(), 0.0, 1.0);
}

} // namespace lapwing::detail::model
