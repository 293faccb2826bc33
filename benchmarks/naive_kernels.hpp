#pragma once

#include "harness.hpp"

#include "median.hpp"
#include "nas.hpp"
#include "tools/measure_rates.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// Kernels of the demo in their naive form, one element at a time, two of them in UPC as well, and the NAS Parallel
/// Benchmarks in UPC; all of them with the changes that advice may name.
namespace lapwing::bench::naive {

using Index = std::int64_t;
using Matrix = GlobalArray<double, 2>;
using Vector = GlobalArray<double, 1>;

/// Sizes for a measurement, and those that show that it runs.
struct Sizes {
    Index vector = 240;
    Index matrix = 128;
    int steps = 40;
    std::size_t accesses = 16000;
};
inline constinit Sizes sizes;
constexpr Sizes small{.vector = 32, .matrix = 24, .steps = 4, .accesses = 200};

/// How a kernel reaches the elements of others: naive, or with a change that advice names; or private, the same
/// computation on memory of its own, with nothing of others.
[[nodiscard]] inline GlobalArrayOptions options_of(std::string_view kind, const char* name) {
    GlobalArrayOptions options{.name = name};
    if (kind == "cache") options.cache.mode = CacheMode::epoch;
    return options;
}

/// Seconds of the slowest rank, until all have come to a barrier at the end.
template <class Run>
double timed(Team& team, std::string_view kind, Run run) {
    const auto all = [&] {
        run();
        if (kind != "private") team.barrier();
    };
    return tools::slowest_seconds(team, {.run = all}, 1);
}

/// y = A x of the power method: each rank reads all of x, for each of its rows.
inline double multiply(Team& team, std::string_view kind) {
    const Index n = sizes.vector;
    Vector x{team, {n}, Block{}, options_of(kind, "x")};
    for (auto [i] : x.local_domain()) x.local(i) = static_cast<double>(i);
    if (kind == "prefetch") x.prefetch(AllToAll{});
    std::optional<Vector> copy;
    if (kind == "replicate") copy.emplace(team, std::array<Index, 1>{n}, Replicated{});
    const std::vector<double> row(static_cast<std::size_t>(n), 0.5);
    std::vector<double> whole(static_cast<std::size_t>(n));
    const auto rows = [&](auto read) {
        double sum = 0;
        for (auto [i] : x.local_domain())
            for (Index j = 0; j < n; ++j)
                sum += static_cast<double>(i) * row[static_cast<std::size_t>(j)] * static_cast<double>(read(j));
        keep(sum);
    };
    return timed(team, kind, [&] {
        if (copy) {
            copy->broadcast(Rank{0});
            return rows([&](Index j) { return (*copy)(j); });
        }
        if (kind == "patch") x(x.domain()).get(whole);
        if (kind == "patch" || kind == "private")
            return rows([&](Index j) { return whole[static_cast<std::size_t>(j)]; });
        rows([&](Index j) { return x(j); });
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
    std::vector<double> next(inner.size());
    const Index width = static_cast<Index>(around.range(1).size());
    const auto in_buffer = [&](Index i, Index j) -> double& {
        return buffer[static_cast<std::size_t>((i - around.first()[0]) * width + j - around.first()[1])];
    };
    const bool alone = kind == "private";
    const bool buffered = alone || kind == "patch";
    return timed(team, kind, [&] {
        for (int step = 0; step < steps; ++step) {
            if (step > 0 && !alone) team.barrier();
            if (kind == "patch") a(around).get(buffer);
            std::size_t k = 0;
            for (auto [i, j] : inner)
                next[k++] = buffered ? in_buffer(i - 1, j) + in_buffer(i + 1, j) : a(i - 1, j) + a(i + 1, j);
            if (!alone) team.barrier(); // all have read what changes now
            k = 0;
            for (auto [i, j] : inner) {
                if (alone) in_buffer(i, j) = next[k++] / 2;
                else a(i, j) = next[k++] / 2;
            }
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
    const bool buffered = kind == "patch" || kind == "private";
    return timed(team, kind, [&] {
        if (kind == "patch") a({{0, n}, rows}).get(columns);
        const Index width = static_cast<Index>(rows.size());
        for (auto [i, j] : own)
            b.local(i, j) = buffered ? columns[static_cast<std::size_t>(j * width + i - rows.first())]
                                     : static_cast<double>(a(j, i));
    });
}

[[nodiscard]] inline std::vector<Index> random_indices(const Team& team, Index elements, std::size_t count) {
    std::mt19937 random{static_cast<unsigned>(team.rank().value) + 3};
    std::uniform_int_distribution<Index> anywhere{0, elements - 1};
    std::vector<Index> indices(count);
    for (Index& index : indices) index = anywhere(random);
    return indices;
}

/// Of vectors that are accessed anywhere.
constexpr Index large = Index{1} << 18;
/// A rank's own part of one. A program has written what it reads, and its pages are there.
template <class Values>
void fill(Values&& values) {
    std::ranges::fill(values, 1.0);
}

/// The product with a sparse matrix: elements of x anywhere.
inline double sparse(Team& team, std::string_view kind) {
    Vector x{team, {large}, Block{}, options_of(kind, "x")};
    fill(x.local_span());
    if (kind == "prefetch") x.prefetch(AllToAll{});
    const std::vector<Index> indices = random_indices(team, large, sizes.accesses);
    std::vector<double> values(indices.size());
    const bool listed = kind == "list" || kind == "private";
    return timed(team, kind, [&] {
        if (kind == "list") x.gather(indices, std::span{values});
        double sum = 0;
        for (std::size_t k = 0; k < indices.size(); ++k) sum += listed ? values[k] : static_cast<double>(x(indices[k]));
        keep(sum);
    });
}

/// A histogram: an element is read, changed and written.
inline double histogram(Team& team, std::string_view kind) {
    Vector bins{team, {large}, Block{}, options_of(kind, "bins")};
    fill(bins.local_span());
    const std::vector<Index> indices = random_indices(team, large, sizes.accesses / 2);
    std::vector<double> own(kind == "private" ? static_cast<std::size_t>(large) : 0);
    return timed(team, kind, [&] {
        for (const Index i : indices) {
            if (kind == "private") own[static_cast<std::size_t>(i)] += 1.0;
            else if (kind == "update") bins(i).atomic().add(1.0);
            else bins(i) = bins(i) + 1.0;
        }
        keep(own);
    });
}

[[nodiscard]] inline upc::ProgramOptions upc_options(std::string_view kind) {
    upc::ProgramOptions options;
    options.cache.mode = kind == "cache" ? CacheMode::epoch : CacheMode::off;
    options.heap_bytes = 2 * sizeof(double) * static_cast<std::uint64_t>(large);
    return options;
}

/// multiply() in UPC, on an array in blocks.
inline double upc_multiply(Team& team, std::string_view kind) {
    const upc::Program program{team, upc_options(kind)};
    const Index n = sizes.vector;
    const Index block = (n + team.size() - 1) / team.size();
    const Index first = std::min(n, block * team.rank().value);
    const Index last = std::min(n, first + block);
    const upc::SharedArray<double, upc::dynamic_block> x{static_cast<std::size_t>(n), static_cast<std::size_t>(block)};
    for (Index i = first; i < last; ++i) x.local()[i - first] = static_cast<double>(i);
    const std::vector<double> row(static_cast<std::size_t>(n), 0.5);
    std::vector<double> whole(static_cast<std::size_t>(n));
    const auto rows = [&](auto read) {
        double sum = 0;
        for (Index i = first; i < last; ++i)
            for (Index j = 0; j < n; ++j)
                sum += static_cast<double>(i) * row[static_cast<std::size_t>(j)] * static_cast<double>(read(j));
        keep(sum);
    };
    return timed(team, kind, [&] {
        if (kind == "patch")
            for (Index begin = 0; begin < n; begin += block)
                upc::memget(whole.data() + begin, x + begin,
                            sizeof(double) * static_cast<std::size_t>(std::min(n - begin, block)));
        if (kind == "patch" || kind == "private")
            return rows([&](Index j) { return whole[static_cast<std::size_t>(j)]; });
        rows([&](Index j) { return x[j]; });
    });
}

/// histogram() in UPC, on an array whose elements are dealt to the threads.
inline double upc_histogram(Team& team, std::string_view kind) {
    const upc::Program program{team, upc_options(kind)};
    const upc::SharedArray<double, 1> bins{static_cast<std::size_t>(large)};
    fill(std::span{bins.local(), bins.size_at(upc::mythread())});
    const upc::AtomicDomain<double> domain;
    const std::vector<Index> indices = random_indices(team, large, sizes.accesses / 2);
    std::vector<double> own(kind == "private" ? static_cast<std::size_t>(large) : 0);
    return timed(team, kind, [&] {
        for (const Index i : indices) {
            if (kind == "private") own[static_cast<std::size_t>(i)] += 1.0;
            else if (kind == "update") domain.add(bins[i], 1.0);
            else bins[i] = bins[i] + 1.0;
        }
        keep(own);
    });
}

/// A NAS Parallel Benchmark of the class that is small enough to make a message of each element, with all that it does
/// before and after what NPB times: a record has that as well.
template <nas::Kernel Run, auto Heap>
double nas_benchmark(Team& team, std::string_view kind) {
    constexpr nas::Class size = nas::Class::T;
    const nas::HeapNeeds needs = Heap(size, team.size());
    upc::ProgramOptions options;
    options.cache.mode = kind == "cache" ? CacheMode::epoch : CacheMode::off;
    options.heap_bytes = needs.blocks + nas::heap_slack;
    options.local_heap_bytes = needs.local + nas::heap_slack;
    return timed(team, kind, [&] {
        const upc::Program program{team, options};
        (void)Run(size, kind == "patch" ? nas::Variant::naive_rows : nas::Variant::naive);
    });
}

struct Kernel {
    const char* name = "";
    double (*run)(Team&, std::string_view kind) = nullptr;
    std::set<std::string_view> kinds = {}; ///< changes that it can be run with
    bool of_nas = false;                   ///< the same computation is its run with LAPWING_PRIVATE
    bool powers_of_two = false;            ///< ranks that it can have
};
/// Those that so many ranks can run.
inline std::vector<Kernel> kernels(int ranks) {
    std::vector<Kernel> all{
        {"power iteration", multiply, {"cache", "prefetch", "patch", "replicate"}},
        {"heat", heat, {"cache", "prefetch", "patch"}},
        {"transpose", transpose, {"cache", "prefetch", "patch"}},
        {"sparse", sparse, {"cache", "prefetch", "list"}},
        {"histogram", histogram, {"cache", "update"}},
        {"UPC power iteration", upc_multiply, {"cache", "patch"}},
        {"UPC histogram", upc_histogram, {"cache", "update"}},
        {"NAS CG", nas_benchmark<nas::conjugate_gradient, nas::conjugate_gradient_heap>, {"cache"}, true},
        {"NAS FT", nas_benchmark<nas::fourier_transform, nas::fourier_transform_heap>, {"cache", "patch"}, true, true},
        {"NAS IS", nas_benchmark<nas::integer_sort, nas::integer_sort_heap>, {"cache", "patch"}, true},
        {"NAS MG", nas_benchmark<nas::multigrid, nas::multigrid_heap>, {"cache", "patch"}, true, true},
    };
    std::erase_if(all, [&](const Kernel& kernel) {
        return kernel.powers_of_two && !std::has_single_bit(static_cast<unsigned>(ranks));
    });
    return all;
}

/// Collective. Seconds of a kernel; of one that soon ends, the median of several runs.
[[nodiscard]] inline double seconds_of(const Kernel& kernel, Team& team, std::string_view kind) {
    std::vector<double> seconds(kind == "naive" ? 1 : 5);
    for (double& each : seconds) each = kernel.run(team, kind);
    return median(std::move(seconds));
}

} // namespace lapwing::bench::naive
