// paracr: parallel cyclic reduction of a tridiagonal system, which is redistributed from blocks to cyclic when the
// strides become large: Sanz et al., "Global data re-allocation via communication aggregation in Chapel" (2012),
// section IV.C; the method is from Hockney and Jesshope, "Parallel Computers" (1988). ptrans: see there.
#include "harness.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

/// Row i: a x[i - 1] + b x[i] + c x[i + 1] = d.
struct Row {
    double a, b, c, d;
};
constexpr Row outside{0, 1, 0, 0};

[[nodiscard]] Row row_of(std::int64_t i, std::int64_t n) {
    const double t = static_cast<double>(i % 1000) / 1000;
    return {i == 0 ? 0 : -1 - 0.3 * t, 4 + t, i == n - 1 ? 0 : -1 + 0.2 * t, 1 + 2 * t};
}

/// The row with x[i - s] and x[i + s] eliminated; it has x[i - 2 s] and x[i + 2 s] in their place.
[[nodiscard]] Row reduced(const Row& before, const Row& row, const Row& after) {
    const double alpha = -row.a / before.b;
    const double gamma = -row.c / after.b;
    return {alpha * before.a, row.b + alpha * before.c + gamma * after.a, gamma * after.c,
            row.d + alpha * before.d + gamma * after.d};
}

/// The four arrays of a system under one distribution.
class System {
public:
    template <class D>
    System(Runtime& runtime, std::int64_t n, const D& distribution)
        : parts{GlobalArray<double, 1>{runtime, {n}, distribution}, GlobalArray<double, 1>{runtime, {n}, distribution},
                GlobalArray<double, 1>{runtime, {n}, distribution},
                GlobalArray<double, 1>{runtime, {n}, distribution}} {}

    [[nodiscard]] std::vector<Row> own() const {
        const auto a = parts[0].local_span(), b = parts[1].local_span(), c = parts[2].local_span(),
                   d = parts[3].local_span();
        std::vector<Row> rows(a.size());
        for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = {a[k], b[k], c[k], d[k]};
        return rows;
    }
    void set_own(const std::vector<Row>& rows) {
        const auto a = parts[0].local_span(), b = parts[1].local_span(), c = parts[2].local_span(),
                   d = parts[3].local_span();
        for (std::size_t k = 0; k < rows.size(); ++k) {
            a[k] = rows[k].a;
            b[k] = rows[k].b;
            c[k] = rows[k].c;
            d[k] = rows[k].d;
        }
    }
    void close() {
        for (auto& part : parts) part.close();
    }

    std::array<GlobalArray<double, 1>, 4> parts;
};

/// One step of stride `s` over consecutive rows, the first and last `margin` of which belong to other ranks.
[[nodiscard]] std::vector<Row> step(const std::vector<Row>& rows, std::size_t margin, std::size_t s) {
    std::vector<Row> result(rows.size() - 2 * margin);
    const auto at = [&](std::size_t k, bool exists) { return exists ? rows[k] : outside; };
    for (std::size_t k = 0; k < result.size(); ++k) {
        const std::size_t here = k + margin;
        result[k] = reduced(at(here - s, here >= s), rows[here], at(here + s, here + s < rows.size()));
    }
    return result;
}

/// The steps with strides less than the number of ranks, in which a block needs a few rows of its neighbours.
void steps_in_blocks(Runtime& runtime, System& system, std::int64_t n) {
    for (std::int64_t s = 1; s < runtime.size(); s *= 2) {
        const Range own = system.parts[0].local_domain().range(0);
        const Range wanted = own.expand(s).intersect(Range{0, n});
        std::vector<Row> rows(static_cast<std::size_t>(own.size()) + 2 * static_cast<std::size_t>(s), outside);
        runtime.barrier();
        std::vector<double> values(wanted.size());
        for (std::size_t p = 0; p < 4; ++p) {
            system.parts[p](wanted).get(values);
            for (std::size_t k = 0; k < values.size(); ++k) {
                Row& row = rows[k + static_cast<std::size_t>(wanted.first() - (own.first() - s))];
                (p == 0 ? row.a : p == 1 ? row.b : p == 2 ? row.c : row.d) = values[k];
            }
        }
        runtime.barrier();
        system.set_own(step(rows, static_cast<std::size_t>(s), static_cast<std::size_t>(s)));
    }
    runtime.barrier();
}

/// The remaining steps, which combine only rows of the rank itself.
[[nodiscard]] std::vector<double> steps_in_cyclic(Runtime& runtime, const System& system, std::int64_t n) {
    std::vector<Row> rows = system.own();
    for (std::int64_t s = runtime.size(); s < n; s *= 2)
        rows = step(rows, 0, static_cast<std::size_t>(s / runtime.size()));
    std::vector<double> x(rows.size());
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = rows[k].d / rows[k].b;
    return x;
}

/// The same by Gaussian elimination on one rank.
[[nodiscard]] std::vector<double> solved_serially(std::int64_t n) {
    std::vector<double> c(static_cast<std::size_t>(n)), x(static_cast<std::size_t>(n));
    Row first = row_of(0, n);
    c[0] = first.c / first.b;
    x[0] = first.d / first.b;
    for (std::int64_t i = 1; i < n; ++i) {
        const Row row = row_of(i, n);
        const auto k = static_cast<std::size_t>(i);
        const double pivot = row.b - row.a * c[k - 1];
        c[k] = row.c / pivot;
        x[k] = (row.d - row.a * x[k - 1]) / pivot;
    }
    for (auto k = static_cast<std::size_t>(n - 1); k-- > 0;) x[k] -= c[k] * x[k + 1];
    return x;
}

constexpr std::int64_t row_count = std::int64_t{1} << 20;

/// The system twice, in blocks and cyclic, and the assignment of the one to the other.
struct Solver {
    explicit Solver(Runtime& of) : runtime{of} {
        for (std::size_t p = 0; p < 4; ++p) deal.add(cyclic.parts[p].slice(), std::as_const(blocks.parts[p]).slice());
    }

    /// The rank's elements of the solution.
    [[nodiscard]] std::vector<double> solve() {
        std::vector<Row> rows;
        for (const auto [i] : blocks.parts[0].local_domain()) rows.push_back(row_of(i, row_count));
        blocks.set_own(rows);
        steps_in_blocks(runtime, blocks, row_count);
        deal.execute();
        return steps_in_cyclic(runtime, cyclic, row_count);
    }
    void close() {
        blocks.close();
        cyclic.close();
    }

    Runtime& runtime;
    System blocks{runtime, row_count, Block{}};
    System cyclic{runtime, row_count, Cyclic{}};
    Assignment deal;
};

void check_solution(Runtime& runtime, const std::vector<double>& x) {
    const std::vector<double> expected = solved_serially(row_count);
    const auto ranks = static_cast<std::size_t>(runtime.size());
    const auto rank = static_cast<std::size_t>(runtime.rank().value);
    double error = 0;
    for (std::size_t k = 0; k < x.size(); ++k) error = std::max(error, std::abs(x[k] - expected[k * ranks + rank]));
    if (!(runtime.max(error) < 1e-12))
        throw std::runtime_error{"paracr: the solution is off by " + std::to_string(error)};
}

/// `rounds` times `once`, by all ranks.
template <class F>
[[nodiscard]] Subject repeated(Runtime& runtime, const std::string& name, F once, std::uint64_t iterations = 0) {
    return {.name = name,
            .run =
                [&runtime, once](std::uint64_t rounds) {
                    return together(runtime, [&] {
                        for (std::uint64_t k = 0; k < rounds; ++k) once();
                    });
                },
            .iterations = iterations};
}

/// Each rank fetches a sample of its own cyclic elements; the time is that of all of them.
[[nodiscard]] Subject loop_over_elements(Runtime& runtime, Solver& solver) {
    return {.name = "a loop over the elements",
            .run =
                [&](std::uint64_t rounds) {
                    constexpr std::int64_t sample = 500;
                    const std::int64_t own = row_count / runtime.size();
                    const double seconds = together(runtime, [&] {
                        std::mt19937_64 generator{static_cast<std::uint64_t>(runtime.rank().value)};
                        std::uniform_int_distribution<std::int64_t> draw{0, own - 1};
                        for (std::uint64_t k = 0; k < rounds; ++k)
                            for (std::int64_t count = 0; count < sample; ++count) {
                                const std::int64_t i = draw(generator) * runtime.size() + runtime.rank().value;
                                for (std::size_t p = 0; p < 4; ++p)
                                    solver.cyclic.parts[p](i) = +solver.blocks.parts[p](i);
                            }
                    });
                    return seconds * static_cast<double>(own) / static_cast<double>(sample);
                },
            .iterations = 1};
}

void paracr(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    if (!std::has_single_bit(static_cast<unsigned>(runtime.size()))) {
        context.skip("2^20 rows", "the number of ranks is no power of two");
        return runtime.close();
    }
    Solver solver{runtime};
    check_solution(runtime, solver.solve());
    context.compare("4 x 2^20, Block to Cyclic, loop sampled", milliseconds(),
                    repeated(runtime, "Assignment", [&] { solver.deal.execute(); }),
                    {loop_over_elements(runtime, solver)});
    const auto solve = [&] {
        auto solution = solver.solve();
        keep(solution);
    };
    const auto solve_serially = [] {
        auto solution = solved_serially(row_count);
        keep(solution);
    };
    context.compare("2^20 rows, the whole solver", milliseconds(), repeated(runtime, "solve", solve, 1),
                    {repeated(runtime, "one rank, Gaussian elimination", solve_serially, 1)});
    solver.close();
    runtime.close();
}

/// PTRANS as Ferguson and Buettner have it (2015, section 4): 500 rows in blocks of 3 x 5, transposed; element by
/// element, with and without the cache, compared with one assignment.
void ptrans(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    constexpr std::int64_t n = 500;
    const auto time = [&](const GlobalArray<double, 2>& from, GlobalArray<double, 2>& to, bool loop,
                          Assignment& assignment) {
        return together(runtime, [&] {
            if (!loop) return assignment.execute();
            for (const Domain<2> own : to.local_domains())
                for (const auto [i, j] : own) to.local(i, j) = from(j, i);
        });
    };
    const auto with = [&](CacheMode mode, auto body) {
        GlobalArray<double, 2> from{runtime, {n, n}, BlockCyclic{.block = {3, 5}}, {.cache = {.mode = mode}}};
        GlobalArray<double, 2> to{runtime, {n, n}, BlockCyclic{.block = {3, 5}}};
        from.for_each_local(
            [&](const Index<2>& index, double& element) { element = static_cast<double>(index[0] * n + index[1]); });
        runtime.barrier();
        body(from, to);
        bool right = true;
        to.for_each_local([&](const Index<2>& index, double& element) {
            right = right && element == static_cast<double>(index[1] * n + index[0]);
        });
        if (!right) throw std::runtime_error{"ptrans: an element is not where it should be"};
        from.close();
        to.close();
    };
    with(CacheMode::off, [&](GlobalArray<double, 2>& from, GlobalArray<double, 2>& to) {
        Assignment transpose;
        transpose.add(to.slice(), std::as_const(from).slice().transposed());
        const Subject aggregated{.name = "Assignment", .run = [&](std::uint64_t rounds) {
                                     double seconds = 0;
                                     for (std::uint64_t k = 0; k < rounds; ++k)
                                         seconds += time(from, to, false, transpose);
                                     return seconds;
                                 }};
        const auto loop_over = [&](std::string name, const GlobalArray<double, 2>& source, std::string suffix) {
            return Subject{.name = std::move(name),
                           .run =
                               [&](std::uint64_t rounds) {
                                   double seconds = 0;
                                   for (std::uint64_t k = 0; k < rounds; ++k)
                                       seconds += time(source, to, true, transpose);
                                   return seconds;
                               },
                           .iterations = 1,
                           .case_suffix = std::move(suffix)};
        };
        with(CacheMode::epoch, [&](GlobalArray<double, 2>& cached, GlobalArray<double, 2>& cached_to) {
            context.compare(
                "500 x 500 in blocks of 3 x 5", milliseconds(), aggregated,
                {loop_over("a loop over the elements", from, ""), loop_over("the same, cached", cached, ", cached")});
            cached_to.slice() = cached.slice().transposed();
        });
    });
    runtime.close();
}

const Registration paracr_registration{
    {.name = "paracr",
     .summary = "parallel cyclic reduction: four arrays from blocks to cyclic indices",
     .run = paracr,
     .default_repetitions = 3}};
const Registration ptrans_registration{
    {.name = "ptrans",
     .summary = "a matrix in blocks of 3 x 5 transposed, compared with loops over its elements",
     .run = ptrans,
     .default_repetitions = 3}};

} // namespace
} // namespace lapwing::bench
