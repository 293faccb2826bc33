// How a TransferModel is fitted to samples.
#include "model/transfer_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace lapwing::detail::model {
namespace {

constexpr std::size_t terms = 6;
using Row = std::array<double, terms>; ///< what a sample's time is a sum of: parameters times these

/// Timers and neighbours on the machine blur every median by about this much, so that a smaller error is no reason for
/// another line.
constexpr double noise = 0.04;

/// One equation: row * parameters = value, to be met with this weight.
struct Equation {
    Row row{};
    double value = 0;
    double weight = 1;
};

using Matrix = std::array<std::array<double, terms + 1>, terms>;

/// The normal equations of all parameters, the right side in the last column.
Matrix normal_equations(std::span<const Equation> equations) {
    Matrix all{};
    for (const Equation& equation : equations)
        for (std::size_t i = 0; i < terms; ++i) {
            const double scaled = equation.weight * equation.row[i];
            for (std::size_t j = 0; j < terms; ++j) all[i][j] += scaled * equation.row[j];
            all[i][terms] += scaled * equation.value;
        }
    return all;
}

/// Least squares over the parameters in `mask`, the others 0. False if their equations are singular.
bool solve(const Matrix& normal, unsigned mask, Row& parameters) {
    std::array<std::size_t, terms> chosen{};
    std::size_t n = 0;
    for (std::size_t i = 0; i < terms; ++i)
        if ((mask >> i & 1U) != 0) chosen[n++] = i;
    Matrix m{};
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) m[i][j] = normal[chosen[i]][chosen[j]];
        m[i][n] = normal[chosen[i]][terms];
    }
    // Bytes and counts differ by many orders of magnitude: bring the diagonal to 1.
    std::array<double, terms> scale{};
    for (std::size_t i = 0; i < n; ++i) {
        if (!(m[i][i] > 0)) return false;
        scale[i] = 1 / std::sqrt(m[i][i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) m[i][j] *= scale[i] * scale[j];
        m[i][n] *= scale[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (m[i][i] < 1e-9) return false;
        for (std::size_t k = i + 1; k < n; ++k) {
            const double factor = m[k][i] / m[i][i];
            for (std::size_t j = i; j <= n; ++j) m[k][j] -= factor * m[i][j];
        }
    }
    parameters = {};
    for (std::size_t i = n; i-- > 0;) {
        double value = m[i][n];
        for (std::size_t j = i + 1; j < n; ++j) value -= m[i][j] * parameters[chosen[j]] / scale[j];
        parameters[chosen[i]] = value / m[i][i] * scale[i];
    }
    return true;
}

double error_of(std::span<const Equation> equations, const Row& parameters) {
    double sum = 0;
    for (const Equation& equation : equations) {
        double predicted = 0;
        for (std::size_t i = 0; i < terms; ++i) predicted += equation.row[i] * parameters[i];
        sum += equation.weight * (predicted - equation.value) * (predicted - equation.value);
    }
    return sum;
}

/// The best parameters that are not negative, of those in `allowed`. With so few the subsets that may be positive can
/// all be tried.
Row solve_not_negative(std::span<const Equation> equations, unsigned allowed) {
    const Matrix normal = normal_equations(equations);
    Row best{};
    double best_error = std::numeric_limits<double>::infinity();
    for (unsigned mask = 1; mask <= allowed; ++mask) {
        if ((mask & ~allowed) != 0) continue;
        Row parameters{};
        if (!solve(normal, mask, parameters) || std::ranges::any_of(parameters, [](double p) { return p < 0; }))
            continue;
        if (const double error = error_of(equations, parameters); error < best_error) {
            best_error = error;
            best = parameters;
        }
    }
    return best;
}

struct Solution {
    Row parameters{};
    double loss = 0; ///< sum of Huber's loss of the relative errors, in units of the noise
};

/// Huber's loss: grows with the square of errors within the noise, and linearly beyond.
double loss_of(double relative_error) {
    const double ratio = std::abs(relative_error) / noise;
    return ratio <= 1 ? ratio * ratio : 2 * ratio - 1;
}

constexpr unsigned all_terms = (1U << terms) - 1;
constexpr std::size_t hidden_term = 4; ///< latency_per_byte

/// Fits values by relative error, robustly.
Solution solve_robustly(std::vector<Equation> equations, unsigned allowed = all_terms) {
    for (Equation& equation : equations) equation.weight = 1 / (equation.value * equation.value);
    Solution solution;
    constexpr int rounds = 8;
    for (int round = 0; round < rounds; ++round) {
        solution.parameters = solve_not_negative(equations, allowed);
        solution.loss = 0;
        for (Equation& equation : equations) {
            double predicted = 0;
            for (std::size_t t = 0; t < terms; ++t) predicted += equation.row[t] * solution.parameters[t];
            const double error = predicted / equation.value - 1;
            solution.loss += loss_of(error);
            // With these weights least squares has its minimum where the sum of Huber's losses has.
            equation.weight =
                std::min(1.0, noise / std::max(std::abs(error), 1e-12)) / (equation.value * equation.value);
        }
    }
    return solution;
}

Solution fit_line(std::span<const TransferSample> samples, const Aggregation& aggregation) {
    std::vector<Equation> equations;
    for (const TransferSample& sample : samples) {
        const auto operations = static_cast<double>(sample.operations);
        const auto bytes = static_cast<double>(sample.bytes);
        const bool alone = sample.operations == 1;
        const auto further = static_cast<double>(aggregation.further_messages(sample.bytes, sample.operations));
        equations.push_back(
            {.row = {alone ? 1.0 : 0.0, alone ? 0.0 : 1.0, operations, operations * bytes, bytes, further},
             .value = sample.seconds});
    }
    // Within a long transfer, whatever can overlap with its other bytes already does: sharing the wire makes it no
    // faster.
    constexpr std::uint64_t long_bytes = 32 * 1024;
    const bool all_long = samples.front().bytes >= long_bytes;
    return solve_robustly(std::move(equations), all_long ? all_terms & ~(1U << hidden_term) : all_terms);
}

/// Processor time of one start call.
Solution fit_issue(std::span<const TransferSample> samples) {
    std::vector<Equation> equations;
    for (const TransferSample& sample : samples) {
        const double each = sample.issue_seconds / static_cast<double>(sample.operations);
        if (each > 0) equations.push_back({.row = {1, 0, 0, static_cast<double>(sample.bytes)}, .value = each});
    }
    return equations.empty() ? Solution{} : solve_robustly(std::move(equations));
}

/// The samples that are of use, in ascending order of their sizes, which go by number.
class SamplesBySize {
public:
    explicit SamplesBySize(std::span<const TransferSample> all) {
        for (const TransferSample& sample : all)
            if (std::isfinite(sample.seconds) && sample.seconds > 0 && sample.operations > 0)
                samples_.push_back(sample);
        std::ranges::stable_sort(samples_, {}, &TransferSample::bytes);
        for (std::size_t i = 0; i < samples_.size(); ++i)
            if (i == 0 || samples_[i].bytes != samples_[i - 1].bytes) starts_.push_back(i);
        sizes_ = starts_.size();
        starts_.push_back(samples_.size());
    }

    [[nodiscard]] std::size_t sizes() const noexcept { return sizes_; }
    [[nodiscard]] std::size_t samples() const noexcept { return samples_.size(); }
    [[nodiscard]] std::uint64_t bytes(std::size_t size) const noexcept { return samples_[starts_[size]].bytes; }
    /// Samples of sizes [first, last).
    [[nodiscard]] std::span<const TransferSample> range(std::size_t first, std::size_t last) const noexcept {
        return std::span{samples_}.subspan(starts_[first], starts_[last] - starts_[first]);
    }

private:
    std::vector<TransferSample> samples_;
    std::vector<std::size_t> starts_; ///< where each size begins, and the end
    std::size_t sizes_ = 0;
};

/// Where lines may begin and end, and what one must be worth.
class LineRules {
public:
    LineRules(const SamplesBySize& samples, const Aggregation& aggregation)
        : samples_{samples}, aggregation_{aggregation}, sizes_{samples.sizes()} {
        while (first_alone_ < sizes_ && samples.bytes(first_alone_) <= aggregation.largest) ++first_alone_;
        if (first_alone_ < 2 || sizes_ - first_alone_ < 2)
            first_alone_ = sizes_; // one size says nothing of how times grow
    }

    /// Whether sizes [first, last) may be a line: noise would make more of fewer. There may be no more on this side of
    /// the end of aggregation.
    [[nodiscard]] bool allow(std::size_t first, std::size_t last) const noexcept {
        constexpr std::size_t least = 3;
        const std::size_t side_begin = first < first_alone_ ? 0 : first_alone_;
        const std::size_t side_end = first < first_alone_ ? first_alone_ : sizes_;
        return last <= side_end && (last - first >= least || (first == side_begin && last == side_end));
    }
    /// What a line must be worth: a number for each term, of which the last is for messages, and one for its begin.
    [[nodiscard]] double price(std::size_t first) const noexcept {
        const double numbers = samples_.bytes(first) <= aggregation_.largest ? terms + 1 : terms;
        return numbers * std::log(static_cast<double>(samples_.samples()));
    }
    /// From how many bytes on the line counts that begins with size number `first`.
    [[nodiscard]] std::uint64_t begin_bytes(std::size_t first) const noexcept {
        if (first == 0) return 0;
        if (first == first_alone_) return aggregation_.largest + 1;
        // The change is somewhere between two sizes that were measured: where their ratios are alike.
        const double product =
            static_cast<double>(samples_.bytes(first)) * static_cast<double>(samples_.bytes(first - 1));
        return static_cast<std::uint64_t>(std::sqrt(product)) + 1;
    }

private:
    const SamplesBySize& samples_;
    const Aggregation& aggregation_;
    std::size_t sizes_;
    std::size_t first_alone_ = 0; ///< the first size that is not aggregated: there, a line begins
};

constexpr double impossible = std::numeric_limits<double>::infinity();
/// Loss and price of the line of sizes [i, j).
using LineLosses = std::vector<std::vector<double>>;

LineLosses line_losses(const SamplesBySize& samples, const LineRules& rules, const Aggregation& aggregation) {
    const std::size_t sizes = samples.sizes();
    LineLosses loss;
    for (std::size_t i = 0; i < sizes; ++i) {
        std::vector<double>& from = loss.emplace_back(sizes + 1, impossible);
        for (std::size_t j = i + 1; j <= sizes; ++j)
            if (rules.allow(i, j)) from[j] = fit_line(samples.range(i, j), aggregation).loss + rules.price(i);
    }
    return loss;
}

/// Where the lines begin with which the sum of their losses is the least, and the end of the last.
std::vector<std::size_t> best_cut(const LineLosses& loss) {
    const std::size_t sizes = loss.size();
    const std::size_t most = std::min(TransferModel::most_lines, sizes);
    // best[k][j]: least loss and price of the first j sizes in k + 1 lines; from[k][j]: where the last of them begins.
    std::vector<std::vector<double>> best(most, std::vector<double>(sizes + 1, impossible));
    std::vector<std::vector<std::size_t>> from(most, std::vector<std::size_t>(sizes + 1, 0));
    for (std::size_t j = 0; j <= sizes; ++j) best[0][j] = loss[0][j];
    for (std::size_t k = 1; k < most; ++k)
        for (std::size_t j = 0; j <= sizes; ++j)
            for (std::size_t i = 1; i < j; ++i) {
                const double sum = best[k - 1][i] + loss[i][j];
                if (sum < best[k][j]) {
                    best[k][j] = sum;
                    from[k][j] = i;
                }
            }
    std::size_t chosen = 0;
    for (std::size_t k = 1; k < most; ++k)
        if (best[k][sizes] < best[chosen][sizes]) chosen = k;
    std::vector<std::size_t> cut(chosen + 2);
    cut[chosen + 1] = sizes;
    for (std::size_t k = chosen; k > 0; --k) cut[k] = from[k][cut[k + 1]];
    return cut;
}

/// The model of samples that are one line.
TransferLine fitted_line(std::span<const TransferSample> samples, const Aggregation& aggregation,
                         std::uint64_t begin_bytes) {
    // A few noisy sizes may seem to take no time of their own: a call does, and a byte moves through some memory.
    constexpr double least_call = 150e-9;
    constexpr double least_overhead = 1e-9; // where the calls were not timed
    constexpr double least_per_byte = 1e-12;
    const Row times = fit_line(samples, aggregation).parameters;
    const Row call = fit_issue(samples).parameters;
    // Without several at a time or without one alone: the other's latency is the best guess.
    const bool no_batches = std::ranges::all_of(samples, [](const auto& s) { return s.operations == 1; });
    const bool no_single = std::ranges::none_of(samples, [](const auto& s) { return s.operations == 1; });
    return {.begin_bytes = begin_bytes,
            .latency = no_single ? times[1] : times[0],
            .batch_latency = no_batches ? times[0] : times[1],
            // Where 16 of the shortest take as long as one, a million still take a call each.
            .overhead = std::max({times[2], std::min(call[0], least_call), least_overhead}),
            .per_byte = std::max(times[3], least_per_byte),
            .issue = call[0],
            .issue_per_byte = call[3],
            .latency_per_byte = times[4],
            .message = times[5]};
}

} // namespace

void remove_disturbances(std::span<TransferSample> samples) {
    for (TransferSample& sample : samples) {
        for (const TransferSample& other : samples)
            if (other.operations == sample.operations && other.bytes > sample.bytes)
                sample.seconds = std::min(sample.seconds, other.seconds);
        sample.issue_seconds = std::min(sample.issue_seconds, sample.seconds);
    }
}

TransferModel fit_transfers(std::span<const TransferSample> all, const Aggregation& aggregation) {
    const SamplesBySize samples{all};
    if (samples.sizes() < 2) return {};
    const LineRules rules{samples, aggregation};
    const std::vector<std::size_t> cut = best_cut(line_losses(samples, rules, aggregation));
    std::vector<TransferLine> lines;
    for (std::size_t k = 0; k + 1 < cut.size(); ++k)
        lines.push_back(fitted_line(samples.range(cut[k], cut[k + 1]), aggregation, rules.begin_bytes(cut[k])));
    return TransferModel{lines, aggregation};
}

void refine_changes(TransferModel& model, double step, const std::function<double(std::uint64_t)>& time_of) {
    const auto time_on = [](const TransferLine& line, double bytes) {
        return line.latency + line.overhead + (line.latency_per_byte + line.per_byte) * bytes;
    };
    for (std::size_t i = 1; i < model.lines().size(); ++i) {
        const TransferLine& below = model.lines()[i - 1];
        const TransferLine& above = model.lines()[i];
        if (model.aggregation().largest != 0 && above.begin_bytes == model.aggregation().largest + 1) continue;
        auto low = static_cast<double>(above.begin_bytes) / std::sqrt(step);
        auto high = static_cast<double>(above.begin_bytes) * std::sqrt(step);
        const double middle = static_cast<double>(above.begin_bytes);
        if (std::abs(std::log(time_on(above, middle) / time_on(below, middle))) < std::log(1.1)) continue;
        for (int question = 0; question < 6; ++question) {
            const double bytes = std::floor((low + high) / 2);
            const double seconds = time_of(static_cast<std::uint64_t>(bytes));
            const double from_below = std::abs(std::log(seconds / time_on(below, bytes)));
            const double from_above = std::abs(std::log(seconds / time_on(above, bytes)));
            (from_below <= from_above ? low : high) = bytes;
        }
        model.set_begin(i, static_cast<std::uint64_t>(high));
    }
}

} // namespace lapwing::detail::model
