// Reductions along one dimension, against a serial oracle.
#include "tests/arrays/array_test.hpp"

#include <lapwing/dimension_reduction.hpp>
#include <lapwing/on_ranks.hpp>

#include <algorithm>
#include <stdexcept>
#include <vector>

using namespace lapwing;

namespace {

template <std::size_t N>
[[nodiscard]] Index<N - 1> without(const Index<N>& index, std::size_t dimension) {
    Index<N - 1> rest{};
    for (std::size_t d = 0; d + 1 < N; ++d) rest[d] = index[d < dimension ? d : d + 1];
    return rest;
}
template <std::size_t N>
[[nodiscard]] Extents<N - 1> without(const Extents<N>& extents, std::size_t dimension) {
    Index<N> index;
    for (std::size_t d = 0; d < N; ++d) index[d] = extents[d];
    return Extents<N - 1>{without<N>(index, dimension)};
}

/// combine() over the stored elements along `dimension`, in ascending order.
template <class R, class T, std::size_t N, class Combine>
[[nodiscard]] std::vector<R> expected_along(const Extents<N>& extents, std::size_t dimension, bool lower_triangle,
                                            R identity, Combine combine) {
    const Extents<N - 1> rest = without<N>(extents, dimension);
    std::vector<R> result(Domain<N - 1>{rest}.size(), identity);
    for (const Index<N>& index : Domain<N>{extents})
        if (test::stored(lower_triangle, index)) {
            R& value = result[test::position_of(rest, without<N>(index, dimension))];
            value = static_cast<R>(combine(value, test::value_of<T>(test::position_of(extents, index))));
        }
    return result;
}

template <class R, std::size_t M>
[[nodiscard]] std::string differing(GlobalArray<R, M>& array, const std::vector<R>& expected) {
    test::Mismatches wrong;
    array.for_each_local([&](const Index<M>& index, const R& element) {
        wrong.check(element == expected[test::position_of(array.extents(), index)], index);
    });
    return wrong.text();
}

template <class T, std::size_t N>
void check_every_distribution() {
    Runtime runtime;
    test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
        GlobalArray<T, N> array = maker.make(runtime, test::odd_extents<N>());
        test::number_elements(array);
        for (std::size_t d = 0; d < N; ++d) {
            INFO("along dimension " << d);
            const auto rest = without<N>(array.extents(), d);
            const auto plus = [](auto a, auto b) { return a + b; };
            using Sum = detail::arrays::SumOf<T>;
            const auto sums = expected_along<Sum, T, N>(array.extents(), d, maker.lower_triangle, Sum{}, plus);
            // Into an array of another distribution, of every rank's own, and of the program's own.
            GlobalArray<Sum, N - 1> dealt{runtime, rest, Cyclic{}, {.name = "dealt"}};
            sum_along(array, d, dealt.slice());
            CHECK(differing(dealt, sums) == "none");
            dealt.barrier();
            dealt.close();
            if (N > 2 || d == 0) continue; // the same with more windows
            auto everywhere = sum_along(array, d);
            CHECK(differing(everywhere, sums) == "none");
            auto few = sum_along(array, d, OnRanks{Block{}, {Rank{runtime.size() - 1}}});
            CHECK(differing(few, sums) == "none");
            auto smallest = min_along(array, d, Block{});
            CHECK(differing(smallest, expected_along<T, T, N>(array.extents(), d, maker.lower_triangle,
                                                              detail::arrays::largest_value<T>(),
                                                              [](T a, T b) { return std::min(a, b); })) == "none");
            auto largest = max_along(array, d);
            CHECK(differing(largest, expected_along<T, T, N>(array.extents(), d, maker.lower_triangle,
                                                             detail::arrays::smallest_value<T>(),
                                                             [](T a, T b) { return std::max(a, b); })) == "none");
            everywhere.barrier();
            everywhere.close();
            few.close();
            smallest.close();
            largest.close();
        }
        array.close();
    });
    runtime.close();
}

} // namespace

TEST_CASE("sums, smallest and largest along each dimension, all distributions") {
    check_every_distribution<std::int32_t, 2>();
    check_every_distribution<std::int64_t, 3>();
}

TEST_CASE("small integers are added up in 64 bits, and results converted") {
    Runtime runtime;
    GlobalArray<std::uint8_t, 2> array{runtime, {300, 5}, Block{}};
    array.fill(200);
    GlobalArray<double, 1> totals{runtime, {10}, Block{}};
    totals.fill(-1);
    sum_along(array, 0, totals(Range{1, 10}.by(2)));
    for (std::int64_t i = 0; i < 10; ++i) CHECK(totals(i) == (i % 2 == 1 ? 60000 : -1));
    totals.barrier();
    array.close();
    totals.close();
    runtime.close();
}

TEST_CASE("a kept reduction goes on with the array's values, in the order of the indices") {
    Runtime runtime;
    // Of a block the first index and the last, and whether all follow each other.
    struct Stretch {
        std::int64_t first = 0, last = -1;
        bool in_order = true;
    };
    GlobalArray<std::int64_t, 2> array{runtime, {4, 37}, Block{.grid = {1, 0}}, {.name = "ordered"}};
    GlobalArray<Stretch, 1> result{runtime, {4}, Block{}};
    const auto follow = [](const Stretch& a, const auto& b) noexcept {
        Stretch next;
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(b)>, Stretch>) next = b;
        else next = {b, b, true};
        if (a.last < a.first) return next;
        if (next.last < next.first) return a;
        return Stretch{a.first, next.last, a.in_order && next.in_order && next.first == a.last + 1};
    };
    DimensionReduction reduction{array, 1, result.slice(), Stretch{}, follow};
    for (const std::int64_t round : {1, 1000}) {
        array.for_each_local([&](const Index<2>& index, std::int64_t& element) { element = round * 100 + index[1]; });
        reduction.execute();
        for (std::int64_t i = 0; i < 4; ++i) {
            const Stretch all = result(i);
            CHECK((all.first == round * 100 && all.last == round * 100 + 36 && all.in_order));
        }
        array.barrier();
    }
    reduction.close();
    array.close();
    result.close();
    runtime.close();
}

TEST_CASE("reductions along a dimension that cannot be are errors on all ranks") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {12, 7}, Block{}, {.name = "summed"}};
    GlobalArray<double, 1> result{runtime, {12}, Cyclic{}, {.name = "result"}};
    array.fill(1);
    result.fill(5);
    CHECK_THAT(test::message_of<RangeError>([&] { sum_along(array, 2, result.slice()); }),
               test::says({"along dimension 2", "[0, 2)"}));
    CHECK_THAT(test::message_of<RangeError>([&] { sum_along(array, 0, result.slice()); }),
               test::says({"along dimension 0", "(12, 7)", "(12)"}));
    const Rank bad{runtime.size() - 1};
    const auto fail = [&] {
        reduce_along(array, 1, result.slice(), 0.0, [&](double a, double b) {
            if (runtime.rank() == bad) throw std::domain_error{"mine"};
            return a + b;
        });
    };
    const bool has_some = [&] {
        bool some = false;
        array.for_each_local([&](const Index<2>&, double&) { some = true; });
        return some;
    }();
    if (runtime.max(runtime.rank() == bad && has_some)) {
        if (runtime.rank() == bad) CHECK_THROWS_AS(fail(), std::domain_error);
        else
            CHECK_THAT(test::message_of<UsageError>(fail),
                       test::says({"summed", "what it was", "rank " + std::to_string(bad.value), "mine"}));
        CHECK((result.min() == 5 && result.max() == 5));
    }
    sum_along(array, 1, result.slice());
    CHECK((result.min() == 7 && result.max() == 7));
    GlobalArray<double, 2> empty{runtime, {12, 0}, Block{}};
    sum_along(empty, 1, result.slice());
    CHECK((result.min() == 0 && result.max() == 0));
    for (GlobalArray<double, 2>* one : {&array, &empty}) one->close();
    result.close();
    CHECK_THROWS_AS(sum_along(array, 1, result.slice()), UsageError);
    runtime.close();
}
