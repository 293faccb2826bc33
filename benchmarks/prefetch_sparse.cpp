// prefetch/prk-sparse: the kernel Sparse of the Parallel Research Kernels. The matrix couples each point of a periodic
// grid with the 24 around it in a star, with the points in scrambled order: each row reads all over the vector. Correct
// is what the kernels' reference calls it: the sum over the result is known.
#include "prefetch_application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t radius = 6;
constexpr std::int64_t row_entries = 4 * radius + 1;
constexpr std::int64_t steps_of_a_run = 4; ///< the reference's iterations and the one before that it does not time

/// The low bits in reverse: the point's place in the vector.
[[nodiscard]] std::int64_t scramble(std::int64_t point, int bits) {
    std::int64_t reversed = 0;
    for (int bit = 0; bit < bits; ++bit) reversed |= (point >> bit & 1) << (bits - 1 - bit);
    return reversed;
}

/// Rows of the matrix, each with row_entries entries in ascending order of their columns.
class Rows {
public:
    /// Of 2^bits rows.
    Rows(const Range& rows, int bits) : bits_{bits} {
        for (const std::int64_t row : rows) add_row(row);
    }
    /// Row number `row` of these, times x.
    template <class Vector>
    [[nodiscard]] double times(const Vector& x, std::int64_t row) const {
        double sum = 0;
        const auto first = static_cast<std::size_t>(row * row_entries);
        for (std::size_t k = first; k < first + row_entries; ++k) sum += values_[k] * x(columns_[k]);
        return sum;
    }

    /// Those that have entries, in ascending order.
    [[nodiscard]] std::vector<std::int64_t> columns() const {
        std::vector<std::int64_t> columns = columns_;
        std::ranges::sort(columns);
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        return columns;
    }

private:
    void add_row(std::int64_t row) {
        const std::int64_t width = std::int64_t{1} << bits_ / 2;
        const std::int64_t height = std::int64_t{1} << (bits_ - bits_ / 2);
        const auto add = [&](std::int64_t i, std::int64_t j) {
            columns_.push_back(scramble((i & (width - 1)) + (j & (height - 1)) * width, bits_));
        };
        const std::int64_t i = row % width;
        const std::int64_t j = row / width;
        add(i, j);
        for (std::int64_t r = 1; r <= radius; ++r) {
            add(i + r, j);
            add(i - r, j);
            add(i, j + r);
            add(i, j - r);
        }
        std::sort(columns_.end() - row_entries, columns_.end());
        for (std::size_t k = values_.size(); k < columns_.size(); ++k)
            values_.push_back(1 / static_cast<double>(columns_[k] + 1));
    }

    int bits_;
    std::vector<std::int64_t> columns_;
    std::vector<double> values_;
};

/// Of the number of rows, which is a power of two.
[[nodiscard]] int logarithm(const Context& context) {
    return (context.options().full ? 20 : 14) +
           (context.options().weak ? static_cast<int>(std::bit_width(static_cast<unsigned>(context.size() - 1))) : 0);
}

class PrkSparse final : public Application {
public:
    PrkSparse(const Context& context, Runtime& runtime) : runtime_{runtime}, bits_{logarithm(context)} {}

    [[nodiscard]] Size size() const override {
        const auto own = static_cast<std::int64_t>(rows_.size());
        return {.input = fmt::format("{} rows of {}, a product", n_, row_entries),
                .steps = steps_of_a_run,
                .reads = own * row_entries * (n_ - own) / n_, // scrambled: as many of each rank
                .parts = own};
    }
    void start() override {
        std::ranges::fill(x_.local_span(), 0.0);
        std::ranges::fill(y_.local_span(), 0.0);
        add_to_vector();
    }
    void run(const Sample& sample, const PrefetchCalls& calls) override {
        calls.before_loop();
        for (std::int64_t step = 0; step < sample.steps; ++step) {
            read_from(x_, mapped_, [&](const auto& x) { multiply(x, sample.stride); });
            runtime_.barrier();
            add_to_vector();
            runtime_.barrier();
            calls.in_loop(step);
        }
        calls.after_loop();
    }
    void run_by_hand(std::int64_t steps) override {
        std::vector<double> all(static_cast<std::size_t>(n_));
        const Indexed copy{LocalView<double, 1>{all.data(), {n_}}, {0}};
        for (std::int64_t step = 0; step < steps; ++step) {
            x_(x_.domain()).get(all);
            runtime_.barrier(); // all have their copies
            multiply(copy, 1);
            add_to_vector();
            runtime_.barrier();
        }
    }
    void check(const Sample& sample) override {
        // Each entry times its element of the vector is the number of the step.
        const auto sampled = static_cast<std::int64_t>(rows_.by(sample.stride).size());
        const auto entries = static_cast<double>(runtime_.sum(sampled) * row_entries);
        const double expected = 0.5 * entries * static_cast<double>(sample.steps * (sample.steps + 1));
        const double sum = y_.sum();
        require_result(std::abs(sum - expected) <= 1e-8, "prefetch/prk-sparse",
                       fmt::format("the vector's sum is {} instead of {}", sum, expected));
    }
    [[nodiscard]] PrefetchCalls prefetch_calls(const PrefetchOptions& options) override {
        return {.before_loop =
                    [this, options, exact = !needed_.empty()] {
                        if (exact) x_.prefetch(Custom{needed_}, options);
                        else x_.prefetch(AllToAll{}, options);
                    },
                .in_loop = [this](std::int64_t) { x_.update(); },
                .after_loop = [this] { x_.evict(); }};
    }

    [[nodiscard]] PrefetchCalls mapping_calls() override {
        return {.before_loop =
                    [this, exact = !needed_.empty()] {
                        mapped_ = exact ? x_.mapped(Custom{needed_}) : x_.mapped(AllToAll{});
                    },
                .in_loop = [this](std::int64_t) { mapped_.refresh(); },
                .after_loop = [this] { mapped_ = {}; }};
    }

    bool prefetch_exactly() override {
        needed_ = needed();
        return true;
    }

private:
    /// The runs of other ranks' elements that this rank's rows read, in the table's entry of this rank.
    [[nodiscard]] std::vector<std::vector<Domain<1>>> needed() const {
        std::vector<std::vector<Domain<1>>> table(static_cast<std::size_t>(runtime_.size()));
        std::vector<Domain<1>>& runs = table[static_cast<std::size_t>(runtime_.rank().value)];
        const std::vector<std::int64_t> columns = matrix_.columns();
        for (std::size_t k = 0; k < columns.size();) {
            const std::size_t first = k++;
            while (k < columns.size() && columns[k] == columns[k - 1] + 1) ++k;
            runs.push_back(Domain<1>{Range{columns[first], columns[k - 1] + 1}});
        }
        return table;
    }
    void add_to_vector() {
        auto place = static_cast<double>(rows_.first());
        for (double& element : x_.local_span()) element += ++place;
    }
    /// Every stride-th own row.
    template <class Vector>
    void multiply(const Vector& x, std::int64_t stride) {
        const auto y = y_.local_span();
        for (std::int64_t row = 0; row < std::ssize(y); row += stride)
            y[static_cast<std::size_t>(row)] += matrix_.times(x, row);
    }

    Runtime& runtime_;
    int bits_;
    std::int64_t n_ = std::int64_t{1} << bits_;
    GlobalArray<double, 1> x_{runtime_, {n_}, Block{}, {.name = "x"}};
    GlobalArray<double, 1> y_{runtime_, {n_}, Block{}, {.name = "y"}};
    MappedArray<double, 1> mapped_;
    Range rows_ = y_.local_domain().range(0);
    Rows matrix_{rows_, bits_};
    std::vector<std::vector<Domain<1>>> needed_; ///< empty: all elements are prefetched
};

const Registration registration{
    {.name = "prefetch/prk-sparse",
     .summary = "Sparse of the Parallel Research Kernels, the vector read element by element, against copies by hand",
     .run = measure_application<PrkSparse>,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
