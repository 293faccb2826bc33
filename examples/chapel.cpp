// Lines of Chapel, each as a comment over what it becomes: docs/chapel.md shows the parts between the marks. The
// program checks its results.
#include <lapwing/chapel.hpp>
#include <lapwing/lapwing.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace chapel = lapwing::chapel;

int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t n = 1000;
    const double alpha = 0.5;

    // [arrays]
    // const D = blockDist.createDomain({0..<n});   var A, B: [D] real;   var C = cyclicDist.createArray({0..<n}, real);
    lapwing::GlobalArray<double, 1> a{runtime, {n}};
    lapwing::GlobalArray<double, 1> b{runtime, {n}};
    lapwing::GlobalArray<double, 1> c{runtime, {n}, lapwing::Cyclic{}};
    // forall (x, i) in zip(A, D) do x = i;
    chapel::forall(a, [](std::int64_t i, double& x) { x = static_cast<double>(i); });
    // forall x in C do x = 2;
    chapel::forall(c, [](double& x) { x = 2; });
    runtime.barrier(); // the end of Chapel's forall, where other ranks' elements are read next
    // [end]

    // [zip]
    // forall (x, y, z) in zip(B, A, C) do x = y + alpha * z;
    chapel::forall(chapel::zip(b, a, std::as_const(c)), [&](double& x, double y, double z) { x = y + alpha * z; });
    // forall i in D with (ref B) do B[i] += A[i];
    chapel::forall(chapel::domain(b), [&](std::int64_t i) { b.local(i) += a.local(i); });
    // forall i in {1..n by 2} do work(i);   a domain that no array is distributed over, with four tasks a locale
    const lapwing::Domain<1> odd{lapwing::Range{1, n + 1}.by(2)};
    chapel::forall(runtime, odd, chapel::threads(4), [](std::int64_t i) { static_cast<void>(std::sqrt(i)); });
    // [end]

    // [reduce]
    // var total = 0.0, largest = min(real);
    auto total = chapel::reduce<double>(chapel::plus);
    auto largest = chapel::reduce<double>(chapel::max);
    // forall x in B with (+ reduce total, max reduce largest) { total += x; largest = max(largest, x); }
    chapel::forall(b, chapel::with(total, largest), [](double x, double& sum, double& high) {
        sum += x;
        high = chapel::max(high, x);
    });
    // var best: (real, int);   forall (x, i) in zip(B, D) with (minloc reduce best) do best reduce= (abs(x - 500), i);
    auto best = chapel::reduce<lapwing::LocatedValue<double, 1>>(chapel::minloc);
    chapel::forall(b, chapel::with(best), [](std::int64_t i, double x, auto& nearest) {
        nearest = chapel::minloc(nearest, {std::abs(x - 500), {i}});
    });
    // [end]

    // [whole]
    // B = A + alpha * C;
    chapel::whole(b) = chapel::whole(a) + alpha * chapel::whole(c);
    // B += 1.0;
    chapel::whole(b) += 1.0;
    // A[0..9] = hypot(B[10..19], 2.0);
    const lapwing::Range first{0, 10};
    const lapwing::Range second{10, 20};
    chapel::whole(a(first)) = chapel::map([](double x, double y) { return std::hypot(x, y); }, b(second), 2.0);
    // [end]

    // [tasks]
    // numLocales, here.id, here.maxTaskPar
    const auto locales = chapel::locales(runtime);
    const int next = (locales.here().id.value + 1) % locales.num_locales();
    // on Locales[next] do answer = 2 * x;
    const int answer = chapel::on(locales[next], [](int x) { return 2 * x; }, 21);
    // coforall loc in Locales do on loc { setUp(loc); }
    chapel::coforall(locales, [&](const chapel::Locale& here) { c.local(here.id.value) = 1; });
    // sync { begin left(); begin right(); }
    int left = 0;
    int right = 0;
    chapel::sync([&](chapel::Tasks& tasks) {
        tasks.begin([&] { left = 1; });
        tasks.begin([&] { right = 2; });
    });
    // cobegin { left(); right(); }
    chapel::cobegin([&] { left += 1; }, [&] { right += 2; });
    // [end]

    const bool sums = total == n * (n - 1) + n && largest == 2 * (n - 1) + 1 && best.value().index[0] == 249;
    const bool arrays = b(20) == 22 && a(3) == std::hypot(15, 2);
    const bool tasks = answer == 42 && left == 2 && right == 4;
    if (runtime.rank() == lapwing::Rank{0})
        std::printf("the total is %g, the largest %g\n", total.value(), largest.value());
    return sums && arrays && tasks ? 0 : 1;
}
