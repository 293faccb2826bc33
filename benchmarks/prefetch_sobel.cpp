// prefetch/sobel: edges in the frames of a film, by an operator that reads the eight pixels around each.
#include "prefetch_application.hpp"

#include "sobel.hpp"

#include <lapwing/halo.hpp>

#include <fmt/format.h>

namespace lapwing::bench {
namespace {

using detail::kernels::Pixels;

constexpr std::int64_t frames = 8;
constexpr std::int64_t brighter = 37; ///< each frame than the one before, modulo 256

/// The pixel (i, j) of a frame.
[[nodiscard]] std::uint8_t scene(std::int64_t frame, std::int64_t i, std::int64_t j) {
    const std::int64_t grain = (i * 73 ^ j * 151) & 31;
    return static_cast<std::uint8_t>(3 * i + 5 * j + grain + brighter * frame);
}

template <class Frame>
void detect_edges(const Frame& frame, const Indexed<std::uint8_t, 2>& edges, const Domain<2>& points) {
    for (const std::int64_t i : points.range(0))
        for (const std::int64_t j : points.range(1)) edges(i, j) = detail::kernels::edge_strength(frame, i, j);
}

class Sobel final : public Application {
public:
    Sobel(const Context& context, Runtime& runtime) : runtime_{runtime}, n_{side(context, 2, 1024, 20'000)} {}

    [[nodiscard]] Size size() const override {
        return {
            .input = fmt::format("{0} x {0} pixels, a frame", n_), .steps = frames, .reads = 3 * border_faces(image_)};
    }
    void start() override {
        for (const auto& [i, j] : image_.local_domain()) image_.local(i, j) = scene(0, i, j);
    }
    void run(const Sample& sample, const PrefetchCalls& calls) override {
        calls.before_loop();
        for (std::int64_t frame = 0; frame < sample.steps; ++frame) {
            read_from(image_, mapped_, [&](const auto& image) { detect_edges(image, own_edges_, points_); });
            runtime_.barrier();
            next_frame();
            runtime_.barrier();
            calls.in_loop(frame);
        }
        calls.after_loop();
    }
    void run_by_hand(std::int64_t steps) override {
        Halo halo{image_, 1};
        const Indexed pixels{halo.view(), halo.domain().first()};
        for (std::int64_t frame = 0; frame < steps; ++frame) {
            halo.fetch();
            runtime_.barrier(); // all have their copies
            detect_edges(pixels, own_edges_, points_);
            next_frame();
            runtime_.barrier();
        }
    }
    bool make_with_halo() override {
        image_ = {runtime_, {n_, n_}, Block{}, {.name = "image", .halo = 1}};
        return true;
    }
    void check(const Sample& sample) override {
        const auto last = [&](std::int64_t i, std::int64_t j) { return scene(sample.steps - 1, i, j); };
        std::int64_t wrong = 0;
        for (const auto& [i, j] : points_)
            wrong += own_edges_(i, j) != detail::kernels::edge_strength(last, i, j) ? 1 : 0;
        wrong = runtime_.sum(wrong);
        require_result(wrong == 0, "prefetch/sobel", fmt::format("{} pixels of frame {}", wrong, sample.steps - 1));
    }
    [[nodiscard]] PrefetchCalls prefetch_calls(const PrefetchOptions& options) override {
        return {.before_loop = [this, options] { image_.prefetch(Stencil{.depth = 1, .corners = true}, options); },
                .in_loop = [this](std::int64_t) { image_.update(); },
                .after_loop = [this] { image_.evict(); }};
    }
    [[nodiscard]] PrefetchCalls mapping_calls() override {
        return {.before_loop = [this] { mapped_ = image_.mapped(Stencil{.depth = 1, .corners = true}); },
                .in_loop = [this](std::int64_t) { mapped_.refresh(); },
                .after_loop = [this] { mapped_ = {}; }};
    }

private:
    void next_frame() {
        change_own(image_, [](std::uint8_t& pixel) { pixel = static_cast<std::uint8_t>(pixel + brighter); });
    }

    Runtime& runtime_;
    std::int64_t n_;
    Pixels image_{runtime_, {n_, n_}, Block{}, {.name = "image"}};
    Pixels edges_{runtime_, {n_, n_}, Block{}, {.name = "edges"}};
    MappedArray<std::uint8_t, 2> mapped_;
    Indexed<std::uint8_t, 2> own_edges_{edges_};
    Domain<2> points_ =
        edges_.local_domain().intersect(edges_.domain().expand(-1)); ///< of the edges that are computed here
};

const Registration registration{{.name = "prefetch/sobel",
                                 .summary = "edges in the frames of a film, pixel by pixel, against copies by hand",
                                 .run = measure_application<Sobel>,
                                 .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
