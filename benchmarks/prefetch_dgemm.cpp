// prefetch/dgemm: the kernel DGEMM of the Parallel Research Kernels, C += A B by tiles. All three matrices are dealt in
// blocks of both dimensions: a tile of C needs rows of A and columns of B. Correct is what the kernels' reference calls
// it: the sum over C is known.
#include "prefetch_application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t tile = 32;
constexpr std::int64_t steps_of_a_run = 2; ///< the reference's iterations and the one before that it does not time

using Tile = std::array<std::array<double, tile>, tile>;

template <class Matrix>
void load(const Matrix& matrix, const Domain<2>& part, Tile& to) {
    const auto [top, left] = part.first();
    for (const std::int64_t i : part.range(0))
        for (const std::int64_t j : part.range(1))
            to[static_cast<std::size_t>(i - top)][static_cast<std::size_t>(j - left)] = matrix(i, j);
}

/// The part of C, of a tile at most, += rows of A times columns of B.
template <class Left, class Right>
void multiply(const Left& a, const Right& b, const Indexed<double, 2>& c, const Domain<2>& part, std::int64_t n) {
    Tile aa{};
    Tile bb{};
    Tile cc{};
    for (std::int64_t k = 0; k < n; k += tile) {
        const Range inner{k, std::min(k + tile, n)};
        load(a, {part.range(0), inner}, aa);
        load(b, {inner, part.range(1)}, bb);
        for (std::size_t i = 0; i < part.range(0).size(); ++i)
            for (std::size_t kk = 0; kk < inner.size(); ++kk)
                for (std::size_t j = 0; j < tile; ++j) cc[i][j] += aa[i][kk] * bb[kk][j];
    }
    const auto [top, left] = part.first();
    for (const auto& [i, j] : part)
        c(i, j) += cc[static_cast<std::size_t>(i - top)][static_cast<std::size_t>(j - left)];
}

class Dgemm final : public Application {
public:
    Dgemm(const Context& context, Runtime& runtime) : runtime_{runtime}, n_{side(context, 2, 256, 4096, tile)} {
        const Domain<2> own = c_.local_domain();
        for (const auto& [i, j] : Domain<2>{own.range(0).by(tile), own.range(1).by(tile)})
            tiles_.push_back(Domain<2>{{i, i + tile}, {j, j + tile}}.intersect(own));
    }

    [[nodiscard]] Size size() const override {
        const Domain<2> own = c_.local_domain();
        const auto others = 2 * n_ - static_cast<std::int64_t>(own.range(0).size() + own.range(1).size());
        const auto tiles = static_cast<std::int64_t>(tiles_.size());
        return {.input = fmt::format("{0} x {0} elements, a product", n_),
                .steps = steps_of_a_run,
                .reads = tiles * tile * others,
                .parts = tiles};
    }
    void start() override {
        for (const auto& [i, j] : c_.local_domain()) {
            a_.local(i, j) = b_.local(i, j) = static_cast<double>(j);
            c_.local(i, j) = 0;
        }
    }
    void run(const Sample& sample, const PrefetchCalls& calls) override {
        calls.before_loop();
        for (std::int64_t step = 0; step < sample.steps; ++step) {
            const auto a = mapped_a_.view();
            const auto b = mapped_b_.view();
            for (std::size_t t = 0; t < tiles_.size(); t += static_cast<std::size_t>(sample.stride))
                if (a.data_handle() != nullptr) multiply(a, b, own_c_, tiles_[t], n_);
                else multiply(a_, b_, own_c_, tiles_[t], n_);
            runtime_.barrier();
            calls.in_loop(step);
        }
        calls.after_loop();
    }
    void run_by_hand(std::int64_t steps) override {
        const Range rows = c_.local_domain().range(0);
        const Range columns = c_.local_domain().range(1);
        const auto height = static_cast<std::int64_t>(rows.size());
        const auto width = static_cast<std::int64_t>(columns.size());
        std::vector<double> rows_of_a(static_cast<std::size_t>(height * n_));
        std::vector<double> columns_of_b(static_cast<std::size_t>(n_ * width));
        const Indexed a{LocalView<double, 2>{rows_of_a.data(), {height, n_}}, {rows.first(), 0}};
        const Indexed b{LocalView<double, 2>{columns_of_b.data(), {n_, width}}, {0, columns.first()}};
        for (std::int64_t step = 0; step < steps; ++step) {
            Completion a_is_here = a_({rows, {0, n_}}).start_get(rows_of_a);
            b_({{0, n_}, columns}).get(columns_of_b);
            a_is_here.wait();
            for (const Domain<2>& part : tiles_) multiply(a, b, own_c_, part, n_);
            runtime_.barrier();
        }
    }
    void check(const Sample& sample) override {
        // An element of column j is j n (n - 1) / 2 after each step; over all columns that sums up to n^3 (n - 1)^2
        // / 4.
        const auto n = static_cast<double>(n_);
        double expected = 0;
        for (std::size_t t = 0; t < tiles_.size(); t += static_cast<std::size_t>(sample.stride))
            for (const auto& [i, j] : tiles_[t]) expected += static_cast<double>(sample.steps * j) * n * (n - 1) / 2;
        expected = runtime_.sum(expected);
        const double sum = c_.sum();
        require_result(std::abs(sum - expected) <= 1e-8 * expected, "prefetch/dgemm",
                       fmt::format("the sum over C is {} instead of {}", sum, expected));
    }
    [[nodiscard]] PrefetchCalls prefetch_calls(const PrefetchOptions& options) override {
        return {.before_loop =
                    [this, options] {
                        a_.prefetch(RowWise{}, options);
                        b_.prefetch(ColumnWise{}, options);
                    },
                .in_loop =
                    [this](std::int64_t) {
                        a_.update();
                        b_.update();
                    },
                .after_loop =
                    [this] {
                        a_.evict();
                        b_.evict();
                    }};
    }
    [[nodiscard]] PrefetchCalls mapping_calls() override {
        return {.before_loop =
                    [this] {
                        mapped_a_ = a_.mapped(RowWise{});
                        mapped_b_ = b_.mapped(ColumnWise{});
                    },
                .in_loop =
                    [this](std::int64_t) {
                        mapped_a_.refresh();
                        mapped_b_.refresh();
                    },
                .after_loop = [this] { mapped_a_ = mapped_b_ = {}; }};
    }

private:
    Runtime& runtime_;
    std::int64_t n_;
    GlobalArray<double, 2> a_{runtime_, {n_, n_}, Block{}, {.name = "a"}};
    GlobalArray<double, 2> b_{runtime_, {n_, n_}, Block{}, {.name = "b"}};
    GlobalArray<double, 2> c_{runtime_, {n_, n_}, Block{}, {.name = "c"}};
    MappedArray<double, 2> mapped_a_;
    MappedArray<double, 2> mapped_b_;
    Indexed<double, 2> own_c_{c_};
    std::vector<Domain<2>> tiles_; ///< of the local part of C
};

const Registration registration{
    {.name = "prefetch/dgemm",
     .summary = "DGEMM of the Parallel Research Kernels, its tiles read element by element, against copies by hand",
     .run = measure_application<Dgemm>,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
