// Chapel's loops and expressions, under every distribution, against serial results.
#include "tests/arrays/array_test.hpp"

#include <lapwing/chapel.hpp>
#include <lapwing/domain_array.hpp>
#include <lapwing/located_value.hpp>

#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace lapwing;

namespace {

template <std::size_t N>
[[nodiscard]] double value(const Extents<N>& extents, const Index<N>& index) {
    return static_cast<double>(test::position_of(extents, index));
}

/// Compares every stored element with `expected(index)`.
template <class T, std::size_t N, class Expected>
[[nodiscard]] std::string differing(GlobalArray<T, N>& array, bool lower_triangle, Expected expected) {
    array.barrier();
    test::Mismatches wrong;
    for (const Index<N>& index : array.domain())
        if (test::stored(lower_triangle, index)) wrong.check(array(index) == expected(index), index);
    array.barrier();
    return wrong.text();
}

template <std::size_t N>
void check_own_loops(Runtime& runtime) {
    test::for_every_maker<double, N>(runtime.size(), [&](const test::Maker<double, N>& maker) {
        GlobalArray<double, N> a = maker.make(runtime, test::odd_extents<N>());
        const auto number = [&](const Index<N>& index) { return value(a.extents(), index); };
        for (const unsigned threads : {1U, 2U, 3U, 200U}) {
            a.fill(0);
            // Which adds: an element that is visited twice is wrong.
            chapel::forall(a, chapel::threads(threads), [&](const Index<N>& i, double& x) { x += number(i); });
            chapel::forall(a, chapel::threads(threads), [](double& x) { x += 1; });
            chapel::forall(chapel::domain(a), chapel::threads(threads), [&](const Index<N>& i) { a.local(i) *= 2; });
            CHECK(differing(a, maker.lower_triangle, [&](const Index<N>& i) { return 2 * (number(i) + 1); }) == "none");
        }
        a.fill(0);
        chapel::forall(a, [&](const Index<N>& i, double& x) { x += number(i); });
        chapel::forall(a, chapel::serial, [](double& x) { x += 1; });
        CHECK(differing(a, maker.lower_triangle, [&](const Index<N>& i) { return number(i) + 1; }) == "none");

        // Sums, and the place of the largest element; a replicated one is counted once.
        double sum = 0;
        double largest = -1;
        for (const Index<N>& index : a.domain())
            if (test::stored(maker.lower_triangle, index)) {
                sum += number(index) + 1;
                largest = std::max(largest, number(index) + 1);
            }
        for (const unsigned threads : {1U, 3U}) {
            auto total = chapel::reduce<double>(chapel::plus, 1000);
            auto count = chapel::reduce<std::int32_t>(chapel::plus);
            auto best = chapel::reduce<LocatedValue<double, N>>(chapel::maxloc);
            const auto body = [](const Index<N>& i, double x, double& s, std::int32_t& n, LocatedValue<double, N>& b) {
                s += x;
                ++n;
                b = chapel::maxloc(b, {x, i});
            };
            chapel::forall(std::as_const(a), chapel::with(total, chapel::threads(threads), count, best), body);
            CHECK(total == 1000 + sum);
            CHECK(best.value().value == largest);
            CHECK(number(best.value().index) + 1 == largest);
            auto again = chapel::reduce<std::int32_t>(chapel::plus);
            chapel::forall(a, chapel::with(again), [](const double&, std::int32_t& n) { ++n; });
            CHECK(count == again.value());
            chapel::forall(a, chapel::with(again), [](const double&, std::int32_t& n) { ++n; });
            CHECK(again == 2 * count);
        }
        a.close();
    });
}

} // namespace

TEST_CASE("forall visits each own element once, under every distribution") {
    Runtime runtime;
    check_own_loops<1>(runtime);
    check_own_loops<2>(runtime);
    check_own_loops<3>(runtime);
    runtime.close();
}

TEST_CASE("forall over a domain goes in the blocks of an array of that size, and takes strides") {
    Runtime runtime;
    const Domain<2> domain{Range{3, 20}.by(2), Range{-4, 9}};
    GlobalArray<int, 2> seen{runtime, {20, 13}};
    DomainArray<int, 2> same{runtime, domain};
    chapel::forall(runtime, domain, [&](std::int64_t i, std::int64_t j) {
        CHECK(same.is_local(i, j));
        seen(i, j + 4) += 1;
    });
    runtime.barrier();
    for (const auto [i, j] : seen.domain()) CHECK(seen(i, j) == (domain.contains(Index<2>{i, j - 4}) ? 1 : 0));
    runtime.barrier();

    auto sum = chapel::reduce<std::int64_t>(chapel::plus);
    chapel::forall(runtime, Domain<1>{{0, 1001}}, chapel::with(sum, chapel::threads(3)),
                   [](std::int64_t i, std::int64_t& s) { s += i; });
    CHECK(sum == 500500);
    chapel::forall(runtime, Domain<1>{}, chapel::with(sum), [](std::int64_t, std::int64_t& s) { s += 1; });
    CHECK(sum == 500500);
    std::atomic<int> calls = 0;
    chapel::forall(runtime, Domain<1>{{5, 5 + runtime.size()}}, chapel::threads(4), [&](std::int64_t i) {
        if (i == 5 + runtime.rank().value) ++calls;
    });
    CHECK(calls == 1);

    // An array with these indices.
    chapel::forall(same, [](std::int64_t i, std::int64_t j, int& x) { x = static_cast<int>(100 * i + j); });
    runtime.barrier();
    for (const auto [i, j] : domain) CHECK(same(i, j) == 100 * i + j);
    runtime.barrier();
    chapel::forall(chapel::domain(same), [&](const Index<2>& i) { CHECK(same.local(i) == 100 * i[0] + i[1]); });
    same.close();
    seen.close();
    runtime.close();
}

TEST_CASE("every operation reduces, whatever the ranks and threads") {
    Runtime runtime;
    GlobalArray<float, 1> a{runtime, {37}, Cyclic{}};
    chapel::forall(a, [](std::int64_t i, float& x) { x = i == 20 ? NAN : static_cast<float>((i * 7 + 5) % 37) - 10; });
    auto low = chapel::reduce<float>(chapel::min);
    auto high = chapel::reduce<float>(chapel::max);
    auto low_at = chapel::reduce<LocatedValue<float, 1>>(chapel::minloc);
    auto product = chapel::reduce<double>(chapel::times);
    // The indices in the order of the ranks: concatenation does not commute.
    struct Span {
        std::int64_t first = 0, last = -1;
    };
    const auto join = [](const Span& x, const Span& y) {
        if (x.last < x.first) return y;
        return y.last < y.first ? x : Span{x.first, y.last};
    };
    auto span = chapel::reduce<Span>(join, Span{});
    chapel::forall(a, chapel::with(low, high, low_at, product, span, chapel::threads(2)),
                   [&](std::int64_t i, float x, float& l, float& h, auto& at, double& p, Span& s) {
                       l = chapel::min(l, x);
                       h = chapel::max(h, x);
                       at = chapel::minloc(at, {x, {i}});
                       p *= i < 5 ? 2 : 1;
                       s = join(s, {i, i});
                   });
    CHECK(low == -10);
    CHECK(high == 26);
    CHECK(low_at.value().value == -10);
    CHECK(low_at.value().index[0] == 31);
    CHECK(product == 32);
    CHECK(span.value().first == 0);
    a.close();
    runtime.close();
}

TEST_CASE("an exception of a body ends the loop, after all threads") {
    Runtime runtime;
    GlobalArray<int, 1> a{runtime, {40}};
    std::atomic<int> visited = 0;
    const auto failing = [&](std::int64_t i, int&) {
        ++visited;
        if (a.local_domain().range(0).first() == i) throw std::runtime_error{"at the first"};
    };
    const bool some = !a.local_domain().empty();
    for (const unsigned threads : {1U, 4U}) {
        if (some) CHECK_THROWS_WITH(chapel::forall(a, chapel::threads(threads), failing), "at the first");
        else CHECK_NOTHROW(chapel::forall(a, chapel::threads(threads), failing));
    }
    // One rank fails, and all know.
    for (const unsigned threads : {1U, 3U}) {
        auto sum = chapel::reduce<int>(chapel::plus, 5);
        const auto body = [&](std::int64_t i, int&, int& s) {
            if (i == 39) throw std::runtime_error{"at the last"};
            ++s;
        };
        const auto loop = [&] { chapel::forall(a, chapel::with(sum, chapel::threads(threads)), body); };
        if (a.is_local(39)) CHECK_THROWS_WITH(loop(), "at the last");
        else CHECK_THROWS_WITH(loop(), Catch::Contains("at the last"));
        CHECK(sum == 5);
    }
    a.close();
    CHECK_THROWS_AS(chapel::forall(a, [](int&) {}), UsageError);
    runtime.close();
}

TEST_CASE("zip takes the elements of other arrays, wherever they are") {
    Runtime runtime;
    const auto makers = test::every_maker<double, 2>(runtime.size());
    for (const test::Maker<double, 2>& first : makers)
        for (const test::Maker<double, 2>& second : makers) {
            if (second.lower_triangle && !first.lower_triangle) continue;
            INFO(first.name << " beside " << second.name);
            GlobalArray<double, 2> a = first.make(runtime, {11, 11});
            GlobalArray<double, 2> b = second.make(runtime, {11, 11});
            GlobalArray<double, 2> c = first.make(runtime, {11, 11});
            chapel::forall(b, [](std::int64_t i, std::int64_t j, double& y) { y = static_cast<double>(100 * i + j); });
            chapel::forall(c, [](double& z) { z = 7; });
            runtime.barrier();
            for (const unsigned threads : {1U, 3U}) {
                a.fill(-1);
                chapel::forall(chapel::zip(a, std::as_const(b), c), chapel::threads(threads),
                               [](double& x, const double& y, double& z) {
                                   x = y + z;
                                   z += 1;
                               });
                chapel::forall(c, [](double& z) { z -= 1; });
                const auto expected = [](const Index<2>& i) { return static_cast<double>(100 * i[0] + i[1] + 7); };
                CHECK(differing(a, first.lower_triangle, expected) == "none");
            }
            // One that is written must have its elements here.
            const auto write = [&] {
                chapel::forall(chapel::zip(a, b), [](double& x, double& y) { std::swap(x, y); });
            };
            bool here = true;
            a.for_each_local([&](const Index<2>& i, double&) { here = here && b.is_local(i); });
            runtime.barrier();
            if (&first == &second) {
                write();
                const auto expected = [](const Index<2>& i) { return static_cast<double>(100 * i[0] + i[1] + 7); };
                CHECK(differing(b, second.lower_triangle, expected) == "none");
            } else if (!here) {
                CHECK_THROWS_WITH(write(), Catch::Contains("std::as_const"));
            }
            runtime.barrier();
            a.close();
            b.close();
            c.close();
        }
    GlobalArray<double, 2> a{runtime, {4, 5}};
    GlobalArray<bool, 2> other{runtime, {5, 4}};
    CHECK_THROWS_AS(chapel::forall(chapel::zip(a, other), [](double&, bool&) {}), RangeError);
    // Of other types and domains, by position.
    DomainArray<bool, 2> odd{runtime, Domain<2>{Range{1, 9}.by(2), Range{10, 15}}, Cyclic{}};
    chapel::forall(odd, [](std::int64_t i, std::int64_t j, bool& x) { x = i == 3 && j == 12; });
    runtime.barrier();
    chapel::forall(chapel::zip(a, std::as_const(odd)), [](double& x, bool y) { x = y ? 1 : 0; });
    runtime.barrier();
    CHECK(a.sum() == 1);
    CHECK(a(1, 2) == 1);
    runtime.barrier();
    other.close();
    odd.close();
    a.close();
    runtime.close();
}

TEST_CASE("expressions of whole arrays, under all pairs of distributions") {
    Runtime runtime;
    const auto makers = test::every_maker<double, 2>(runtime.size());
    for (const test::Maker<double, 2>& first : makers)
        for (const test::Maker<double, 2>& second : makers) {
            if (second.lower_triangle || first.lower_triangle) continue;
            INFO(first.name << " of " << second.name);
            GlobalArray<double, 2> a = first.make(runtime, {11, 11});
            GlobalArray<double, 2> b = second.make(runtime, {11, 11});
            GlobalArray<std::int32_t, 2> c{runtime, {11, 11}, Cyclic{}};
            using chapel::whole;
            chapel::forall(b, [](std::int64_t i, std::int64_t j, double& y) { y = static_cast<double>(100 * i + j); });
            whole(c) = 3;
            const double alpha = 0.5;
            whole(a) = whole(b) + alpha * whole(c) - -whole(b) / 2.0;
            CHECK(differing(a, false, [](const Index<2>& i) {
                      const auto y = static_cast<double>(100 * i[0] + i[1]);
                      return y + 1.5 + y / 2;
                  }) == "none");
            const GlobalArray<double, 2>& fixed = b;
            whole(a) = whole(fixed);
            whole(a) += 1.0;
            whole(a) = chapel::map([](double x, int y, double z) { return x * y + z; }, a, 2 * whole(c), 4.0);
            CHECK(differing(a, false, [](const Index<2>& i) {
                      return 6 * (static_cast<double>(100 * i[0] + i[1]) + 1) + 4;
                  }) == "none");
            whole(a(Range{0, 5}, all)) = whole(b(Range{5, 10}, all)) * 2.0;
            CHECK(a.sum() > 0);
            CHECK(a(4, 3) == 2 * 903);
            runtime.barrier();
            a.close();
            b.close();
            c.close();
        }
    GlobalArray<double, 1> a{runtime, {8}};
    GlobalArray<double, 1> longer{runtime, {9}};
    CHECK_THROWS_AS(chapel::whole(a) = chapel::whole(a) + chapel::whole(longer), RangeError);
    const auto failing = [](double) -> double { throw std::runtime_error{"no value"}; };
    CHECK_THROWS_WITH(chapel::whole(a) = chapel::map(failing, a), Catch::Contains("no value"));
    a.close();
    longer.close();
    runtime.close();
}

TEST_CASE("locales, on, coforall, sync and cobegin") {
    Runtime runtime;
    const chapel::Locales all = chapel::locales(runtime);
    CHECK(all.num_locales() == runtime.size());
    CHECK(all.here().id == runtime.rank());
    CHECK(all.max_task_par() >= 1);
    CHECK_THROWS_AS(all[runtime.size()], RangeError);
    const Rank next{(runtime.rank().value + 1) % runtime.size()};
    CHECK(chapel::on(all[next], [](int x) { return 2 * x; }, 21) == 42);
    CHECK_THROWS_AS(chapel::on(all[next], [] { throw std::runtime_error{"there"}; }), FunctionError);

    GlobalArray<int, 1> a{runtime, {runtime.size()}};
    chapel::coforall(all, [&](const chapel::Locale& here) { a((here.id.value + 1) % runtime.size()) = here.id.value; });
    for (int k = 0; k < runtime.size(); ++k) CHECK(a((k + 1) % runtime.size()) == k);
    const auto failing = [&](const chapel::Locale& here) {
        if (here.id == 0) throw std::runtime_error{"at locale 0"};
    };
    CHECK_THROWS_WITH(chapel::coforall(all, failing), Catch::Contains("at locale 0"));

    std::atomic<int> done = 0;
    chapel::sync([&](chapel::Tasks& tasks) {
        for (int k = 0; k < 5; ++k) tasks.begin([&] { ++done; });
    });
    CHECK(done == 5);
    int x = 0;
    int y = 0;
    chapel::cobegin([&] { x = 1; }, [&] { y = 2; });
    CHECK(x + y == 3);
    const auto scope = [&](chapel::Tasks& tasks) {
        tasks.begin([] { throw std::runtime_error{"in a task"}; });
        tasks.begin([&] { ++done; });
    };
    CHECK_THROWS_WITH(chapel::sync(scope), "in a task");
    CHECK(done == 6);
    runtime.barrier();
    a.close();
    runtime.close();
}
