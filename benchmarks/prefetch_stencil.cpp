// prefetch/prk-stencil: the kernel Stencil of the Parallel Research Kernels. A star of radius 2 takes the divergence of
// a field, to which each step adds one everywhere. Correct is what the kernels' reference calls it: the mean of |out|
// is known. Beyond the reference, each element is compared.
#include "prefetch_application.hpp"

#include <lapwing/halo.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lapwing::bench {
namespace {

constexpr std::int64_t radius = 2;
constexpr std::int64_t steps_of_a_run = 10; ///< the reference's iterations and the one before that it does not time
constexpr double x_slope = 1;               ///< COEFX of the reference
constexpr double y_slope = 1;               ///< COEFY

template <class Field>
void add_divergence(const Field& in, const Indexed<double, 2>& out, const Domain<2>& points) {
    for (const std::int64_t i : points.range(0))
        for (const std::int64_t j : points.range(1)) {
            double sum = 0;
            for (std::int64_t r = 1; r <= radius; ++r)
                sum +=
                    (in(i, j + r) - in(i, j - r) + in(i + r, j) - in(i - r, j)) / static_cast<double>(2 * r * radius);
            out(i, j) += sum;
        }
}

class PrkStencil final : public Application {
public:
    PrkStencil(const Context& context, Runtime& runtime) : runtime_{runtime}, n_{side(context, 2, 1024, 4096)} {}

    [[nodiscard]] Size size() const override {
        return {.input = fmt::format("{0} x {0} points, a step", n_),
                .steps = steps_of_a_run,
                .reads = radius * (radius + 1) / 2 * border_faces(in_)};
    }
    void start() override {
        for (const auto& [i, j] : in_.local_domain()) {
            in_.local(i, j) = x_slope * static_cast<double>(i) + y_slope * static_cast<double>(j);
            out_.local(i, j) = 0;
        }
    }
    void run(const Sample& sample, const PrefetchCalls& calls) override {
        calls.before_loop();
        for (std::int64_t step = 0; step < sample.steps; ++step) {
            read_from(in_, mapped_, [&](const auto& in) { add_divergence(in, own_out_, points_); });
            runtime_.barrier();
            change_own(in_, [](double& value) { value += 1; });
            runtime_.barrier();
            calls.in_loop(step);
        }
        calls.after_loop();
    }
    void run_by_hand(std::int64_t steps) override {
        Halo halo{in_, radius};
        const Indexed field{halo.view(), halo.domain().first()};
        for (std::int64_t step = 0; step < steps; ++step) {
            halo.fetch();
            runtime_.barrier(); // all have their copies
            add_divergence(field, own_out_, points_);
            change_own(in_, [](double& value) { value += 1; });
            runtime_.barrier();
        }
    }
    bool make_with_halo() override {
        in_ = {runtime_, {n_, n_}, Block{}, {.name = "in", .halo = radius}};
        return true;
    }
    void check(const Sample& sample) override {
        const double expected = static_cast<double>(sample.steps) * (x_slope + y_slope);
        double norm = 0;
        double error = 0;
        for (const auto& [i, j] : points_) {
            norm += std::abs(own_out_(i, j));
            error = std::max(error, std::abs(own_out_(i, j) - expected));
        }
        norm = runtime_.sum(norm) / static_cast<double>(in_.domain().expand(-radius).size());
        // The norm does not see old copies: what they add on one side of a border they take away on the other.
        error = std::max(runtime_.max(error), std::abs(norm - expected));
        require_result(error <= 1e-8, "prefetch/prk-stencil",
                       fmt::format("the norm is {} instead of {}, the largest error {}", norm, expected, error));
    }
    [[nodiscard]] PrefetchCalls prefetch_calls(const PrefetchOptions& options) override {
        return {.before_loop = [this, options] { in_.prefetch(Stencil{.depth = radius, .corners = false}, options); },
                .in_loop = [this](std::int64_t) { in_.update(); },
                .after_loop = [this] { in_.evict(); }};
    }
    [[nodiscard]] PrefetchCalls mapping_calls() override {
        return {.before_loop = [this] { mapped_ = in_.mapped(Stencil{.depth = radius, .corners = false}); },
                .in_loop = [this](std::int64_t) { mapped_.refresh(); },
                .after_loop = [this] { mapped_ = {}; }};
    }

private:
    Runtime& runtime_;
    std::int64_t n_;
    GlobalArray<double, 2> in_{runtime_, {n_, n_}, Block{}, {.name = "in"}};
    GlobalArray<double, 2> out_{runtime_, {n_, n_}, Block{}, {.name = "out"}};
    MappedArray<double, 2> mapped_;
    Indexed<double, 2> own_out_{out_};
    Domain<2> points_ =
        out_.local_domain().intersect(out_.domain().expand(-radius)); ///< of the result that are computed here
};

const Registration registration{
    {.name = "prefetch/prk-stencil",
     .summary = "Stencil of the Parallel Research Kernels, point by point, against copies by hand",
     .run = measure_application<PrkStencil>,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
