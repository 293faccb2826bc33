// Assignments between slices of arrays under any two distributions, against a serial oracle.
#include "tests/arrays/array_test.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/on_ranks.hpp>

#include <algorithm>
#include <numeric>
#include <optional>

using namespace lapwing;

namespace {

/// Indices of an extent in any order: `size` of them.
[[nodiscard]] Triplet random_triplet(test::Random& random, std::int64_t extent, std::int64_t size) {
    if (size == 0) return {};
    const std::int64_t most = size > 1 ? (extent - 1) / (size - 1) : 1;
    const std::int64_t stride = random.number(1, std::max<std::int64_t>(1, most));
    const std::int64_t first = random.number(0, extent - 1 - (size - 1) * stride);
    const Triplet triplet = Triplet::strided(first, static_cast<std::uint64_t>(size), stride);
    return random.number(0, 2) == 0 ? triplet.reversed() : triplet;
}

/// M of N dimensions, in any order.
template <std::size_t M, std::size_t N>
[[nodiscard]] std::array<std::size_t, M> random_dimensions(test::Random& random) {
    std::array<std::size_t, N> all_dimensions;
    std::iota(all_dimensions.begin(), all_dimensions.end(), std::size_t{0});
    for (std::size_t d = N; d > 1; --d)
        std::swap(all_dimensions[d - 1],
                  all_dimensions[static_cast<std::size_t>(random.number(0, static_cast<std::int64_t>(d) - 1))]);
    std::array<std::size_t, M> chosen;
    std::copy_n(all_dimensions.begin(), M, chosen.begin());
    return chosen;
}

/// The positions in a row-major array of what a slice has: dimension d of the slice is `of_array[d]`, with these
/// indices.
template <std::size_t M, std::size_t N>
[[nodiscard]] std::vector<std::uint64_t> positions_of(const Extents<N>& extents,
                                                      const std::array<std::size_t, M>& of_array,
                                                      const std::array<Triplet, M>& indices, Index<N> fixed) {
    std::vector<std::uint64_t> positions;
    std::array<std::uint64_t, M> k{};
    for (const Triplet& triplet : indices)
        if (triplet.empty()) return positions;
    for (;;) {
        for (std::size_t d = 0; d < M; ++d) fixed[of_array[d]] = indices[d][k[d]];
        positions.push_back(test::position_of(extents, fixed));
        std::size_t d = M;
        while (d > 0 && ++k[d - 1] == indices[d - 1].size()) k[--d] = 0;
        if (d == 0) return positions;
    }
}

template <class T, std::size_t M, std::size_t N>
[[nodiscard]] ArraySlice<T, M> slice_of(GlobalArray<T, N>& array, const std::array<std::size_t, M>& of_array,
                                        const std::array<Triplet, M>& indices, const Index<N>& fixed) {
    // The dimensions in their order in the array first, then permuted.
    std::array<std::size_t, M> sorted = of_array;
    std::ranges::sort(sorted);
    std::array<std::size_t, M> order;
    for (std::size_t d = 0; d < M; ++d)
        order[d] = static_cast<std::size_t>(std::ranges::find(sorted, of_array[d]) - sorted.begin());
    const auto part = [&](std::size_t d) -> std::optional<Triplet> {
        const auto found = std::ranges::find(of_array, d);
        if (found == of_array.end()) return std::nullopt;
        return indices[static_cast<std::size_t>(found - of_array.begin())];
    };
    if constexpr (M == N) {
        return [&]<std::size_t... D>(std::index_sequence<D...>) {
            return array(*part(D)...);
        }(std::make_index_sequence<N>{})
                   .permuted(order);
    } else {
        static_assert(N == M + 1);
        // One dimension is left out: which one is known at run time only.
        for (std::size_t left_out = 0; left_out < N; ++left_out) {
            if (part(left_out)) continue;
            if constexpr (N == 2) {
                if (left_out == 0) return array(fixed[0], *part(1)).permuted(order);
                return array(*part(0), fixed[1]).permuted(order);
            } else {
                if (left_out == 0) return array(fixed[0], *part(1), *part(2)).permuted(order);
                if (left_out == 1) return array(*part(0), fixed[1], *part(2)).permuted(order);
                return array(*part(0), *part(1), fixed[2]).permuted(order);
            }
        }
        std::abort();
    }
}

template <std::size_t N>
[[nodiscard]] Index<N> random_index(test::Random& random, const Extents<N>& extents) {
    Index<N> index;
    for (std::size_t d = 0; d < N; ++d) index[d] = random.number(0, extents[d] - 1);
    return index;
}

/// Numbers all elements anew from `first` on, and the oracle, too.
template <class T, std::size_t N>
void number_both(GlobalArray<T, N>& array, std::vector<T>& oracle, std::uint64_t first) {
    test::number_elements(array, first);
    for (std::uint64_t k = 0; k < oracle.size(); ++k) oracle[k] = test::value_of<T>(first + k);
}

template <class T, std::size_t N>
[[nodiscard]] std::string differing(GlobalArray<T, N>& array, const std::vector<T>& oracle) {
    test::Mismatches mismatches;
    array.for_each_local([&](const Index<N>& index, T& element) {
        mismatches.check(element == oracle[test::position_of(array.extents(), index)], index);
    });
    return mismatches.text();
}

/// Slices of M dimensions at random: assigned, and transferred by a rank that differs from round to round.
template <std::size_t M, class T, std::size_t N, std::size_t K>
void check_slices(Runtime& runtime, test::Random& random, GlobalArray<T, N>& target, std::vector<T>& target_oracle,
                  GlobalArray<T, K>& source, const std::vector<T>& source_oracle, int round) {
    const auto target_dimensions = random_dimensions<M, N>(random);
    const auto source_dimensions = random_dimensions<M, K>(random);
    std::array<Triplet, M> target_indices;
    std::array<Triplet, M> source_indices;
    for (std::size_t d = 0; d < M; ++d) {
        const std::int64_t most =
            std::min(target.extents()[target_dimensions[d]], source.extents()[source_dimensions[d]]);
        const std::int64_t size =
            random.number(0, 2) == 0 ? most : random.number(random.number(0, 9) == 0 ? 0 : 1, most);
        target_indices[d] = random_triplet(random, target.extents()[target_dimensions[d]], size);
        source_indices[d] = random_triplet(random, source.extents()[source_dimensions[d]], size);
    }
    const Index<N> target_fixed = random_index(random, target.extents());
    const Index<K> source_fixed = random_index(random, source.extents());
    const auto to = positions_of(target.extents(), target_dimensions, target_indices, target_fixed);
    const auto from = positions_of(source.extents(), source_dimensions, source_indices, source_fixed);
    REQUIRE(to.size() == from.size());
    const ArraySlice<T, M> left = slice_of(target, target_dimensions, target_indices, target_fixed);
    const ArraySlice<T, M> right = slice_of(source, source_dimensions, source_indices, source_fixed);
    for (std::size_t k = 0; k < to.size(); ++k) target_oracle[to[k]] = source_oracle[from[k]];
    Assignment assignment;
    assignment.add(left, right);
    INFO(assignment.explain());
    assignment.execute();
    REQUIRE(differing(target, target_oracle) == "none");
    runtime.barrier();
    // One-sided.
    if (runtime.rank().value == round % runtime.size()) {
        std::vector<T> buffer(right.size());
        right.get(buffer);
        std::uint64_t wrong = 0;
        for (std::size_t k = 0; k < from.size(); ++k) wrong += buffer[k] == source_oracle[from[k]] ? 0U : 1U;
        CHECK(wrong == 0);
        for (std::size_t k = 0; k < to.size(); ++k) buffer[k] = test::value_of<T>(7000 + k);
        left.put(buffer);
    }
    for (std::size_t k = 0; k < to.size(); ++k) target_oracle[to[k]] = test::value_of<T>(7000 + k);
    if (round % 3 == 1) { // the whole slice once more
        if (runtime.rank().value == round % runtime.size()) left.put(right);
        for (std::size_t k = 0; k < to.size(); ++k) target_oracle[to[k]] = source_oracle[from[k]];
    }
    runtime.barrier();
    REQUIRE(differing(target, target_oracle) == "none");
    runtime.barrier();
}

/// All pairs of distributions; slices of M dimensions of arrays of N and K.
template <class T, std::size_t M, std::size_t N, std::size_t K>
void check_pairs(unsigned seed, int rounds) {
    Runtime runtime;
    const int ranks = runtime.size();
    test::Random random{seed}; // the same on all ranks
    test::for_every_maker<T, N>(ranks, [&](const test::Maker<T, N>& target_maker) {
        if (target_maker.lower_triangle) return;
        test::for_every_maker<T, K>(ranks, [&](const test::Maker<T, K>& source_maker) {
            if (source_maker.lower_triangle) return;
            const Extents<N> target_extents = test::random_extents<N>(random);
            const Extents<K> source_extents = test::random_extents<K>(random);
            GlobalArray<T, N> target = target_maker.make(runtime, target_extents);
            GlobalArray<T, K> source = source_maker.make(runtime, source_extents);
            if (target.size() == 0 || source.size() == 0) return;
            std::vector<T> target_oracle(target.size());
            std::vector<T> source_oracle(source.size());
            number_both(target, target_oracle, 0);
            number_both(source, source_oracle, 100'000);
            for (int round = 0; round < rounds; ++round)
                check_slices<M>(runtime, random, target, target_oracle, source, source_oracle, round);
            target.close();
            source.close();
        });
    });
    runtime.close();
}

} // namespace

TEST_CASE("slices of one dimension, all pairs of distributions") { check_pairs<double, 1, 1, 1>(41, 6); }
TEST_CASE("slices of two dimensions, all pairs of distributions, in any order of the dimensions") {
    check_pairs<double, 2, 2, 2>(42, 3);
}
TEST_CASE("planes of an array as matrices") { check_pairs<std::int32_t, 2, 2, 3>(43, 2); }
TEST_CASE("rows of a matrix as vectors") { check_pairs<test::Colour, 1, 2, 1>(44, 2); }

TEST_CASE("overlapping slices of one array are copied as if through a copy") {
    Runtime runtime;
    test::Random random{45};
    for (int round = 0; round < 30; ++round) {
        const Extents<2> extents = test::random_extents<2>(random);
        test::for_every_maker<std::int32_t, 2>(runtime.size(), [&](const test::Maker<std::int32_t, 2>& maker) {
            if (maker.lower_triangle || extents[0] * extents[1] == 0 || round % 3 != 0) return;
            GlobalArray<std::int32_t, 2> array = maker.make(runtime, extents);
            std::vector<std::int32_t> oracle(array.size());
            number_both(array, oracle, 0);
            const std::int64_t rows = random.number(1, extents[0]);
            const std::int64_t columns = random.number(1, extents[1]);
            const std::array<std::size_t, 2> order{0, 1};
            const std::array<Triplet, 2> to{random_triplet(random, extents[0], rows),
                                            random_triplet(random, extents[1], columns)};
            const std::array<Triplet, 2> from{random_triplet(random, extents[0], rows),
                                              random_triplet(random, extents[1], columns)};
            const std::vector<std::int32_t> before = oracle;
            const auto to_positions = positions_of<2, 2>(extents, order, to, {});
            const auto from_positions = positions_of<2, 2>(extents, order, from, {});
            for (std::size_t k = 0; k < to_positions.size(); ++k) oracle[to_positions[k]] = before[from_positions[k]];
            array(to[0], to[1]) = array(from[0], from[1]);
            REQUIRE(differing(array, oracle) == "none");
            array.close();
        });
    }
    runtime.close();
}

TEST_CASE("values are converted, added and combined by their owner") {
    Runtime runtime;
    test::for_every_maker<double, 2>(runtime.size(), [&](const test::Maker<double, 2>& maker) {
        if (maker.lower_triangle) return;
        const Extents<2> extents{9, 13};
        GlobalArray<double, 2> target = maker.make(runtime, extents);
        GlobalArray<std::int32_t, 2> source{runtime, {13, 9}, Cyclic{}};
        source.for_each_local([](const Index<2>& index, std::int32_t& element) {
            element = static_cast<std::int32_t>(100 * index[0] + index[1]);
        });
        target.fill(0.5);
        target.slice() = source.slice().transposed();
        target.slice() += source.slice().transposed();
        target(all, Range{0, 3}) *= source(Range{0, 3}, all).transposed();
        target.slice().combine(target.slice(),
                               [](double& element, const double& other) { element = 2 * element + other; });
        target(2, all).fill(-1);
        test::Mismatches mismatches;
        target.for_each_local([&](const Index<2>& index, double& element) {
            const double value = static_cast<double>(100 * index[1] + index[0]);
            double expected = 2 * value;
            if (index[1] < 3) expected *= value;
            expected *= 3;
            if (index[0] == 2) expected = -1;
            mismatches.check(element == expected, index);
        });
        CHECK(mismatches.text() == "none");
        target.close();
        source.close();
    });
    runtime.close();
}

TEST_CASE("one transfer for each pair of ranks, and several assignments at a time") {
    Runtime runtime;
    const std::int64_t n = 1000;
    GlobalArray<double, 1> blocks{runtime, {n}, Block{}};
    GlobalArray<double, 1> dealt{runtime, {n}, Cyclic{}};
    GlobalArray<double, 1> ragged{runtime, {n}, BlockCyclic{{7}}};
    test::number_elements(blocks);
    Assignment both;
    both.add(dealt.slice(), blocks.slice()).add(ragged(Range{0, n - 1}), blocks(Range{1, n}));
    const std::uint64_t before =
        dealt.total_statistics()[Counter::assign_transfers] + blocks.total_statistics()[Counter::assign_transfers];
    std::uint64_t here = both.transfers();
    for (int round = 0; round < 3; ++round) both.execute();
    const std::uint64_t after =
        dealt.total_statistics()[Counter::assign_transfers] + blocks.total_statistics()[Counter::assign_transfers];
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    CHECK(here <= 2 * (ranks - 1));
    std::int64_t everywhere = static_cast<std::int64_t>(here);
    everywhere = runtime.sum(everywhere);
    CHECK(after - before == 3 * static_cast<std::uint64_t>(everywhere));
    CHECK(test::misnumbered(dealt, false) == "none");
    test::Mismatches mismatches;
    ragged.for_each_local([&](const Index<1>& index, double& element) {
        if (index[0] + 1 < n)
            mismatches.check(element == test::value_of<double>(static_cast<std::uint64_t>(index[0]) + 1), index);
    });
    CHECK(mismatches.text() == "none");
    // Plans go with the elements, not with the names.
    std::swap(dealt, ragged);
    test::number_elements(blocks, 5);
    both.execute();
    CHECK(test::misnumbered(ragged, false, 5) == "none");
    blocks.close();
    dealt.close();
    ragged.close();
    CHECK_THROWS_WITH(both.execute(), Catch::Contains("was closed"));
    runtime.close();
}

TEST_CASE("assignments of what does not fit say why") {
    Runtime runtime;
    GlobalArray<double, 2> a{runtime, {10, 20}, Block{}, {.name = "a"}};
    GlobalArray<double, 2> b{runtime, {20, 10}, Cyclic{}, {.name = "b"}};
    CHECK_THROWS_WITH(a(Range{0, 11}, all), Catch::Contains("[0, 11) of dimension 0 leaves [0, 10)"));
    CHECK_THROWS_WITH(a(all, 20), Catch::Contains("position 20 of dimension 1 leaves [0, 20)"));
    CHECK_THROWS_WITH(a(all, -1), Catch::Contains("position -1 of dimension 1 leaves [0, 20)"));
    CHECK_THROWS_WITH(a(Range{0, 4}, all)(5, all), Catch::Contains("leaves [0, 4)"));
    CHECK_THROWS_WITH(a.slice() = b.slice(),
                      Catch::Contains("extents (10, 20) and (20, 10)") && Catch::Contains("GlobalArray(\"a\")"));
    CHECK_THROWS_WITH(a.slice().permuted({0, 0}), Catch::Contains("must occur once"));
    double few[3];
    CHECK_THROWS_WITH(a(0, all).get(few), Catch::Contains("3 elements, the slice 20"));
    CHECK_THROWS_AS((Triplet{Range{0, 4}}.by(0)), RangeError);
    const auto kept = a(0, all);
    a.close();
    double row[20];
    CHECK_THROWS_WITH(kept.get(row), Catch::Contains("was closed"));
    CHECK_THROWS_WITH(a(all, all), Catch::Contains("closed"));
    b.close();
    runtime.close();
}

TEST_CASE("an error of one rank is one of all, and of functions nothing is left half done") {
    Runtime runtime;
    const std::int64_t n = 8001; // more than 700 elements on each of 7 ranks
    const Rank bad{runtime.size() - 1};
    GlobalArray<double, 1> target{runtime, {n}, Block{}, {.name = "target"}};
    GlobalArray<double, 1> copied{runtime, {n}, Cyclic{}};
    GlobalArray<float, 1> source{runtime, {n}, Cyclic{}, {.name = "source"}};
    target.fill(3);
    copied.fill(4);
    source.fill(1);
    const auto whole = [&](GlobalArray<double, 1>& array, double value) {
        CHECK((array.min() == value && array.max() == value));
    };
    const auto throwing = [&](int after) {
        return [&runtime, bad, after, calls = 0](double& x, const auto& y) mutable {
            if (runtime.rank() == bad && calls++ == after) throw std::domain_error{"mine"};
            x += static_cast<double>(y);
        };
    };
    for (const int after : {0, 10, 700}) {
        const auto combine = [&] { target.slice().combine(source.slice(), throwing(after)); };
        if (runtime.rank() == bad) CHECK_THROWS_AS(combine(), std::domain_error);
        else
            CHECK_THAT(test::message_of<UsageError>(combine),
                       test::says({"what they were", "rank " + std::to_string(bad.value), "mine"}));
        whole(target, 3);
        // Of one array, by way of a copy; and beside a copy, which has not begun.
        const auto overlapping = [&] { target(Range{0, n - 1}).combine(target(Range{1, n}), throwing(after)); };
        if (runtime.rank() == bad) CHECK_THROWS_AS(overlapping(), std::domain_error);
        else CHECK_THROWS_AS(overlapping(), UsageError);
        whole(target, 3);
        Assignment both;
        both.add(copied.slice(), source.slice()).add(target.slice(), source.slice(), throwing(after));
        const auto execute = [&] { both.execute(); };
        if (runtime.rank() == bad) CHECK_THROWS_AS(execute(), std::domain_error);
        else CHECK_THROWS_AS(execute(), UsageError);
        whole(target, 3);
        whole(copied, 4);
    }
    // A kept one goes on where its function does not throw any more.
    Assignment kept;
    kept.add(target.slice(), source.slice(), throwing(5));
    const auto execute = [&] { kept.execute(); };
    if (runtime.rank() == bad) CHECK_THROWS_AS(execute(), std::domain_error);
    else CHECK_THROWS_AS(execute(), UsageError);
    kept.execute();
    whole(target, 4);
    target.slice() += source.slice();
    whole(target, 5);
    // Reductions end on all ranks, too.
    const auto reduce = [&] {
        (void)target.transform_reduce(0.0, std::plus<>{}, [&](const double& x) {
            if (runtime.rank() == bad) throw std::domain_error{"mine"};
            return x;
        });
    };
    if (runtime.rank() == bad) CHECK_THROWS_AS(reduce(), std::domain_error);
    else
        CHECK_THAT(test::message_of<UsageError>(reduce),
                   test::says({"target", ".reduce", "no result", "rank " + std::to_string(bad.value), "mine"}));
    const auto combine_ranks = [&] {
        (void)target.reduce(0.0, [&](double x, double y) -> double {
            if (x < 0) throw std::domain_error{"ranks"};
            return x + y;
        });
    };
    combine_ranks();
    CHECK(target.sum() == 5.0 * static_cast<double>(n));
    target.close();
    copied.close();
    source.close();
    runtime.close();
}

TEST_CASE("slices that differ between ranks are found in the first barrier") {
    Runtime runtime;
    GlobalArray<double, 1> target{runtime, {100}, Block{}, {.name = "target"}};
    GlobalArray<double, 1> source{runtime, {100}, Cyclic{}, {.name = "source"}};
    target.fill(1);
    source.fill(2);
    const bool odd = runtime.rank().value % 2 == 1;
    const auto assign = [&] { target(Range{odd ? 1 : 0, odd ? 11 : 10}) = source(Range{0, 10}); };
    if (runtime.size() > 1) {
        CHECK_THAT(
            test::message_of<MismatchError>(assign),
            test::says({"Assignment::execute", "rank 0 passes", "rank 1", "[0, 10)", "[1, 11)", "target", "source"}));
        CHECK((target.max() == 1));
    }
    target.close();
    source.close();
    runtime.close();
}

TEST_CASE("slices that do not fit on one rank alone are an error on all ranks") {
    Runtime runtime;
    GlobalArray<double, 1> target{runtime, {100}, Block{}, {.name = "target"}};
    GlobalArray<double, 1> source{runtime, {100}, Cyclic{}, {.name = "source"}};
    target.fill(1);
    source.fill(2);
    if (runtime.size() > 1) {
        const bool bad = runtime.rank().value == runtime.size() - 1;
        const auto assign = [&] { target(Range{0, 10}) = source(Range{0, bad ? 9 : 10}); };
        const auto combine = [&] { target(Range{0, 10}) += source(Range{0, bad ? 9 : 10}); };
        const auto compute = [&] {
            target(Range{0, 10}).assign(std::plus{}, source(Range{0, 10}), source(Range{0, bad ? 9 : 10}));
        };
        const std::vector<std::function<void()>> calls{assign, combine, compute};
        for (const auto& call : calls) {
            if (bad) CHECK_THAT(test::message_of<RangeError>(call), test::says({"(10)", "(9)"}));
            else CHECK_THAT(test::message_of<UsageError>(call), test::says({"not carried out", "(10)", "(9)"}));
            CHECK(target.max() == 1); // they go on
        }
        // On all ranks alike.
        CHECK_THROWS_AS((target(Range{0, 10}) = source(Range{0, 9})), RangeError);
    }
    target.close();
    source.close();
    runtime.close();
}

TEST_CASE("arrays over some ranks of the team are assigned to and from all of them") {
    Runtime runtime;
    const int ranks = runtime.size();
    std::vector<Rank> chosen{Rank{ranks - 1}};
    if (ranks > 2) chosen.push_back(Rank{0});
    const auto on_chosen = [&](Rank rank) { return std::ranges::find(chosen, rank) != chosen.end(); };
    const Extents<2> extents{23, 17};
    const auto try_with = [&](const auto& distribution) {
        GlobalArray<double, 2> everywhere{runtime, extents, BlockCyclic{{3, 4}}, {.name = "all"}};
        GlobalArray<double, 2> back{runtime, extents, Block{}};
        GlobalArray<double, 2> few{runtime, extents, OnRanks{distribution, chosen}, {.name = "few"}};
        test::number_elements(everywhere);
        std::uint64_t own = 0;
        few.for_each_local([&](const Index<2>&, double&) { ++own; });
        CHECK((own > 0) == on_chosen(runtime.rank()));
        CHECK(runtime.sum(own) == few.size());
        few.slice() = everywhere.slice();
        back.copy_from(few);
        test::Mismatches wrong;
        for (const Index<2>& index : few.domain()) {
            const double value = test::value_of<double>(test::position_of(extents, index));
            wrong.check(few(index) == value && back(index) == value && on_chosen(few.owner(index)), index);
        }
        CHECK(wrong.text() == "none");
        CHECK(few.sum() == everywhere.sum());
        few.redistribute(Cyclic{});
        few.redistribute(OnRanks{distribution, chosen});
        everywhere.slice() = few.slice();
        CHECK(test::misnumbered(everywhere, false) == "none");
        for (GlobalArray<double, 2>* one : {&everywhere, &back, &few}) one->close();
    };
    try_with(Block{});
    try_with(Cyclic{});
    try_with(test::Reversed{{3, 3}});
    const auto refused = [&](std::vector<Rank> some, const auto& says) {
        CHECK_THAT(test::message_of<RangeError>(
                       [&] { (void)GlobalArray<double, 1>{runtime, {10}, OnRanks{Block{}, std::move(some)}}; }),
                   says);
    };
    refused({}, test::says({"OnRanks", "at least one"}));
    refused({Rank{0}, Rank{ranks}}, test::says({"OnRanks", "rank " + std::to_string(ranks), "outside"}));
    refused({Rank{0}, Rank{0}}, test::says({"OnRanks", "rank 0", "twice"}));
    if (ranks > 1) {
        // As many elements each, and other owners.
        const Rank other{runtime.rank() == Rank{0} ? 0 : 1};
        CHECK_THROWS_AS((GlobalArray<double, 1>{runtime, {10}, OnRanks{Block{}, {other}}}), MismatchError);
        GlobalArray<double, 1> array{runtime, {10}, Block{}};
        CHECK_THROWS_AS(array.redistribute(OnRanks{Block{}, {other}}), MismatchError);
        CHECK_THROWS_AS((void)array.relabelling(OnRanks{Block{}, {other}}), MismatchError);
        array.close();
    }
    runtime.close();
}

TEST_CASE("arrays over teams of different sizes are refused, with the remedy") {
    Runtime runtime;
    if (runtime.size() > 1) {
        Team alone{MPI_COMM_SELF, runtime.settings()};
        GlobalArray<double, 1> wide{runtime, {10}, Block{}};
        GlobalArray<double, 1> narrow{alone, {10}, Block{}};
        const std::string size = std::to_string(runtime.size());
        CHECK_THAT(test::message_of<UsageError>([&] { narrow.copy_from(wide); }),
                   test::says({"team of 1 ranks", "another team, which has " + size + " ranks", "OnRanks"}));
        CHECK_THAT(test::message_of<UsageError>([&] { narrow.slice() = wide.slice(); }),
                   test::says({"of the team of 1 ranks = ", "of the team of " + size + " ranks", "OnRanks"}));
        wide.close();
        narrow.close();
        alone.close();
    }
    runtime.close();
}
