#include "pipeline/calibration.hpp"

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
    return enough ? fit_transfers(samples) : TransferModel{};
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

/// Waits for service operations, which use memory of this function's caller.
void wait(window::TeamState& team, int target, std::span<window::Operation> operations) {
    const auto done = [&] { return std::ranges::all_of(operations, [](const auto& operation) { return operation.done(); }); };
    try {
        team.wait_until(done, "Plan: calibration", target);
    } catch (...) {
        for (window::Operation& operation : operations)
            if (!operation.done()) team.engine().abandon(operation);
        throw;
    }
}

void calibrate_service(window::TeamState& team, int target, CostModel& model, Clock::time_point deadline, Clock::time_point later) {
    using window::TeamState;
    window::Engine& engine = team.engine();
    std::vector<std::byte> memory(TeamState::calibration_bytes);
    const auto get = [&](std::uint64_t bytes, std::size_t count) {
        std::array<window::Operation, most_operations> operations;
        for (std::size_t i = 0; i < count; ++i) {
            operations[i].destination = memory.data() + i * bytes;
            team.wait_until(
                [&] { return engine.try_get(operations[i], target, TeamState::calibration_window, i * bytes, bytes, true); },
                "Plan: calibration", target);
        }
        wait(team, target, {operations.data(), count});
    };
    const auto put = [&](std::uint64_t bytes, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            window::Operation copied; // complete at once for what a packet holds
            team.wait_until(
                [&] { return engine.try_put(copied, target, TeamState::calibration_window, i * bytes, memory.data(), bytes); },
                "Plan: calibration", target);
            wait(team, target, {&copied, 1});
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
    const auto use = [&](Direction direction, std::span<const TransferSample> samples) {
        TransferModel fitted = fit(samples);
        if (fitted.empty()) return;
        fitted.set_overlap(built_in_model(Path::service).overlap());
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
        if (count == 1) return window.get(target, 0, {memory.data(), size});
        std::array<Completion, most_operations> completions;
        for (std::size_t i = 0; i < count; ++i) completions[i] = window.start_get(target, i * size, {memory.data() + i * size, size});
        for (Completion& completion : completions) completion.wait();
    };
    TransferModel fitted = fit(measure(get, bytes / most_operations, deadline));
    if (fitted.empty()) return;
    fitted.set_overlap(built_in_model(Path::rma).overlap());
    for (const Direction direction : {Direction::put, Direction::get})
        model.set_transfers(Path::rma, direction, fitted, Source::calibrated);
}

} // namespace

void calibrate(window::WindowState& window, int target) {
    const Path path = window.path(target);
    window::TeamState& team = window.team_state();
    if ((path != Path::rma && path != Path::service) || team.progress_mode() != ProgressMode::thread) return;
    TeamCosts& costs = team.part<TeamCosts>();
    if (costs.model().source(path, Direction::put) != Source::built_in) return;
    const std::chrono::microseconds limit{calibrate_setting.get(team.settings())};
    if (limit.count() == 0 || !costs.claim_calibration(path)) return;
    const auto begin = Clock::now();
    const auto end = begin + limit;
    if (path == Path::service) calibrate_service(team, target, costs.model(), begin + 2 * limit / 3, end);
    else calibrate_rma(window, target, costs.model(), end);
}

} // namespace lapwing::pipeline
