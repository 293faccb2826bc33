// From Chapel to Lapwing: the right-hand sides of docs/porting.md, which shows the parts between the marks. Each part
// checks itself.
//
//     mpirun -n 4 porting_chapel
#include <lapwing/lapwing.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

namespace {

constexpr std::int64_t n = 60;
constexpr std::int64_t m = 50;

double start(std::int64_t i, std::int64_t j) { return static_cast<double>((i * 31 + j * 17) % 101); }

bool stencil(lapwing::Runtime& runtime) {
    // [stencil]
    // const D = stencilDist.createDomain({0..<n, 0..<m}, fluff=(1, 1));   var A, B: [D] real;
    lapwing::GlobalArray<double, 2> a{runtime, {n, m}};
    lapwing::GlobalArray<double, 2> b{runtime, {n, m}};
    // forall (i, j) in D do A[i, j] = start(i, j);
    for (auto [i, j] : a.local_domain()) a.local(i, j) = start(i, j);

    // A.updateFluff();
    lapwing::Halo halo{a, 1};
    halo.exchange();
    // forall (i, j) in D.expand(-1) do B[i, j] = (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) / 4;
    for (auto [i, j] : b.local_domain().intersect(b.domain().expand(-1)))
        b.local(i, j) = (halo(i - 1, j) + halo(i + 1, j) + halo(i, j - 1) + halo(i, j + 1)) / 4;

    // const total = + reduce B;   const (largest, at) = maxloc reduce zip(B, B.domain);
    const double total = b.sum();
    const auto [largest, at] = b.max_location();
    // [end]
    double expected = 0;
    double highest = 0;
    for (auto [i, j] : b.domain().expand(-1)) {
        const double next = (start(i - 1, j) + start(i + 1, j) + start(i, j - 1) + start(i, j + 1)) / 4;
        expected += next;
        highest = std::fmax(highest, next);
    }
    const double found = b(at);
    runtime.barrier();
    return std::fabs(total - expected) < 1e-9 * expected && largest == highest && found == highest;
}

bool slices(lapwing::Runtime& runtime) {
    // [slices]
    // var A = blockDist.createArray({0..<n, 0..<m}, real);   var C = cyclicDist.createArray({0..<n, 0..<m}, real);
    lapwing::GlobalArray<double, 2> a{runtime, {n, m}, lapwing::Block{}};
    lapwing::GlobalArray<double, 2> c{runtime, {n, m}, lapwing::Cyclic{}};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = start(i, j);

    // C = A;
    c.slice() = a.slice();
    // C[0.. by 2, 0..9] = A[1.. by 2, 10..19];
    const lapwing::Range odd = lapwing::Range{1, n}.by(2);
    c(lapwing::Range{0, n}.by(2), lapwing::Range{0, 10}) = a(odd, lapwing::Range{10, 20});
    // C[.., 30..] = sqrt(A[.., 30..]) + 2 * C[.., 30..];   promotion
    const lapwing::Range right_part{30, m};
    c(lapwing::all, right_part)
        .assign([](double x, double y) { return std::sqrt(x) + 2 * y; }, a(lapwing::all, right_part),
                c(lapwing::all, right_part));
    // const odd_rows = A[1.. by 2, 10..19];   a local array of them
    const auto wanted = a(odd, lapwing::Range{10, 20});
    std::vector<double> odd_rows(wanted.size());
    wanted.get(odd_rows);
    // [end]
    bool right = true;
    std::size_t k = 0;
    for (auto [i, j] : lapwing::Domain<2>{odd, {10, 20}})
        right = right && odd_rows[k++] == start(i, j) && c(i - 1, j - 10) == start(i, j);
    for (auto [i, j] : lapwing::Domain<2>{odd, {10, m}}) // all but what was assigned
        right = right && c(i, j) == (j < 30 ? start(i, j) : std::sqrt(start(i, j)) + 2 * start(i, j));
    runtime.barrier();
    return right;
}

bool aggregation(lapwing::Runtime& runtime) {
    const std::int64_t size = 500;
    std::vector<std::int64_t> wanted(300);
    for (std::size_t k = 0; k < wanted.size(); ++k) wanted[k] = static_cast<std::int64_t>(k) * 7919 % size;
    // [aggregation]
    // var counts = cyclicDist.createArray(0..<size, atomic int);   counts[i].add(1) for each i of wanted
    lapwing::GlobalArray<std::int64_t, 1> counts{runtime, {size}, lapwing::Cyclic{}};
    for (const std::int64_t i : wanted) counts(i).atomic().add(1);
    runtime.barrier();

    // forall (v, i) in zip(values, wanted) with (var agg = new SrcAggregator(int)) do agg.copy(v, totals[i]);
    std::vector<std::int64_t> values(wanted.size());
    counts.gather(wanted, values);
    // [end]
    bool right = true;
    for (const std::int64_t seen : values) right = right && seen == runtime.size();
    runtime.barrier();
    return right;
}

bool cached(lapwing::Runtime& runtime) {
    // [cached]
    // chpl --cache-remote: on for all arrays by default. Here it is asked for, by the array or by LAPWING_CACHE=epoch.
    lapwing::GlobalArray<double, 2> a{
        runtime, {n, m}, lapwing::Block{.grid = {0, 1}}, {.cache = {.mode = lapwing::CacheMode::epoch}}};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = start(i, j);
    runtime.barrier();

    // Each task reads all of A, element by element: A[i, j]
    double sum = 0;
    for (auto [i, j] : a.domain()) sum += a(i, j);
    // [end]
    double expected = 0;
    for (auto [i, j] : a.domain()) expected += start(i, j);
    runtime.barrier();
    return sum == expected;
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    int wrong = 0;
    const auto check = [&](const char* what, bool right) {
        if (right) return;
        std::printf("rank %d: %s: WRONG\n", runtime.rank().value, what);
        wrong = 1;
    };
    check("stencil", stencil(runtime));
    check("slices", slices(runtime));
    check("aggregation", aggregation(runtime));
    check("cached", cached(runtime));
    if (runtime.rank() == 0 && wrong == 0) std::printf("four kernels of Chapel programs: correct\n");
    return wrong;
}
