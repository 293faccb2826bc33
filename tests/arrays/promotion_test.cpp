// A function's values of several slices, assigned to another, under any distributions, against a serial oracle.
#include "tests/arrays/array_test.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace lapwing;

namespace {

[[nodiscard]] Triplet some_of(test::Random& random, std::int64_t extent, std::int64_t size) {
    const std::int64_t most = size > 1 ? (extent - 1) / (size - 1) : 1;
    const std::int64_t stride = random.number(1, most);
    const std::int64_t first = random.number(0, extent - 1 - (size - 1) * stride);
    const Triplet triplet = Triplet::strided(first, static_cast<std::uint64_t>(size), stride);
    return random.number(0, 2) == 0 ? triplet.reversed() : triplet;
}

/// A slice of a matrix, and what it has at a position.
struct Chosen {
    std::array<Triplet, 2> indices;
    bool transposed = false;

    template <class T>
    [[nodiscard]] ArraySlice<T, 2> of(GlobalArray<T, 2>& array) const {
        const auto slice = array(indices[0], indices[1]);
        return transposed ? slice.transposed() : slice;
    }
    [[nodiscard]] Index<2> index(std::uint64_t i, std::uint64_t j) const {
        return transposed ? Index<2>{indices[0][j], indices[1][i]} : Index<2>{indices[0][i], indices[1][j]};
    }
};

[[nodiscard]] Chosen choose(test::Random& random, const Extents<2>& extents, std::int64_t rows, std::int64_t columns) {
    const bool transposed = random.number(0, 1) == 1;
    return {{some_of(random, extents[0], transposed ? columns : rows),
             some_of(random, extents[1], transposed ? rows : columns)},
            transposed};
}

template <class T, std::size_t N>
[[nodiscard]] T numbered(const GlobalArray<T, N>& array, const Index<N>& index, std::uint64_t first) {
    return test::value_of<T>(first + test::position_of(array.extents(), index));
}

[[nodiscard]] double mixture(double x, std::int32_t y, const test::Colour& z) noexcept {
    return x + 0.25 * static_cast<double>(y % 1024) + (z.red - 2.0 * z.green + 3.0 * z.blue);
}

/// An array under each distribution but the triangle, which does not store all.
template <class T>
[[nodiscard]] std::vector<std::unique_ptr<GlobalArray<T, 2>>>
under_every_distribution(Runtime& runtime, const Extents<2>& extents, std::uint64_t first,
                         std::vector<std::string>* names = nullptr) {
    std::vector<std::unique_ptr<GlobalArray<T, 2>>> arrays;
    for (const test::Maker<T, 2>& maker : test::every_maker<T, 2>(runtime.size())) {
        if (maker.lower_triangle) continue;
        arrays.push_back(std::make_unique<GlobalArray<T, 2>>(maker.make(runtime, extents)));
        test::number_elements(*arrays.back(), first);
        if (names != nullptr) names->push_back(maker.name);
    }
    return arrays;
}
template <class T>
void close_all(const std::vector<std::unique_ptr<GlobalArray<T, 2>>>& arrays) {
    for (const auto& array : arrays) array->close();
}

/// Whether the elements of the target at the positions of a slice are what `expected(i, j)` gives, and others -1.
template <class Expected>
[[nodiscard]] std::string differing(GlobalArray<double, 2>& target, const Chosen& to, std::uint64_t rows,
                                    std::uint64_t columns, Expected expected) {
    std::vector<double> oracle(target.size(), -1);
    for (std::uint64_t i = 0; i < rows; ++i)
        for (std::uint64_t j = 0; j < columns; ++j)
            oracle[test::position_of(target.extents(), to.index(i, j))] = expected(i, j);
    test::Mismatches wrong;
    target.for_each_local([&](const Index<2>& index, double& element) {
        wrong.check(element == oracle[test::position_of(target.extents(), index)], index);
    });
    return wrong.text();
}

} // namespace

TEST_CASE("a function of slices of three arrays, under all pairs of distributions") {
    Runtime runtime;
    test::Random random{61};
    std::vector<std::string> names;
    const auto targets = under_every_distribution<double>(runtime, {19, 23}, 0, &names);
    const auto xs = under_every_distribution<double>(runtime, {21, 17}, 100);
    const auto ys = under_every_distribution<std::int32_t>(runtime, {30, 18}, 1000);
    const auto zs = under_every_distribution<test::Colour>(runtime, {16, 40}, 10'000);
    const std::size_t makers = targets.size();
    for (std::size_t a = 0; a < makers; ++a)
        for (std::size_t b = 0; b < makers; ++b) {
            GlobalArray<double, 2>& target = *targets[a];
            GlobalArray<double, 2>& x = *xs[b];
            GlobalArray<std::int32_t, 2>& y = *ys[(a + b) % makers];
            GlobalArray<test::Colour, 2>& z = *zs[(2 * a + b + 1) % makers];
            for (int round = 0; round < 2; ++round) {
                const auto rows = random.number(1, 16);
                const auto columns = random.number(1, 16);
                const Chosen to = choose(random, target.extents(), rows, columns);
                const Chosen of_x = choose(random, x.extents(), rows, columns);
                const Chosen of_y = choose(random, y.extents(), rows, columns);
                const Chosen of_z = choose(random, z.extents(), rows, columns);
                target.fill(-1);
                int calls = 0;
                Assignment assignment;
                assignment.add(
                    to.of(target),
                    [&calls](double p, std::int32_t q, const test::Colour& r) noexcept {
                        ++calls;
                        return mixture(p, q, r);
                    },
                    of_x.of(x), of_y.of(y), of_z.of(z));
                INFO(names[a] << " = f(" << names[b] << ", …)");
                assignment.execute();
                REQUIRE(differing(target, to, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                                  [&](std::uint64_t i, std::uint64_t j) {
                                      return mixture(numbered(x, of_x.index(i, j), 100),
                                                     numbered(y, of_y.index(i, j), 1000),
                                                     numbered(z, of_z.index(i, j), 10'000));
                                  }) == "none");
                int own = 0;
                for (std::int64_t i = 0; i < rows; ++i)
                    for (std::int64_t j = 0; j < columns; ++j)
                        own += target.is_local(to.index(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)))
                                   ? 1
                                   : 0;
                REQUIRE(calls == own); // once for each own element
            }
        }
    close_all(targets);
    close_all(xs);
    close_all(ys);
    close_all(zs);
    runtime.close();
}

TEST_CASE("sources under the target's distribution are read where they lie") {
    Runtime runtime;
    test::for_every_maker<double, 2>(runtime.size(), [&](const test::Maker<double, 2>& maker) {
        if (maker.lower_triangle) return;
        const Extents<2> extents{11, 150};
        GlobalArray<double, 2> target = maker.make(runtime, extents);
        GlobalArray<double, 2> x = maker.make(runtime, extents);
        GlobalArray<double, 2> y = maker.make(runtime, extents);
        GlobalArray<std::int32_t, 2> other{runtime, extents, Cyclic{}};
        test::number_elements(x, 100);
        test::number_elements(y, 9000);
        test::number_elements(other, 7);
        const auto mix = [](double a, std::int32_t b, double c) noexcept { return a + 0.25 * (b % 1024) - 2 * c; };
        const auto at = [&](const Index<2>& of_x, const Index<2>& of_other, const Index<2>& of_y) {
            return mix(numbered(x, of_x, 100), numbered(other, of_other, 7), numbered(y, of_y, 9000));
        };
        const Triplet rows = Range{0, 11};
        const Triplet columns = Range{0, 150};
        const std::pair<Triplet, Triplet> parts[] = {{rows, columns},
                                                     {Range{1, 10}.by(3), Range{7, 140}},
                                                     {reversed(Range{2, 9}), columns},
                                                     {rows, reversed(Range{3, 148})},
                                                     {rows, Range{0, 150}.by(2)}, // too short to be read there
                                                     {Range{4, 5}, columns}};
        for (const auto& [some_rows, some_columns] : parts)
            for (const bool transposed : {false, true}) {
                const Chosen part{{some_rows, some_columns}, transposed};
                const auto m = part.of(target).extents();
                target.fill(-1);
                Assignment kept;
                kept.add(part.of(target), mix, part.of(x), part.of(other), part.of(y));
                kept.execute();
                kept.start().wait();
                INFO(maker.name << ", " << to_string(some_rows) << ", " << to_string(some_columns));
                CHECK(differing(target, part, static_cast<std::uint64_t>(m[0]), static_cast<std::uint64_t>(m[1]),
                                [&](std::uint64_t i, std::uint64_t j) {
                                    return at(part.index(i, j), part.index(i, j), part.index(i, j));
                                }) == "none");
                runtime.barrier();
            }
        // All of them, the target too, and none that has to be moved.
        test::number_elements(target, 3);
        Assignment beside;
        beside.add(target.slice(), [](double a, double b) { return a - b; }, target.slice(), x.slice());
        if (!maker.user_defined) {
            CHECK(beside.transfers() == 0);
            bool has_some = false;
            target.for_each_local([&](const Index<2>&, const double&) { has_some = true; });
            CHECK((beside.explain().find("read where they lie") != std::string::npos) == has_some);
        }
        beside.execute();
        const Chosen whole{{rows, columns}, false};
        CHECK(differing(target, whole, 11, 150, [&](std::uint64_t i, std::uint64_t j) {
                  const Index<2> index = whole.index(i, j);
                  return numbered(target, index, 3) - numbered(x, index, 100);
              }) == "none");
        runtime.barrier();
        // One column further: not at the same places.
        target.fill(-1);
        const Chosen left{{rows, Range{0, 149}}, false};
        const Chosen right{{rows, Range{1, 150}}, false};
        left.of(target).assign(mix, right.of(x), left.of(other), left.of(y));
        CHECK(differing(target, left, 11, 149, [&](std::uint64_t i, std::uint64_t j) {
                  return at(right.index(i, j), left.index(i, j), left.index(i, j));
              }) == "none");
        runtime.barrier();
        target.close();
        x.close();
        y.close();
        other.close();
    });
    runtime.close();
}

TEST_CASE("many pieces, few transfers, and the same again") {
    Runtime runtime;
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    constexpr std::int64_t n = 1'300'000;
    GlobalArray<double, 1> target{runtime, {n}, BlockCyclic{.block = {12}}};
    GlobalArray<double, 1> x{runtime, {n}, Cyclic{}};
    GlobalArray<std::int64_t, 1> y{runtime, {n}, BlockCyclic{.block = {5}}};
    GlobalArray<float, 1> z{runtime, {n}, Block{}};
    Assignment kept;
    kept.add(
        target.slice(), [](double a, std::int64_t b, float c) { return a - static_cast<double>(b) + c; }, x.slice(),
        y.slice(), z(reversed(Range{0, n})));
    const auto value = [](std::int64_t i, int round) {
        return static_cast<double>(i * round) - static_cast<double>(2 * i) + static_cast<double>((n - 1 - i) % 1000);
    };
    y.for_each_local([](const Index<1>& i, std::int64_t& element) { element = 2 * i[0]; });
    z.for_each_local([](const Index<1>& i, float& element) { element = static_cast<float>(i[0] % 1000); });
    for (int round = 1; round <= 2; ++round) {
        x.for_each_local([round](const Index<1>& i, double& element) { element = static_cast<double>(i[0] * round); });
        if (round == 1) {
            kept.execute();
        } else {
            Completion started = kept.start();
            (void)started.test();
            CHECK_THROWS_AS(kept.execute(), UsageError);
            started.wait();
        }
        test::Mismatches wrong;
        target.for_each_local(
            [&](const Index<1>& i, double& element) { wrong.check(element == value(i[0], round), i); });
        CHECK(wrong.text() == "none");
        runtime.barrier();
    }
    const std::uint64_t pieces = 20 * static_cast<std::uint64_t>(n) / ranks / (std::uint64_t{1} << 20) + 1;
    CHECK(kept.transfers() <= 3 * (ranks - 1) * 2 * pieces);
    target.close();
    x.close();
    y.close();
    z.close();
    runtime.close();
}

TEST_CASE("a large part of large elements") {
    Runtime runtime;
    if (runtime.size() <= 2) { // 34 MB of each source on a rank: more pieces than have their plans kept
        struct Large {
            std::array<double, 256> values;
        };
        const std::int64_t n = 17'000 * runtime.size();
        GlobalArray<double, 1> target{runtime, {n}, BlockCyclic{.block = {3}}};
        GlobalArray<Large, 1> x{runtime, {n}, Cyclic{}};
        GlobalArray<Large, 1> y{runtime, {n}, Block{}};
        x.for_each_local([](const Index<1>& i, Large& element) { element.values.fill(static_cast<double>(i[0])); });
        y.for_each_local([](const Index<1>& i, Large& element) { element.values.fill(static_cast<double>(i[0]) / 4); });
        target.slice().assign([](const Large& a, const Large& b) { return a.values[0] + b.values[255]; }, x.slice(),
                              y.slice());
        test::Mismatches wrong;
        target.for_each_local(
            [&](const Index<1>& i, double& element) { wrong.check(element == 1.25 * static_cast<double>(i[0]), i); });
        CHECK(wrong.text() == "none");
        runtime.barrier();
        target.close();
        x.close();
        y.close();
    }
    runtime.close();
}

TEST_CASE("the target among the sources, and sources that overlap it") {
    Runtime runtime;
    const std::int64_t n = 400;
    test::for_every_maker<double, 1>(runtime.size(), [&](const test::Maker<double, 1>& maker) {
        GlobalArray<double, 1> a = maker.make(runtime, {n});
        GlobalArray<double, 1> b{runtime, {n}, Cyclic{}};
        std::vector<double> oracle(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < oracle.size(); ++i) oracle[i] = static_cast<double>(i * i % 97);
        a.for_each_local([&](const Index<1>& i, double& element) { element = oracle[static_cast<std::size_t>(i[0])]; });
        b.for_each_local([](const Index<1>& i, double& element) { element = static_cast<double>(i[0]); });
        const auto check = [&] {
            test::Mismatches wrong;
            a.for_each_local([&](const Index<1>& i, double& element) {
                wrong.check(element == oracle[static_cast<std::size_t>(i[0])], i);
            });
            CHECK(wrong.text() == "none");
            runtime.barrier();
        };
        INFO(maker.name);
        a.slice().assign([](double x, double y) { return x + 2 * y; }, a.slice(), b.slice());
        for (std::size_t i = 0; i < oracle.size(); ++i) oracle[i] += 2 * static_cast<double>(i);
        check();
        const std::vector<double> before = oracle;
        const Range inner{1, n - 1};
        a(inner).assign([](double left, double middle, double right) { return left - 2 * middle + right; },
                        a(Range{0, n - 2}), a(inner), a(Range{2, n}));
        for (std::size_t i = 1; i + 1 < oracle.size(); ++i) oracle[i] = before[i - 1] - 2 * before[i] + before[i + 1];
        check();
        a.slice().assign([](double x) noexcept { return -x; }, a.slice()); // of one source
        for (double& x : oracle) x = -x;
        check();
        a.close();
        b.close();
    });
    runtime.close();
}

TEST_CASE("an error of one rank in a function of several sources is one of all, and changes nothing") {
    Runtime runtime;
    const std::int64_t n = 8001;
    const Rank bad{runtime.size() - 1};
    GlobalArray<double, 1> target{runtime, {n}, Block{}, {.name = "target"}};
    GlobalArray<double, 1> x{runtime, {n}, Cyclic{}};
    GlobalArray<double, 1> y{runtime, {n}, BlockCyclic{.block = {7}}};
    target.fill(3);
    x.fill(1);
    y.fill(2);
    const auto whole = [&](double value) { CHECK((target.min() == value && target.max() == value)); };
    Assignment kept;
    const auto throwing = [&runtime, bad, calls = 0](double a, double b) mutable {
        if (runtime.rank() == bad && calls++ == 500) throw std::domain_error{"mine"};
        return a + b;
    };
    kept.add(target.slice(), throwing, x.slice(), y.slice());
    const auto execute = [&] { kept.execute(); };
    if (runtime.rank() == bad) CHECK_THROWS_AS(execute(), std::domain_error);
    else
        CHECK_THAT(test::message_of<UsageError>(execute),
                   test::says({"what they were", "rank " + std::to_string(bad.value), "mine"}));
    whole(3);
    kept.execute(); // does not throw any more
    whole(3);       // 1 + 2
    // Sources that overlap the target, too.
    const auto overlapping = [&] {
        target(Range{0, n - 1})
            .assign(
                [&](double a, double b) {
                    if (runtime.rank() == bad) throw std::domain_error{"mine"};
                    return a + b;
                },
                target(Range{1, n}), x(Range{0, n - 1}));
    };
    if (runtime.rank() == bad) CHECK_THROWS_AS(overlapping(), std::domain_error);
    else CHECK_THROWS_AS(overlapping(), UsageError);
    whole(3);
    CHECK_THROWS_WITH(target.slice().assign(throwing, x(Range{0, 10}), y.slice()),
                      Catch::Contains("extents (8001) and (10)"));
    x.close();
    CHECK_THROWS_WITH(kept.execute(), Catch::Contains("was closed") && Catch::Contains("= f("));
    target.close();
    y.close();
    runtime.close();
}

TEST_CASE("a source that does not store an element is an error before anything is assigned") {
    Runtime runtime;
    GlobalArray<double, 2> target{runtime, {9, 9}, Cyclic{}, {.name = "target"}};
    GlobalArray<double, 2> lower{runtime, {9, 9}, example::Triangular{}, {.name = "lower"}};
    GlobalArray<double, 2> other{runtime, {9, 9}};
    target.fill(3);
    other.fill(1);
    const auto sum = [](double a, double b) noexcept { return a + b; };
    CHECK_THROWS_WITH(target.slice().assign(sum, other.slice(), lower.slice()), Catch::Contains("stores no element"));
    CHECK((target.min() == 3 && target.max() == 3));
    // What it stores can be assigned, in both directions.
    lower.for_each_local([](const Index<2>& i, double& element) { element = static_cast<double>(i[0]); });
    target(8, all).assign(sum, other(0, all), lower(8, all));
    CHECK(target(8, 3) == 9);
    runtime.barrier();
    lower(8, all).assign(sum, target(8, all), other(3, all));
    CHECK(lower(8, 4) == 10);
    runtime.barrier();
    target.close();
    lower.close();
    other.close();
    runtime.close();
}

TEST_CASE("planes of arrays of three dimensions, and arrays over the same ranks in another order") {
    Runtime runtime;
    MPI_Comm reversed_ranks = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -runtime.rank().value, &reversed_ranks);
    Team other_way{reversed_ranks, runtime.settings()};
    GlobalArray<std::int64_t, 3> target{runtime, {6, 5, 9}, BlockCyclic{.block = {1, 2, 2}}};
    GlobalArray<std::int32_t, 3> x{other_way, {9, 7, 6}, Cyclic{}};
    GlobalArray<std::uint8_t, 2> y{other_way, {6, 9}, Block{}};
    GlobalArray<std::int64_t, 1> row{runtime, {9}, Replicated{}};
    const auto at = [](std::int64_t i, std::int64_t j, std::int64_t k) { return 100 * i + 10 * j + k; };
    x.for_each_local(
        [&](const Index<3>& i, std::int32_t& element) { element = static_cast<std::int32_t>(at(i[0], i[1], i[2])); });
    y.for_each_local(
        [](const Index<2>& i, std::uint8_t& element) { element = static_cast<std::uint8_t>(10 * i[0] + i[1]); });
    target.fill(-1);
    const auto sum = [](std::int32_t a, std::uint8_t b) noexcept { return a + b; };
    target(all, 3, all).assign(sum, x(all, 4, all).transposed(), y.slice());
    row.slice().assign(sum, x(all, 4, 2), y(5, all)); // every rank has all of it
    test::Mismatches wrong;
    target.for_each_local([&](const Index<3>& i, const std::int64_t& element) {
        wrong.check(element == (i[1] == 3 ? at(i[2], 4, i[0]) + 10 * i[0] + i[2] : -1), i);
    });
    for (std::int64_t k = 0; k < 9; ++k) wrong.check(row(k) == at(k, 4, 2) + 50 + k, Index<1>{k});
    CHECK(wrong.text() == "none");
    runtime.barrier();
    target.close();
    x.close();
    y.close();
    row.close();
    other_way.close();
    MPI_Comm_free(&reversed_ranks);
    runtime.close();
}

TEST_CASE("slices without elements, and ranks without any") {
    Runtime runtime;
    GlobalArray<double, 2> target{runtime, {1, 30}, BlockCyclic{.block = {1, 20}}};
    GlobalArray<double, 2> x{runtime, {1, 30}, Block{}};
    GlobalArray<double, 2> y{runtime, {30, 1}, Cyclic{}};
    target.fill(7);
    x.fill(1);
    y.fill(2);
    int calls = 0;
    const auto sum = [&calls](double a, double b) {
        ++calls;
        return a + b;
    };
    target(all, Range{4, 4}).assign(sum, x(all, Range{9, 9}), y(Range{0, 0}, all).transposed());
    CHECK(calls == 0);
    CHECK((target.min() == 7 && target.max() == 7));
    target.slice().assign(sum, x.slice(), y.slice().transposed());
    CHECK((target.min() == 3 && target.max() == 3));
    std::int64_t own = 0;
    target.for_each_local([&own](const Index<2>&, const double&) { ++own; });
    CHECK(calls == own);
    target.close();
    x.close();
    y.close();
    runtime.close();
}

TEST_CASE("with copies, fills and functions that may throw, in one execution and in two halves") {
    Runtime runtime;
    const std::int64_t n = 500;
    GlobalArray<double, 1> sums{runtime, {n}, BlockCyclic{.block = {3}}};
    GlobalArray<double, 1> products{runtime, {n}, Cyclic{}};
    GlobalArray<float, 1> copies{runtime, {n}, BlockCyclic{.block = {11}}};
    GlobalArray<int, 1> ones{runtime, {n}, Block{}};
    GlobalArray<double, 1> x{runtime, {n}, Block{}};
    GlobalArray<double, 1> y{runtime, {n}, Cyclic{}};
    bool fails = false;
    Assignment all_of_them;
    all_of_them.add(sums.slice(), [](double a, double b) noexcept { return a + b; }, x.slice(), y.slice());
    all_of_them.add(copies.slice(), y.slice());
    all_of_them.add(
        products.slice(),
        [&fails](double a, double b) {
            if (fails) throw std::domain_error{"no product"};
            return a * b;
        },
        x.slice(), y.slice());
    all_of_them.add_fill(ones.slice(), 1);
    for (int round = 1; round <= 3; ++round) {
        x.for_each_local([round](const Index<1>& i, double& element) { element = static_cast<double>(round * i[0]); });
        y.for_each_local([](const Index<1>& i, double& element) { element = static_cast<double>(i[0] % 10); });
        if (round == 1) {
            all_of_them.execute();
        } else {
            fails = round == 3;
            Completion started = all_of_them.start();
            for (int k = 0; k < 10; ++k) CHECK(!started.test());
            if (fails) CHECK_THROWS_AS(started.wait(), std::domain_error);
            else started.wait();
        }
        const int last = fails ? 2 : round;
        test::Mismatches wrong;
        const auto check = [&wrong](auto& array, auto expected) {
            array.for_each_local([&](const Index<1>& i, const auto& element) {
                wrong.check(element == expected(static_cast<double>(i[0])), i);
            });
        };
        const auto part = [](double i) { return static_cast<double>(static_cast<int>(i) % 10); };
        check(sums, [&](double i) { return last * i + part(i); });
        check(products, [&](double i) { return last * i * part(i); });
        check(copies, part);
        check(ones, [](double) { return 1; });
        CHECK(wrong.text() == "none");
        runtime.barrier();
    }
    for (GlobalArray<double, 1>* array : {&sums, &products, &x, &y}) array->close();
    copies.close();
    ones.close();
    runtime.close();
}
