#include "pipeline/fit_overlap.hpp"

#include "model/typical_time.hpp"
#include "pipeline/planner.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/plan.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <vector>

namespace lapwing::detail::pipeline {
namespace {

constexpr std::array<std::uint64_t, 3> chunk_counts{2, 4, 8};
/// How many times faster pipelines of so many chunks are than everything at once.
using Gains = std::array<double, chunk_counts.size()>;
constexpr std::size_t least_count = 10; // half of them with everything at once first

/// Executes each plan after the first in turns with the first, which packs everything at once, and takes the medians.
template <class TimeOf>
Gains measured_gains(std::vector<Plan>& plans, TimeOf time_of, double seconds) {
    // The first and the second alternate: machines are sometimes faster, sometimes slower.
    std::array<std::vector<double>, chunk_counts.size()> quotients;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t n = 0; n < least_count || (n < 200 && model::seconds_since(begin) < seconds); ++n)
        for (std::size_t i = 0; i < quotients.size(); ++i) {
            const bool chunks_first = n % 2 == 0;
            const double first = time_of(plans[chunks_first ? i + 1 : 0]);
            const double second = time_of(plans[chunks_first ? 0 : i + 1]);
            quotients[i].push_back(chunks_first ? second / first : first / second);
        }
    Gains gains{};
    for (std::size_t i = 0; i < gains.size(); ++i) {
        const auto middle = quotients[i].begin() + static_cast<std::ptrdiff_t>(quotients[i].size() / 2);
        std::ranges::nth_element(quotients[i], middle);
        gains[i] = *middle;
    }
    return gains;
}

/// The overlap for which the sum of the squared errors of the logarithms of the predicted gains is least. `bytes` are
/// the bytes that the chunks are counted of.
double overlap_of(const Gains& gains, const TransferShape& shape, const model::TransferModel& model,
                  const model::CopyModel& copies, std::uint64_t bytes) {
    const auto error = [&](double overlap) {
        model::TransferModel with = model;
        with.set_overlap(overlap);
        const auto predicted = [&](std::uint64_t count, std::uint64_t slots) {
            return predict_packed(shape, {.first = bytes / count, .growth = 1, .largest = bytes / count}, slots, with,
                                  copies);
        };
        double sum = 0;
        for (std::size_t i = 0; i < gains.size(); ++i)
            sum += std::pow(std::log(predicted(1, 1) / predicted(chunk_counts[i], 4) / gains[i]), 2);
        return sum;
    };
    double best = 0;
    for (double overlap = 0; overlap <= 1; overlap += 0.02)
        if (error(overlap) < error(best)) best = overlap;
    return best;
}

} // namespace

double fit_overlap(Window& window, Rank target, Direction direction, const model::TransferModel& model,
                   const model::CopyModel& copies, std::uint64_t bytes, std::span<std::byte> memory, double seconds) {
    constexpr std::uint64_t block = 12; // the copy takes about as long as the wire of a fast network
    constexpr std::uint64_t least_bytes = 256 * 1024;
    const auto all_of_them = [&] { return 2.0 * chunk_counts.size() * least_count * model.time(bytes); };
    while (bytes > least_bytes && all_of_them() > 2 * seconds) bytes /= 2;
    const std::uint64_t blocks = bytes / block;
    const Layout local = Layout::strided(blocks, block, 2 * block);
    const Layout remote = Layout::contiguous(local.bytes());
    const auto plan_of = [&](Strategy strategy, std::uint64_t chunk) {
        const PlanOptions options{.strategy = strategy, .first_chunk = chunk, .growth = 1, .largest_chunk = chunk};
        return direction == Direction::put ? Plan::put(window, local, target, Offset{0}, remote, options)
                                           : Plan::get(window, target, Offset{0}, remote, local, options);
    };
    std::vector<Plan> plans; // everything at once, then the pipelines
    plans.push_back(plan_of(Strategy::full_pack, 0));
    for (const std::uint64_t count : chunk_counts) plans.push_back(plan_of(Strategy::fixed_pipeline, bytes / count));
    const auto time_of = [&](Plan& plan) {
        const auto start = std::chrono::steady_clock::now();
        plan.execute(memory);
        if (direction == Direction::put) window.flush(target);
        return model::seconds_since(start);
    };
    const Gains gains = measured_gains(plans, time_of, seconds);
    const TransferShape shape{.direction = direction,
                              .path = window.path(target),
                              .bytes = local.bytes(),
                              .local = shape_of(local),
                              .remote = shape_of(remote)};
    return overlap_of(gains, shape, model, copies, bytes);
}

} // namespace lapwing::detail::pipeline
