// Collective calls on global arrays: fill, copies between distributions, broadcast, reductions.
#include "tests/array/array_test.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace lapwing;

namespace {

/// An affine map x -> a * x + b modulo a prime: its composition is associative and not commutative.
struct Affine {
    std::int64_t factor = 1;
    std::int64_t offset = 0;

    static constexpr std::int64_t modulus = 1'000'003;
    friend Affine operator*(const Affine& first, const Affine& second) {
        return {first.factor * second.factor % modulus, (second.factor * first.offset + second.offset) % modulus};
    }
    friend bool operator==(const Affine&, const Affine&) = default;
};

template <class T, std::size_t N>
void check_sum_and_extremes(const Extents<N>& extents) {
    Runtime runtime;
    test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
        GlobalArray<T, N> array = maker.make(runtime, extents);
        array.for_each_local([&](const Index<N>& index, T& element) {
            // Whole numbers, whose sums are exact in any order also as floating point.
            element = static_cast<T>(static_cast<int>(test::position_of(extents, index) * 37 % 101) - 50);
        });
        array::SumOf<T> sum{};
        T smallest = std::numeric_limits<T>::max();
        T largest = std::numeric_limits<T>::lowest();
        for (const Index<N>& index : array.domain()) {
            if (!test::stored(maker.lower_triangle, index)) continue;
            const T value = static_cast<T>(static_cast<int>(test::position_of(extents, index) * 37 % 101) - 50);
            sum += static_cast<array::SumOf<T>>(value);
            smallest = std::min(smallest, value);
            largest = std::max(largest, value);
        }
        CHECK(array.sum() == sum);
        CHECK(array.min() == smallest);
        CHECK(array.max() == largest);
    });
}

} // namespace

TEST_CASE("fill sets every element on every rank, over what was written before") {
    Runtime runtime;
    test::for_every_maker<test::Colour, 2>(runtime.size(), [&](const test::Maker<test::Colour, 2>& maker) {
        GlobalArray<test::Colour, 2> array = maker.make(runtime, {7, 7});
        const auto own = static_cast<std::int64_t>(runtime.rank().value);
        array(6, own % 7) = {9, 9, 9};
        array.fill({1, 2, 3});
        test::Mismatches mismatches;
        for (const Index<2>& index : array.domain())
            if (test::stored(maker.lower_triangle, index))
                mismatches.check(array(index).get() == test::Colour{1, 2, 3}, index);
        CHECK(mismatches.text() == "none");
        runtime.barrier();
    });
}

TEST_CASE("an array is filled with one of its own elements") {
    Runtime runtime;
    GlobalArray<std::int64_t, 1> array{runtime, {20 * runtime.size()}};
    test::number_elements(array);
    const std::int64_t value = array(7);
    runtime.barrier();
    array.fill(array(7));
    CHECK(array.min() == value);
    CHECK(array.max() == value);
}

TEST_CASE("arrays are copied between any two distributions") {
    Runtime runtime;
    const auto makers = test::every_maker<std::int32_t, 2>(runtime.size());
    std::vector<GlobalArray<std::int32_t, 2>> targets;
    for (const auto& to : makers) targets.push_back(to.make(runtime, {9, 9}));
    std::uint64_t first = 0;
    for (const auto& from : makers) {
        GlobalArray<std::int32_t, 2> source = from.make(runtime, {9, 9});
        test::number_elements(source, first += 1000);
        for (std::size_t k = 0; k < makers.size(); ++k) {
            if (from.lower_triangle && !makers[k].lower_triangle) continue;
            INFO("from " << from.name << " to " << makers[k].name);
            targets[k].copy_from(source);
            CHECK(test::misnumbered(targets[k], makers[k].lower_triangle, first) == "none");
        }
        runtime.barrier();
    }
}

TEST_CASE("arrays of other dimensions and element sizes are copied") {
    Runtime runtime;
    const auto check = [&]<class T, std::size_t N>(T, const Extents<N>& extents) {
        GlobalArray<T, N> source{runtime, extents, Cyclic{}};
        GlobalArray<T, N> target{runtime, extents, Block{}};
        test::number_elements(source);
        target.copy_from(source);
        CHECK(test::misnumbered(target, false) == "none");
        runtime.barrier();
    };
    check(std::uint8_t{}, Extents<1>{1000});
    check(test::Particle{}, Extents<3>{5, 6, 7});
    check(test::Colour{}, Extents<4>{3, 2, 5, 4});
    check(double{}, Extents<2>{0, 3});
    check(double{}, Extents<1>{1});
}

TEST_CASE("a copy from an array that does not store everything is refused on every rank") {
    Runtime runtime;
    GlobalArray<double, 2> triangle{runtime, {6, 6}, example::Triangular{}, {.name = "triangle"}};
    // By rows: the last rank's part is stored, and it has to hear of it all the same.
    GlobalArray<double, 2> rows{runtime, {6, 6}, Block{.grid = {runtime.size(), 1}}, {.name = "rows"}};
    rows.fill(4);
    CHECK_THAT(test::message_of<RangeError>([&] { rows.copy_from(triangle); }),
               test::says({"triangle", "copy_from", "(0, 1)", "stores no element"}));
    CHECK(rows.min() == 4);
    const GlobalArray<double, 2> larger{runtime, {6, 7}, Block{}, {.name = "larger"}};
    CHECK_THAT(test::message_of<RangeError>([&] { rows.copy_from(larger); }),
               test::says({"rows", "copy_from", "(6, 6)", "(6, 7)", "equal"}));
    runtime.barrier();
}

TEST_CASE("a replicated array takes the copy of one rank") {
    Runtime runtime;
    GlobalArray<std::int64_t, 1> copies{runtime, {33}, Replicated{}, {.name = "copies"}};
    for (int root = 0; root < runtime.size(); ++root) {
        for (auto [i] : copies.local_domain()) copies.local(i) = 1000 * runtime.rank().value + i;
        copies.broadcast(Rank{root});
        for (auto [i] : copies.local_domain()) REQUIRE(copies.local(i) == 1000 * root + i);
        // The barrier that ends the call: nobody's later write gets into it.
    }
    CHECK_THAT(test::message_of<RangeError>([&] { copies.broadcast(Rank{-1}); }), test::says({"copies", "rank -1"}));
    GlobalArray<std::int64_t, 1> block{runtime, {33}, Block{}, {.name = "block"}};
    CHECK_THAT(test::message_of<UsageError>([&] { block.broadcast(Rank{0}); }),
               test::says({"block", "broadcast", "Replicated"}));
}

TEST_CASE("sum, smallest and largest element under every distribution") {
    check_sum_and_extremes<std::int8_t, 1>({300});
    check_sum_and_extremes<std::int32_t, 2>({11, 11});
    check_sum_and_extremes<std::int64_t, 3>({5, 4, 7});
    check_sum_and_extremes<float, 2>({13, 13});
    check_sum_and_extremes<double, 4>({3, 5, 2, 4});
    check_sum_and_extremes<double, 1>({1}); // all but one rank have nothing
}

TEST_CASE("sums of small integers do not overflow, those of 64 bits wrap around") {
    Runtime runtime;
    GlobalArray<std::uint8_t, 1> bytes{runtime, {1000}};
    bytes.fill(255);
    CHECK(bytes.sum() == 255'000U);
    GlobalArray<std::uint64_t, 1> large{runtime, {3}};
    large.fill(std::numeric_limits<std::uint64_t>::max());
    CHECK(large.sum() == std::numeric_limits<std::uint64_t>::max() - 2);
    GlobalArray<std::int32_t, 1> none{runtime, {0}};
    CHECK(none.sum() == 0);
}

TEST_CASE("extremes of unsigned, negative and infinite values") {
    Runtime runtime;
    const std::int64_t last = 5 * runtime.size() - 1;
    GlobalArray<std::uint64_t, 1> numbers{runtime, {last + 1}};
    numbers.fill(std::uint64_t{1} << 63);
    if (runtime.rank().value == 0) numbers(last) = std::numeric_limits<std::uint64_t>::max();
    CHECK(numbers.min() == std::uint64_t{1} << 63);
    CHECK(numbers.max() == std::numeric_limits<std::uint64_t>::max());
    GlobalArray<double, 1> reals{runtime, {last + 1}};
    reals.fill(-3);
    CHECK(reals.max() == -3);
    const double infinity = std::numeric_limits<double>::infinity();
    reals.fill(infinity);
    CHECK(reals.min() == infinity);
    GlobalArray<float, 1> floats{runtime, {last + 1}};
    floats.fill(-std::numeric_limits<float>::infinity());
    CHECK(floats.max() == -std::numeric_limits<float>::infinity());
}

TEST_CASE("an array of no elements has no extremes") {
    Runtime runtime;
    GlobalArray<int, 2> none{runtime, {0, 4}, Block{}, {.name = "none"}};
    CHECK_THAT(test::message_of<UsageError>([&] { (void)none.min(); }), test::says({"none", "min", "no elements"}));
    CHECK_THAT(test::message_of<UsageError>([&] { (void)none.max(); }), test::says({"none", "max", "no elements"}));
    CHECK(none.reduce(17, [](int x, int) { return x; }) == 17);
    runtime.barrier();
}

TEST_CASE("a reduction combines in the order of memory and of ranks") {
    Runtime runtime;
    const std::int64_t n = 97;
    const auto map_of = [](std::int64_t i) { return Affine{i * i % 89 + 2, 3 * i + 1}; };
    Affine expected;
    for (std::int64_t i = 0; i < n; ++i) expected = expected * map_of(i);
    GlobalArray<Affine, 1> block{runtime, {n}};
    block.for_each_local([&](const Index<1>& index, Affine& element) { element = map_of(index[0]); });
    CHECK(block.reduce(Affine{}, std::multiplies<>{}) == expected);
    GlobalArray<Affine, 1> replicated{runtime, {n}, Replicated{}};
    replicated.copy_from(block);
    CHECK(replicated.reduce(Affine{}, std::multiplies<>{}) == expected);
    // Fewer elements than ranks.
    GlobalArray<Affine, 1> two{runtime, {2}};
    two.for_each_local([&](const Index<1>& index, Affine& element) { element = map_of(index[0]); });
    CHECK(two.reduce(Affine{}, std::multiplies<>{}) == map_of(0) * map_of(1));
}

TEST_CASE("a reduction transforms elements to values of another type, as large as a histogram") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {8, 9}, Cyclic{}};
    array.for_each_local([](const Index<2>& index, double& element) { element = static_cast<double>(index[1]); });
    CHECK(array.transform_reduce(0.0, std::plus<>{}, [](double x) { return x * x; }) == 8 * 204);
    using Histogram = std::array<std::int64_t, 32>;
    static_assert(sizeof(Histogram) == 256);
    const auto add = [](Histogram left, const Histogram& right) {
        std::transform(left.begin(), left.end(), right.begin(), left.begin(), std::plus<>{});
        return left;
    };
    const Histogram counts = array.transform_reduce(Histogram{}, add, [](double x) {
        Histogram one{};
        one[static_cast<std::size_t>(x)] = 1;
        return one;
    });
    for (std::size_t k = 0; k < 32; ++k) CHECK(counts[k] == (k < 9 ? 8 : 0));
}
