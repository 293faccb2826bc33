// prefetch/heat: diffusion of heat in a cube, from one array to the other and back, by a stencil of seven points. The
// start is a mode of the cube, of which each step leaves a known share: so every element's temperature is known.
#include "prefetch_application.hpp"

#include "heat.hpp"

#include <lapwing/halo.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace lapwing::bench {
namespace {

using detail::kernels::Temperature;

constexpr std::int64_t steps_of_a_run = 10;
constexpr std::int64_t steps_between_looks = 5; ///< at the largest change

template <class Field>
void diffuse(const Field& now, const Indexed<double, 3>& next, const Domain<3>& points) {
    for (const std::int64_t i : points.range(0))
        for (const std::int64_t j : points.range(1))
            for (const std::int64_t k : points.range(2)) next(i, j, k) = detail::kernels::diffused(now, i, j, k);
}

class Heat final : public Application {
public:
    Heat(const Context& context, Runtime& runtime) : runtime_{runtime}, n_{side(context, 3, 64, 400)} {
        for (std::int64_t i = 0; i < n_; ++i)
            wave_.push_back(i == 0 || i == n_ - 1
                                ? 0.0
                                : std::sin(std::numbers::pi * static_cast<double>(i) / static_cast<double>(n_ - 1)));
    }

    [[nodiscard]] Size size() const override {
        return {.input = fmt::format("{0} x {0} x {0} points, a step", n_),
                .steps = steps_of_a_run,
                .reads = border_faces(fields_[0])};
    }
    void start() override {
        for (const auto& [i, j, k] : fields_[0].local_domain())
            fields_[0].local(i, j, k) = fields_[1].local(i, j, k) = mode(i, j, k);
    }
    void run(const Sample& sample, const PrefetchCalls& calls) override {
        calls.before_loop();
        for (std::int64_t step = 0; step < sample.steps; ++step) {
            read_from(now(step), mapped_[static_cast<std::size_t>(step % 2)],
                      [&](const auto& field) { diffuse(field, Indexed{next(step)}, points_); });
            runtime_.barrier();
            calls.in_loop(step);
            look(step);
        }
        calls.after_loop();
    }
    void run_by_hand(std::int64_t steps) override {
        std::array<Halo<double, 3>, 2> halos{Halo{fields_[0], 1}, Halo{fields_[1], 1}};
        for (std::int64_t step = 0; step < steps; ++step) {
            auto& halo = halos[static_cast<std::size_t>(step % 2)];
            halo.fetch();
            diffuse(Indexed{halo.view(), halo.domain().first()}, Indexed{next(step)}, points_);
            runtime_.barrier();
            look(step);
        }
    }
    bool make_with_halo() override {
        for (Temperature& field : fields_) field = {runtime_, {n_, n_, n_}, Block{}, {.name = "with halo", .halo = 1}};
        return true;
    }
    void check(const Sample& sample) override {
        const double kept =
            1 - 6 * detail::kernels::fourier_number * (1 - std::cos(std::numbers::pi / static_cast<double>(n_ - 1)));
        const double scale = std::pow(kept, static_cast<double>(sample.steps));
        const Indexed<double, 3> field{now(sample.steps)};
        double error = 0;
        for (const auto& [i, j, k] : points_) error = std::max(error, std::abs(field(i, j, k) - scale * mode(i, j, k)));
        if (const std::int64_t looked = sample.steps / steps_between_looks * steps_between_looks; looked > 0) {
            const double largest = std::pow(*std::ranges::max_element(wave_), 3);
            const double change = largest * (1 - kept) * std::pow(kept, static_cast<double>(looked - 1));
            error = std::max(error, std::abs(largest_change_ - change));
        }
        error = runtime_.max(error);
        require_result(error < 1e-12, "prefetch/heat",
                       fmt::format("the largest error is {} after {} steps", error, sample.steps));
    }
    [[nodiscard]] PrefetchCalls prefetch_calls(const PrefetchOptions& options) override {
        const Stencil star{.depth = 1, .corners = false};
        return {.before_loop =
                    [this, star, options] {
                        for (Temperature& field : fields_) field.prefetch(star, options);
                    },
                .in_loop = [this](std::int64_t step) { next(step).update(); },
                .after_loop =
                    [this] {
                        for (Temperature& field : fields_) field.evict();
                    }};
    }
    [[nodiscard]] PrefetchCalls mapping_calls() override {
        return {.before_loop =
                    [this] {
                        for (std::size_t k = 0; k < 2; ++k)
                            mapped_[k] = fields_[k].mapped(Stencil{.depth = 1, .corners = false});
                    },
                .in_loop = [this](std::int64_t step) { mapped_[static_cast<std::size_t>((step + 1) % 2)].refresh(); },
                .after_loop = [this] { mapped_ = {}; }};
    }

private:
    [[nodiscard]] Temperature& now(std::int64_t step) { return fields_[static_cast<std::size_t>(step % 2)]; }
    [[nodiscard]] Temperature& next(std::int64_t step) { return now(step + 1); }
    [[nodiscard]] double mode(std::int64_t i, std::int64_t j, std::int64_t k) const {
        return wave_[static_cast<std::size_t>(i)] * wave_[static_cast<std::size_t>(j)] *
               wave_[static_cast<std::size_t>(k)];
    }
    /// As a program does that ends when little changes.
    void look(std::int64_t step) {
        if ((step + 1) % steps_between_looks != 0) return;
        double change = 0;
        const Indexed before{now(step)};
        const Indexed after{next(step)};
        for (const std::int64_t i : points_.range(0))
            for (const std::int64_t j : points_.range(1))
                for (const std::int64_t k : points_.range(2))
                    change = std::max(change, std::abs(after(i, j, k) - before(i, j, k)));
        largest_change_ = runtime_.max(change);
    }

    Runtime& runtime_;
    std::int64_t n_;
    std::vector<double> wave_; ///< the mode along one edge: half a wave, zero at both ends
    std::array<Temperature, 2> fields_{Temperature{runtime_, {n_, n_, n_}, Block{}, {.name = "even"}},
                                       Temperature{runtime_, {n_, n_, n_}, Block{}, {.name = "odd"}}};
    std::array<MappedArray<double, 3>, 2> mapped_;
    Domain<3> points_ =
        fields_[0].local_domain().intersect(fields_[0].domain().expand(-1)); ///< that change and are own
    double largest_change_ = 0;
};

const Registration registration{{.name = "prefetch/heat",
                                 .summary = "diffusion of heat in a cube, point by point, against copies by hand",
                                 .run = measure_application<Heat>,
                                 .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
