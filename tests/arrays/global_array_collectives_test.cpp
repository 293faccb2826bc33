// Collective calls on global arrays: fill, copies between distributions, broadcast, reductions.
#include "tests/arrays/array_test.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
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
        detail::arrays::SumOf<T> sum{};
        T smallest = std::numeric_limits<T>::max();
        T largest = std::numeric_limits<T>::lowest();
        for (const Index<N>& index : array.domain()) {
            if (!test::stored(maker.lower_triangle, index)) continue;
            const T value = static_cast<T>(static_cast<int>(test::position_of(extents, index) * 37 % 101) - 50);
            sum += static_cast<detail::arrays::SumOf<T>>(value);
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
    // An element of the local part, which is the first to be overwritten.
    const std::int64_t first = array.local_domain().first()[0];
    array.local(first) = 1234;
    array.fill(array.local(first));
    CHECK(array.min() == 1234);
    CHECK(array.max() == 1234);
}

TEST_CASE("arrays are copied between any two distributions") {
    Runtime runtime;
    const auto makers = test::every_maker<std::int32_t, 2>(runtime.size());
    std::vector<GlobalArray<std::int32_t, 2>> targets;
    targets.reserve(makers.size());
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
    // By rows: the last rank's part is stored, and it has to be notified all the same.
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

TEST_CASE("a rank that is done with reducing its copy does not write into those that others still reduce") {
    Runtime runtime;
    const std::int64_t n = 20'000;
    GlobalArray<std::int64_t, 1> copies{runtime, {n}, Replicated{}, {.name = "copies"}};
    copies.fill(1);
    // Each reduction is followed at once by a write of a rank; the barrier that starts the next one completes it.
    std::int64_t expected = n;
    const auto raise = [&](int round, std::int64_t index) {
        if (runtime.rank().value == round % runtime.size()) copies(index) = copies.local(index) + 2;
    };
    for (int round = 0; round < 60; ++round) {
        const std::int64_t i = n - 1 - round;
        REQUIRE(test::agree(runtime, copies.sum() == expected));
        raise(round, i); // 3
        expected += 2;
        const std::int64_t largest = copies.max();
        raise(round + 1, i); // 5
        REQUIRE(test::agree(runtime, largest == 3));
        const std::int64_t product = copies.reduce(0, [](std::int64_t x, std::int64_t y) { return x > y ? x : y; });
        raise(round, i); // 7
        REQUIRE(test::agree(runtime, product == 5));
        runtime.barrier();
        if (runtime.rank().value == 0) copies(i) = 3;
        runtime.barrier();
    }
}

TEST_CASE("every element of a run is in the sum and the extremes, whatever the run's length") {
    Runtime runtime;
    for (const std::int64_t part : {1, 7, 8, 9, 16, 23}) {
        const std::int64_t n = part * runtime.size();
        GlobalArray<double, 1> array{runtime, {n}};
        for (auto [i] : array.local_domain()) array.local(i) = static_cast<double>(i * i);
        const std::int64_t sum_of_squares = (n - 1) * n * (2 * n - 1) / 6;
        CHECK(array.sum() == static_cast<double>(sum_of_squares));
        CHECK(array.max() == static_cast<double>((n - 1) * (n - 1)));
        for (auto [i] : array.local_domain()) array.local(i) = static_cast<double>(-i);
        CHECK(array.min() == static_cast<double>(1 - n));
    }
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

namespace {

/// Ordered, but no number.
struct Score {
    std::int64_t points = 0;
    std::int32_t name = 0;
    friend bool operator<(const Score& a, const Score& b) { return a.points < b.points; }
};

} // namespace

TEST_CASE("elements that are no numbers are summed and compared by their own operators") {
    Runtime runtime;
    lapwing::GlobalArray<std::complex<double>, 1> numbers{runtime, {101}, lapwing::Cyclic{}};
    for (auto [i] : numbers.local_domain()) numbers.local(i) = {1.0, static_cast<double>(i)};
    CHECK(numbers.sum() == std::complex<double>(101, 5050));
    CHECK(numbers.reduce({}, std::plus<>{}) == std::complex<double>(101, 5050));

    lapwing::GlobalArray<bool, 1> flags{runtime, {101}};
    for (auto [i] : flags.local_domain()) flags.local(i) = i % 3 == 0;
    CHECK(flags.sum() == 34); // how many
    CHECK(flags.max());
    CHECK(!flags.min());
    CHECK(flags.min_location().index[0] == 1);
    CHECK(!flags.reduce(true, std::logical_and<>{}));

    lapwing::GlobalArray<Score, 1> scores{runtime, {101}};
    for (auto [i] : scores.local_domain()) scores.local(i) = {-100 - (i * 7) % 50, static_cast<std::int32_t>(i)};
    CHECK(scores.max().points == -100);
    CHECK(scores.min().points == -149);
    CHECK(scores.max_location().index[0] == 0);
    CHECK(scores.max_location().value.name == 0);
    CHECK(scores.min_location().index[0] == 7);

    lapwing::GlobalArray<long double, 1> wide{runtime, {10}};
    wide.fill(0.25L);
    CHECK(wide.sum() == 2.5L);
    CHECK(wide.max() == 0.25L);
}

TEST_CASE("atomics on elements of 1 and 2 bytes, the last of an odd number too") {
    Runtime runtime;
    lapwing::GlobalArray<std::int16_t, 1> array{runtime, {std::int64_t{2} * runtime.size() + 1}};
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(array.size()); ++i) {
        array(i).atomic().fetch_add(1);
        array(i).atomic().add(2);
    }
    array.barrier();
    CHECK(array.sum() == 3 * runtime.size() * static_cast<std::int64_t>(array.size()));
    lapwing::GlobalArray<bool, 1> claimed{runtime, {7}, lapwing::Cyclic{}};
    std::int64_t own = 0;
    for (std::int64_t i = 0; i < 7; ++i) own += claimed(i).atomic().compare_swap(false, true) ? 0 : 1;
    CHECK(runtime.sum(own) == 7);
    CHECK(claimed.sum() == 7);
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

TEST_CASE("NaN are passed over by extremes") {
    Runtime runtime;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    const std::int64_t n = 30 * runtime.size();
    GlobalArray<double, 1> array{runtime, {n}, Block{}, {.name = "nan"}};
    array.fill(nan);
    CHECK(array.min() == infinity);
    CHECK(array.max() == -infinity);
    CHECK_THAT(test::message_of<UsageError>([&] { (void)array.min_location(); }),
               test::says({"rank ", "nan", "min_location", "NaN"}));
    if (runtime.rank().value == 0) array(n / 2) = -7;
    CHECK(array.min() == -7);
    CHECK(array.max() == -7);
    CHECK(array.max_location() == LocatedValue<double, 1>{-7, {n / 2}});
    CHECK(std::isnan(array.sum()));
    runtime.barrier();
    array.fill(infinity);
    CHECK(array.min_location() == LocatedValue<double, 1>{infinity, {0}});
}

TEST_CASE("the smallest and the largest element are found with their index, of equal ones the lowest") {
    Runtime runtime;
    const Extents<2> extents{11, 11};
    test::for_every_maker<std::int32_t, 2>(runtime.size(), [&](const test::Maker<std::int32_t, 2>& maker) {
        GlobalArray<std::int32_t, 2> array = maker.make(runtime, extents);
        const auto value_at = [](const Index<2>& index) {
            return static_cast<std::int32_t>((index[0] * 7 + index[1] * 5) % 9) - 4; // every value many times
        };
        array.for_each_local([&](const Index<2>& index, std::int32_t& element) { element = value_at(index); });
        LocatedValue<std::int32_t, 2> smallest{99, {}};
        LocatedValue<std::int32_t, 2> largest{-99, {}};
        std::int64_t weighted = 0;
        for (const Index<2>& index : array.domain()) {
            if (!test::stored(maker.lower_triangle, index)) continue;
            if (value_at(index) < smallest.value) smallest = {value_at(index), index};
            if (value_at(index) > largest.value) largest = {value_at(index), index};
            weighted += value_at(index) * (100 * index[0] + index[1]);
        }
        CHECK(array.min_location() == smallest);
        CHECK(array.max_location() == largest);
        CHECK(array.transform_reduce(std::int64_t{0}, std::plus<>{}, [](const Index<2>& index, std::int32_t value) {
            return value * (100 * index[0] + index[1]);
        }) == weighted);
    });
}

TEST_CASE("an array of no elements has no extremes") {
    Runtime runtime;
    GlobalArray<int, 2> none{runtime, {0, 4}, Block{}, {.name = "none"}};
    CHECK_THAT(test::message_of<UsageError>([&] { (void)none.max_location(); }),
               test::says({"none", "max_location", "no elements"}));
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

TEST_CASE("a reduction goes through a rank's domains one after the other, each row by row") {
    Runtime runtime;
    const Extents<2> extents{11, 13};
    const auto map_of = [&](const Index<2>& index) {
        const auto i = static_cast<std::int64_t>(test::position_of(extents, index));
        return Affine{i * i % 89 + 2, 3 * i + 1};
    };
    test::for_every_maker<Affine, 2>(runtime.size(), [&](const test::Maker<Affine, 2>& maker) {
        if (maker.lower_triangle) return; // its extents must be equal
        GlobalArray<Affine, 2> array = maker.make(runtime, extents);
        array.for_each_local([&](const Index<2>& index, Affine& element) { element = map_of(index); });
        Affine expected;
        for (int rank = 0; rank < (maker.replicated ? 1 : runtime.size()); ++rank)
            for (const Domain<2>& domain : array.local_domains(Rank{rank}))
                for (const Index<2>& index : domain) expected = expected * map_of(index);
        CHECK(array.reduce(Affine{}, std::multiplies<>{}) == expected);
    });
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
