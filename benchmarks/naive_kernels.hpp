#pragma once

#include "harness.hpp"

#include "tools/measure_rates.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string_view>
#include <vector>

/// Kernels of the demo in their naive form, one element at a time, and with the changes that advice may name.
namespace lapwing::bench::naive {

using Index = std::int64_t;
using Matrix = GlobalArray<double, 2>;
using Vector = GlobalArray<double, 1>;

/// Sizes for a measurement, and those that show that it runs.
struct Sizes {
    Index vector = 120;
    Index matrix = 64;
    int steps = 20;
    std::size_t accesses = 4000;
};
inline constinit Sizes sizes;
constexpr Sizes small{.vector = 32, .matrix = 24, .steps = 4, .accesses = 200};

/// How a kernel reaches the elements of others: naive, or with a change that advice names.
[[nodiscard]] inline GlobalArrayOptions options_of(std::string_view kind, const char* name) {
    GlobalArrayOptions options{.name = name};
    if (kind == "cache") options.cache.mode = CacheMode::epoch;
    return options;
}

/// Seconds of the slowest rank.
template <class Run>
double timed(Team& team, Run run) {
    return tools::slowest_seconds(team, {.run = run}, 1);
}

/// y = A x of the power method: each rank reads all of x, for each of its rows.
inline double multiply(Team& team, std::string_view kind) {
    const Index n = sizes.vector;
    Vector x{team, {n}, Block{}, options_of(kind, "x")};
    for (auto [i] : x.local_domain()) x.local(i) = static_cast<double>(i);
    if (kind == "prefetch") x.prefetch(AllToAll{});
    std::vector<double> row(static_cast<std::size_t>(n), 0.5);
    std::vector<double> whole(static_cast<std::size_t>(n));
    return timed(team, [&] {
        if (kind == "replicate") {
            Vector copy{team, {n}, Replicated{}};
            x.get(x.domain(), whole);
            copy.local(0) = whole[0];
        } else if (kind == "patch") {
            x.get(x.domain(), whole);
        }
        const bool copied = kind == "replicate" || kind == "patch";
        double sum = 0;
        for (auto [i] : x.local_domain())
            for (Index j = 0; j < n; ++j)
                sum += static_cast<double>(i) * row[static_cast<std::size_t>(j)] *
                       (copied ? whole[static_cast<std::size_t>(j)] : static_cast<double>(x(j)));
        keep(sum);
        team.barrier();
    });
}

/// Heat: the rows above and below a rank's block are others'.
inline double heat(Team& team, std::string_view kind) {
    const Index n = sizes.matrix;
    const int steps = sizes.steps;
    Matrix a{team, {n, n}, Block{.grid = {team.size(), 1}}, options_of(kind, "plate")};
    const Domain<2> own = a.local_domain();
    for (auto [i, j] : own) a.local(i, j) = static_cast<double>(i + j);
    if (kind == "prefetch") a.prefetch(Stencil{.depth = 1, .corners = false});
    const Domain<2> around = own.expand(1).intersect(a.domain());
    const Domain<2> inner = own.intersect({{1, n - 1}, {1, n - 1}});
    std::vector<double> buffer(around.size());
    const Index width = static_cast<Index>(around.range(1).size());
    const auto in_buffer = [&](Index i, Index j) {
        return buffer[static_cast<std::size_t>((i - around.first()[0]) * width + j - around.first()[1])];
    };
    return timed(team, [&] {
        for (int step = 0; step < steps; ++step) {
            if (kind == "patch") a.get(around, buffer);
            double sum = 0;
            for (auto [i, j] : inner)
                sum += kind == "patch" ? in_buffer(i - 1, j) + in_buffer(i + 1, j) : a(i - 1, j) + a(i + 1, j);
            keep(sum);
            team.barrier();
        }
    });
}

/// b(i, j) = a(j, i): each rank reads columns, of all ranks.
inline double transpose(Team& team, std::string_view kind) {
    const Index n = sizes.matrix;
    Matrix a{team, {n, n}, Block{.grid = {team.size(), 1}}, options_of(kind, "a")};
    Matrix b{team, {n, n}, Block{.grid = {team.size(), 1}}, {.name = "b"}};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = static_cast<double>(i * n + j);
    if (kind == "prefetch") a.prefetch(Transpose{});
    const Domain<2> own = b.local_domain();
    const Range rows = own.range(0);
    std::vector<double> columns(own.size());
    return timed(team, [&] {
        if (kind == "patch") a.get({{0, n}, rows}, columns);
        const Index width = static_cast<Index>(rows.size());
        for (auto [i, j] : own)
            b.local(i, j) = kind == "patch" ? columns[static_cast<std::size_t>(j * width + i - rows.first())]
                                            : static_cast<double>(a(j, i));
        team.barrier();
    });
}

[[nodiscard]] inline std::vector<Index> random_indices(const Team& team, Index elements, std::size_t count) {
    std::mt19937 random{static_cast<unsigned>(team.rank().value) + 3};
    std::uniform_int_distribution<Index> anywhere{0, elements - 1};
    std::vector<Index> indices(count);
    for (Index& index : indices) index = anywhere(random);
    return indices;
}

/// The product with a sparse matrix: elements of x anywhere.
inline double sparse(Team& team, std::string_view kind) {
    constexpr Index n = 1 << 18;
    Vector x{team, {n}, Block{}, options_of(kind, "x")};
    if (kind == "prefetch") x.prefetch(AllToAll{});
    const std::vector<Index> indices = random_indices(team, n, sizes.accesses);
    std::vector<double> values(indices.size());
    return timed(team, [&] {
        if (kind == "list") x.gather(indices, std::span{values});
        double sum = 0;
        for (std::size_t k = 0; k < indices.size(); ++k)
            sum += kind == "list" ? values[k] : static_cast<double>(x(indices[k]));
        keep(sum);
        team.barrier();
    });
}

/// A histogram: an element is read, changed and written.
inline double histogram(Team& team, std::string_view kind) {
    constexpr Index n = 1 << 18;
    Vector bins{team, {n}, Block{}, options_of(kind, "bins")};
    const std::vector<Index> indices = random_indices(team, n, sizes.accesses / 2);
    return timed(team, [&] {
        for (const Index i : indices) {
            if (kind == "update") bins(i).add(1.0);
            else bins(i) = bins(i) + 1.0;
        }
        team.barrier();
    });
}

struct Kernel {
    const char* name;
    double (*run)(Team&, std::string_view kind);
    std::set<std::string_view> kinds; ///< changes that it can be run with
};
inline const std::vector<Kernel>& kernels() {
    static const auto& all = *new std::vector<Kernel>{
        {"power iteration", multiply, {"cache", "prefetch", "patch", "replicate"}},
        {"heat", heat, {"cache", "prefetch", "patch"}},
        {"transpose", transpose, {"cache", "prefetch", "patch"}},
        {"sparse", sparse, {"cache", "prefetch", "list"}},
        {"histogram", histogram, {"cache", "update"}},
    };
    return all;
}

} // namespace lapwing::bench::naive
