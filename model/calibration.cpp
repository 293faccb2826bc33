#include "model/calibration.hpp"

#include "model/measure_transfers.hpp"
#include "model/team_costs.hpp"
#include "model/typical_time.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/settings.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::support::settings_in {
void model_calibration() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::model {
namespace {

using Clock = std::chrono::steady_clock;

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting calibrate_setting{
    {.name = "LAPWING_CALIBRATE",
     .default_value = "40000",
     .unit = "us",
     .help = "the longest time to measure a path without a profile, on its first use; 0: none",
     .choices = {}},
    0,
    10'000'000};

constexpr std::size_t most_operations = 8;

/// How the transfers of a batch are started and completed. Together they use at most `memory_bytes`.
struct TransferBatch {
    std::function<void(std::uint64_t bytes, std::size_t operations)> start;
    std::function<void()> complete;
    std::uint64_t memory_bytes;
};

/// A fit to the samples, unless time ran out before they showed how the time grows with the size.
TransferModel fit(std::span<const TransferSample> samples, const Aggregation& aggregation) {
    constexpr std::uint64_t least_bytes = 4096;
    const bool enough =
        std::ranges::any_of(samples, [](const TransferSample& sample) { return sample.bytes >= least_bytes; });
    if (!enough) return {};
    // So few samples on a busy machine may suggest that an operation, or a byte, takes no time; but each needs a call
    // and a copy.
    constexpr double least_overhead = 150e-9;
    constexpr double least_per_byte = 20e-12;
    std::vector<TransferLine> lines;
    const TransferModel fitted = fit_transfers(samples, aggregation);
    for (TransferLine line : fitted.lines()) {
        line.overhead = std::max(line.overhead, least_overhead);
        line.per_byte = std::max(line.per_byte, least_per_byte);
        lines.push_back(line);
    }
    if (lines.empty()) return {};
    // Overlap with other transfers was measured only up to the largest size. Beyond it, every further byte is assumed
    // to take its full time: within one transfer, too, whatever can be hidden is hidden.
    if (lines.size() < TransferModel::most_lines && lines.back().latency_per_byte > 0) {
        const auto largest = static_cast<double>(std::ranges::max_element(samples, {}, &TransferSample::bytes)->bytes);
        TransferLine beyond = lines.back();
        beyond.begin_bytes = static_cast<std::uint64_t>(largest) + 1;
        beyond.latency += beyond.latency_per_byte * largest;
        beyond.batch_latency += beyond.latency_per_byte * largest;
        beyond.overhead -= beyond.latency_per_byte * largest; // so that both lines meet there
        beyond.per_byte += beyond.latency_per_byte;
        beyond.latency_per_byte = 0;
        lines.push_back(beyond);
    }
    return TransferModel{lines, aggregation};
}

/// Samples of increasing transfer sizes, up to `largest` bytes, until time runs out.
std::vector<TransferSample> measure(const TransferBatch& batch, std::uint64_t largest, Clock::time_point deadline) {
    // Denser where MPI changes protocol, so that a line can be fitted on either side.
    constexpr std::array<std::uint64_t, 11> sizes{8,         32,        128,       512,        2048,      8 * 1024,
                                                  16 * 1024, 32 * 1024, 64 * 1024, 128 * 1024, 256 * 1024};
    std::vector<TransferSample> samples;
    batch.start(8, 1); // wakes the target
    batch.complete();
    for (const std::uint64_t bytes : sizes) {
        if (bytes > largest) break;
        const int repetitions = bytes <= 8 * 1024 ? 5 : 3;
        const std::size_t most = batch.memory_bytes / bytes;
        std::size_t measured = 0;
        for (const std::size_t wanted : {std::size_t{1}, std::size_t{2}, most_operations}) {
            const std::size_t operations = std::min(wanted, most);
            if (operations == std::exchange(measured, operations)) continue;
            std::vector<double> times;
            std::vector<double> issue_times;
            for (int i = 0; i < repetitions; ++i) {
                const auto begin = Clock::now();
                if (begin >= deadline) break;
                batch.start(bytes, operations);
                issue_times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
                batch.complete();
                times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
            }
            if (!times.empty()) samples.push_back({bytes, operations, typical_time(times), typical_time(issue_times)});
        }
    }
    remove_disturbances(samples);
    return samples;
}

/// The overlap, from a few transfers of all the memory. If the model predicts that there is no time for them: the
/// value of networks with progress threads.
double overlap_of(const TransferBatch& batch, const TransferModel& model, Path path, Clock::time_point deadline) {
    constexpr std::size_t transfers = 5; // and as many during a computation, which may take as long
    const std::chrono::duration<double> left = deadline - Clock::now();
    if (model.empty() || 3 * transfers * model.time(batch.memory_bytes) > left.count())
        return built_in_model(path).overlap();
    constexpr double noise =
        0.1; // with so few samples: a pipeline on a network without overlap loses more than one with too little gains
    return std::max(measure_overlap([&] { batch.start(batch.memory_bytes, 1); }, batch.complete, transfers, 0) - noise,
                    0.0);
}

/// Installs the model, unless nothing was measured.
void use(CostModel& costs, Path path, Direction direction, TransferModel model, double overlap) {
    if (model.empty()) return;
    model.set_overlap(overlap);
    costs.set_transfers(path, direction, model, Source::calibrated);
}

/// Operations of the engine. Those that are incomplete at the end of the scope, because something threw, are
/// abandoned: they use the caller's memory.
class OwnOperations {
public:
    OwnOperations(team::TeamState& team, int target) : team_{team}, target_{target} {}
    ~OwnOperations() {
        for (messages::Operation& operation : operations_)
            if (!operation.done()) team_.engine().abandon(operation);
    }
    OwnOperations(const OwnOperations&) = delete;
    OwnOperations& operator=(const OwnOperations&) = delete;

    [[nodiscard]] messages::Operation& operator[](std::size_t i) { return operations_[i]; }
    void wait() {
        wait_until(
            [&] { return std::ranges::all_of(operations_, [](const auto& operation) { return operation.done(); }); });
    }
    template <class Done>
    void wait_until(Done&& done) {
        team_.wait_until(done, "Plan: calibration", target_);
    }

private:
    team::TeamState& team_;
    int target_;
    std::array<messages::Operation, most_operations> operations_;
};

void calibrate_service(team::TeamState& team, int target, CostModel& costs, Clock::duration limit) {
    using team::TeamState;
    const auto begin = Clock::now();
    constexpr std::uint64_t all = TeamState::calibration_bytes;
    messages::Engine& engine = team.engine();
    const support::AlignedMemory memory = support::allocate_zeroed(all);
    OwnOperations operations{team, target};
    const TransferBatch gets{.start =
                                 [&](std::uint64_t bytes, std::size_t count) {
                                     for (std::size_t i = 0; i < count; ++i) {
                                         operations[i].destination = memory.get() + i * bytes;
                                         operations.wait_until([&] {
                                             return engine.try_get(operations[i], target, TeamState::calibration_window,
                                                                   i * bytes, bytes, false);
                                         });
                                     }
                                 },
                             .complete = [&] { operations.wait(); },
                             .memory_bytes = all};
    const TransferBatch puts{.start =
                                 [&](std::uint64_t bytes, std::size_t count) {
                                     for (std::size_t i = 0; i < count; ++i)
                                         operations.wait_until([&] {
                                             return engine.try_put(operations[i], target, TeamState::calibration_window,
                                                                   i * bytes, memory.get(), bytes);
                                         });
                                 },
                             .complete =
                                 [&] {
                                     operations.wait();
                                     const auto ticket = engine.start_flush(target);
                                     operations.wait_until([&] { return engine.flushed(target, ticket); });
                                 },
                             .memory_bytes = all};
    const std::vector<TransferSample> got = measure(gets, all, begin + 3 * limit / 5);
    // MPI receives larger puts directly into the window, where those of two ranks must not overlap.
    std::vector<TransferSample> put = measure(puts, std::min(engine.inline_limit(), all), begin + 3 * limit / 4);
    for (const TransferSample& sample : got)
        if (sample.bytes > engine.inline_limit()) put.push_back(sample);
    const TransferModel of_gets = fit(got, aggregation_of(team, Path::service, Direction::get));
    const double overlap = overlap_of(gets, of_gets, Path::service, begin + limit);
    use(costs, Path::service, Direction::get, of_gets, overlap);
    use(costs, Path::service, Direction::put, fit(put, aggregation_of(team, Path::service, Direction::put)), overlap);
}

void calibrate_rma(window::WindowState& window, int target, CostModel& costs, Clock::duration limit) {
    const auto begin = Clock::now();
    team::TeamState& team = window.team_state();
    const std::uint64_t bytes = std::min(team::TeamState::calibration_bytes, window.map().bytes(target));
    if (bytes < 8 * most_operations) return;
    const support::AlignedMemory memory = support::allocate_zeroed(bytes);
    std::array<Completion, most_operations> completions;
    const TransferBatch gets{.start =
                                 [&](std::uint64_t size, std::size_t count) {
                                     for (std::size_t i = 0; i < count; ++i)
                                         completions[i] = window.puts_and_gets().start_get(
                                             target, i * size, {memory.get() + i * size, size});
                                 },
                             .complete =
                                 [&] {
                                     for (Completion& completion : completions) completion.wait();
                                 },
                             .memory_bytes = bytes};
    const TransferModel got =
        fit(measure(gets, bytes, begin + 2 * limit / 3), aggregation_of(team, Path::rma, Direction::get));
    const double overlap = overlap_of(gets, got, Path::rma, begin + limit);
    use(costs, Path::rma, Direction::get, got, overlap);
    // A put would change the window. Small puts travel as messages and are known from those; others are assumed to cost
    // what gets do.
    const Aggregation aggregation = aggregation_of(team, Path::rma, Direction::put);
    const bool known =
        aggregation.largest > 0 && !got.empty() && costs.source(Path::service, Direction::put) != Source::built_in;
    use(costs, Path::rma, Direction::put,
        known ? joined(costs.transfers(Path::service, Direction::put, aggregation.largest), got, aggregation)
              : TransferModel{got.lines(), aggregation},
        overlap);
}

} // namespace

void calibrate(window::WindowState& window, int target) {
    team::TeamState& team = window.team_state();
    if (team.paths().progress != ProgressMode::thread) return;
    TeamCosts& costs = team.part<TeamCosts>();
    const std::chrono::microseconds limit{calibrate_setting.get(team.settings())};
    const auto wanted = [&](Path path) {
        return limit.count() != 0 && costs.model().source(path, Direction::put) == Source::built_in &&
               costs.claim_calibration(path);
    };
    const Path path = window.facts().path(target);
    // Messages can replace MPI's windows: see Strategy::owner_packed.
    if ((path == Path::rma || path == Path::service) && wanted(Path::service))
        calibrate_service(team, target, costs.model(), limit);
    if (path == Path::rma && wanted(Path::rma)) calibrate_rma(window, target, costs.model(), limit);
}

} // namespace lapwing::detail::model
