// prefetch/transpose: the kernel Transpose of the Parallel Research Kernels, with rows dealt in blocks to the ranks as
// in the publication: b(i, j) += a(j, i), then a += 1. Correct is what the kernels' reference calls it: all sums are
// known.
#include "prefetch_application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t tile = 8;
constexpr std::int64_t steps_of_a_run = 4; ///< the reference's iterations and the one before that it does not time

/// Every stride-th row of tiles of `rows` rows of b; the others stay.
template <class Matrix>
void add_transpose(const Matrix& a, const Indexed<double, 2>& b, const Range& rows, std::int64_t n,
                   std::int64_t stride) {
    for (const std::int64_t first : rows.by(tile * stride))
        for (std::int64_t left = 0; left < n; left += tile)
            for (std::int64_t i = first; i < std::min(first + tile, rows.last() + 1); ++i)
                for (std::int64_t j = left; j < std::min(left + tile, n); ++j) b(i, j) += a(j, i);
}

class Transposition final : public Application {
public:
    Transposition(const Context& context, Runtime& runtime)
        : runtime_{runtime}, n_{side(context, 2, 512, 8192, tile)} {}

    [[nodiscard]] Size size() const override {
        const auto own = static_cast<std::int64_t>(rows_.size());
        return {.input = fmt::format("{0} x {0} elements, a step", n_),
                .steps = steps_of_a_run,
                .reads = own * (n_ - own),
                .parts = (own + tile - 1) / tile};
    }
    void start() override {
        for (const auto& [i, j] : a_.local_domain()) {
            a_.local(i, j) = static_cast<double>(n_ * i + j);
            b_.local(i, j) = 0;
        }
    }
    void run(const Sample& sample, const PrefetchCalls& calls) override {
        calls.before_loop();
        for (std::int64_t step = 0; step < sample.steps; ++step) {
            read_from(a_, mapped_, [&](const auto& a) { add_transpose(a, own_b_, rows_, n_, sample.stride); });
            runtime_.barrier();
            for (double& value : a_.local_span()) value += 1;
            runtime_.barrier();
            calls.in_loop(step);
        }
        calls.after_loop();
    }
    void run_by_hand(std::int64_t steps) override {
        const auto own = static_cast<std::int64_t>(rows_.size());
        std::vector<double> columns(static_cast<std::size_t>(n_ * own));
        const Indexed copy{LocalView<double, 2>{columns.data(), {n_, own}}, {0, rows_.first()}};
        for (std::int64_t step = 0; step < steps; ++step) {
            a_({{0, n_}, rows_}).get(columns);
            runtime_.barrier(); // all have their copies
            add_transpose(copy, own_b_, rows_, n_, 1);
            for (double& value : a_.local_span()) value += 1;
            runtime_.barrier();
        }
    }
    void check(const Sample& sample) override {
        const std::int64_t increments = sample.steps * (sample.steps - 1) / 2;
        double error = 0;
        for (const auto& [i, j] : b_.local_domain())
            if ((i - rows_.first()) / tile % sample.stride == 0)
                error += std::abs(own_b_(i, j) - static_cast<double>((n_ * j + i) * sample.steps + increments));
        error = runtime_.sum(error);
        require_result(error < 1e-8, "prefetch/transpose", fmt::format("the sum of absolute errors is {}", error));
    }
    [[nodiscard]] PrefetchCalls prefetch_calls(const PrefetchOptions& options) override {
        return {.before_loop = [this, options] { a_.prefetch(Transpose{}, options); },
                .in_loop = [this](std::int64_t) { a_.update(); },
                .after_loop = [this] { a_.evict(); }};
    }
    [[nodiscard]] PrefetchCalls mapping_calls() override {
        return {.before_loop = [this] { mapped_ = a_.mapped(Transpose{}); },
                .in_loop = [this](std::int64_t) { mapped_.refresh(); },
                .after_loop = [this] { mapped_ = {}; }};
    }

private:
    Runtime& runtime_;
    std::int64_t n_;
    GlobalArray<double, 2> a_{runtime_, {n_, n_}, Block{.grid = {0, 1}}, {.name = "a"}};
    GlobalArray<double, 2> b_{runtime_, {n_, n_}, Block{.grid = {0, 1}}, {.name = "b"}};
    MappedArray<double, 2> mapped_;
    Indexed<double, 2> own_b_{b_};
    Range rows_ = b_.local_domain().range(0);
};

const Registration registration{
    {.name = "prefetch/transpose",
     .summary = "Transpose of the Parallel Research Kernels, element by element, against copies by hand",
     .run = measure_application<Transposition>,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
