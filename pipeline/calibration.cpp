#include "pipeline/calibration.hpp"

#include "pipeline/measure_transfers.hpp"
#include "pipeline/team_costs.hpp"
#include "pipeline/typical_time.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/settings.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <span>
#include <vector>

namespace lapwing::pipeline {
namespace {

using Clock = std::chrono::steady_clock;

const support::NumberSetting calibrate_setting{
    {.name = "LAPWING_CALIBRATE",
     .default_value = "15000",
     .unit = "us",
     .help = "longest measuring of a path that no profile describes, at the first plan for it; 0: none",
     .choices = {}},
    0, 10'000'000};

constexpr std::size_t most_operations = 2;
using Batch = std::function<void(std::uint64_t bytes, std::size_t operations)>;

/// A fit to samples, unless the time was over before they said anything of how the time grows with the size.
TransferModel fit(std::span<const TransferSample> samples) {
    constexpr std::uint64_t least_bytes = 4096;
    const bool enough = std::ranges::any_of(samples, [](const TransferSample& sample) { return sample.bytes >= least_bytes; });
    if (!enough) return {};
    // So few samples on a busy machine may say that an operation, or a byte, takes no time of its own; but a call has to be
    // made for each, and a copy.
    constexpr double least_overhead = 150e-9;
    constexpr double least_per_byte = 20e-12;
    std::vector<TransferPiece> pieces;
    const TransferModel fitted = fit_transfers(samples);
    for (TransferPiece piece : fitted.pieces()) {
        piece.overhead = std::max(piece.overhead, least_overhead);
        piece.per_byte = std::max(piece.per_byte, least_per_byte);
        pieces.push_back(piece);
    }
    return pieces.empty() ? TransferModel{} : TransferModel{pieces};
}

/// Samples of ever larger transfers until the time is over.
std::vector<TransferSample> measure(const Batch& batch, std::uint64_t largest, Clock::time_point deadline) {
    std::vector<TransferSample> samples;
    batch(8, 1); // wakes the other side
    for (std::uint64_t bytes = 8; bytes <= largest; bytes *= 8)
        for (const std::size_t operations : {std::size_t{1}, most_operations}) {
            std::vector<double> times;
            for (int i = 0; i < 5; ++i) {
                const auto begin = Clock::now();
                if (begin >= deadline) break;
                batch(bytes, operations);
                times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
            }
            if (!times.empty()) samples.push_back({bytes, operations, typical_time(times), 0});
        }
    return samples;
}

/// The overlap, from a few transfers; where there is no time left for them, what networks with progress threads have.
double overlap_of(const std::function<void()>& start, const std::function<void()>& complete, Path path, Clock::time_point deadline) {
    constexpr std::size_t transfers = 5;
    if (Clock::now() >= deadline) return built_in_model(path).overlap();
    return measure_overlap(start, complete, transfers, 0);
}

/// Operations of the engine. Those that are not complete at the end of the scope, because something threw, are abandoned: they
/// use memory of the caller.
template <std::size_t count>
class OwnOperations {
public:
    OwnOperations(window::TeamState& team, int target) : team_{team}, target_{target} {}
    ~OwnOperations() {
        for (window::Operation& operation : operations_)
            if (!operation.done()) team_.engine().abandon(operation);
    }
    OwnOperations(const OwnOperations&) = delete;
    OwnOperations& operator=(const OwnOperations&) = delete;

    [[nodiscard]] window::Operation& operator[](std::size_t i) { return operations_[i]; }
    void wait() {
        team_.wait_until(
            [&] { return std::ranges::all_of(operations_, [](const auto& operation) { return operation.done(); }); },
            "Plan: calibration", target_);
    }

private:
    window::TeamState& team_;
    int target_;
    std::array<window::Operation, count> operations_;
};

void calibrate_service(window::TeamState& team, int target, CostModel& model, Clock::time_point deadline, Clock::time_point later) {
    using window::TeamState;
    window::Engine& engine = team.engine();
    std::vector<std::byte> memory(TeamState::calibration_bytes);
    const auto get = [&](std::uint64_t bytes, std::size_t count) {
        OwnOperations<most_operations> operations{team, target};
        for (std::size_t i = 0; i < count; ++i) {
            operations[i].destination = memory.data() + i * bytes;
            team.wait_until(
                [&] { return engine.try_get(operations[i], target, TeamState::calibration_window, i * bytes, bytes, true); },
                "Plan: calibration", target);
        }
        operations.wait();
    };
    const auto put = [&](std::uint64_t bytes, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            OwnOperations<1> copied{team, target}; // complete at once for what a packet holds
            team.wait_until(
                [&] { return engine.try_put(copied[0], target, TeamState::calibration_window, i * bytes, memory.data(), bytes); },
                "Plan: calibration", target);
            copied.wait();
        }
        const auto ticket = engine.start_flush(target);
        team.wait_until([&] { return engine.flushed(target, ticket); }, "Plan: calibration", target);
    };
    const std::uint64_t largest = TeamState::calibration_bytes / most_operations;
    const std::vector<TransferSample> gets = measure(get, largest, deadline);
    // Larger puts are received into their place by MPI, where those of two ranks must not meet.
    std::vector<TransferSample> puts =
        measure(put, std::min(engine.inline_limit(), largest), later);
    for (const TransferSample& sample : gets)
        if (sample.bytes > engine.inline_limit()) puts.push_back(sample);
    OwnOperations<1> one{team, target};
    const double overlap = overlap_of(
        [&] {
            one[0].destination = memory.data();
            team.wait_until(
                [&] { return engine.try_get(one[0], target, TeamState::calibration_window, 0, TeamState::calibration_bytes, true); },
                "Plan: calibration", target);
        },
        [&] { one.wait(); }, Path::service, later);
    const auto use = [&](Direction direction, std::span<const TransferSample> samples) {
        TransferModel fitted = fit(samples);
        if (fitted.empty()) return;
        fitted.set_overlap(overlap);
        model.set_transfers(Path::service, direction, fitted, Source::calibrated);
    };
    use(Direction::get, gets);
    use(Direction::put, puts);
}

void calibrate_rma(window::WindowState& window, int target, CostModel& model, Clock::time_point deadline) {
    constexpr std::uint64_t most_bytes = 256 * 1024;
    const std::uint64_t bytes = std::min(most_bytes, window.map().bytes(target));
    if (bytes < 8 * most_operations) return;
    std::vector<std::byte> memory(bytes);
    const auto get = [&](std::uint64_t size, std::size_t count) {
        if (count == 1) return window.get_uncached(target, 0, {memory.data(), size});
        std::array<Completion, most_operations> completions;
        for (std::size_t i = 0; i < count; ++i) completions[i] = window.start_get(target, i * size, {memory.data() + i * size, size});
        for (Completion& completion : completions) completion.wait();
    };
    TransferModel fitted = fit(measure(get, bytes / most_operations, deadline));
    if (fitted.empty()) return;
    Completion one;
    fitted.set_overlap(overlap_of([&] { one = window.start_get(target, 0, memory); }, [&] { one.wait(); }, Path::rma, deadline));
    for (const Direction direction : {Direction::put, Direction::get})
        model.set_transfers(Path::rma, direction, fitted, Source::calibrated);
}

} // namespace

void calibrate(window::WindowState& window, int target) {
    window::TeamState& team = window.team_state();
    if (team.progress_mode() != ProgressMode::thread) return;
    TeamCosts& costs = team.part<TeamCosts>();
    const std::chrono::microseconds limit{calibrate_setting.get(team.settings())};
    const auto wanted = [&](Path path) {
        return limit.count() != 0 && costs.model().source(path, Direction::put) == Source::built_in && costs.claim_calibration(path);
    };
    const Path path = window.path(target);
    if (path == Path::rma && wanted(Path::rma)) calibrate_rma(window, target, costs.model(), Clock::now() + limit);
    // Messages can take the place of MPI's windows: see Strategy::served.
    if ((path == Path::rma || path == Path::service) && wanted(Path::service)) {
        const auto begin = Clock::now();
        calibrate_service(team, target, costs.model(), begin + 2 * limit / 3, begin + limit);
    }
}

} // namespace lapwing::pipeline
