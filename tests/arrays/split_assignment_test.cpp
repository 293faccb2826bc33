// Assignments and slice transfers in two halves, with work between start() and wait().
#include "tests/arrays/array_test.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/completion.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace lapwing;

namespace {

constexpr std::int64_t n = 301;

/// Two arrays to assign between, and one beside them.
struct Arrays {
    explicit Arrays(Runtime& runtime)
        : target{runtime, {n}, Block{}, {.name = "target"}},
          source{runtime, {n}, Cyclic{}, {.name = "source"}},
          other{runtime, {n}, BlockCyclic{{7}}, {.name = "other"}} {
        test::number_elements(source, 1);
        target.fill(-1);
        other.fill(2);
    }
    void close() {
        for (GlobalArray<double, 1>* array : {&target, &source, &other}) array->close();
    }

    GlobalArray<double, 1> target, source, other;
};

/// Own elements that are not value_of(first + their position).
template <class T, std::size_t N>
[[nodiscard]] std::string own_misnumbered(GlobalArray<T, N>& array, std::uint64_t first) {
    test::Mismatches wrong;
    array.for_each_local([&](const Index<N>& index, const T& element) {
        wrong.check(element == test::value_of<T>(first + test::position_of(array.extents(), index)), index);
    });
    return wrong.text();
}

} // namespace

TEST_CASE("a started assignment is complete after its wait, whatever comes in between") {
    Runtime runtime;
    test::for_every_maker<double, 2>(runtime.size(), [&](const test::Maker<double, 2>& maker) {
        if (maker.lower_triangle) return;
        const Extents<2> extents{13, 9};
        GlobalArray<double, 2> target = maker.make(runtime, extents);
        GlobalArray<double, 2> source{runtime, {9, 13}, BlockCyclic{{2, 3}}};
        GlobalArray<double, 2> back{runtime, {9, 13}, Block{}};
        Assignment there;
        there.add(target.slice(), source.slice().transposed());
        Assignment again;
        again.add(back.slice(), target.slice().transposed());
        for (const std::uint64_t round : {100U, 200U}) { // the second one by the plans of the first
            test::number_elements(source, round);
            Completion moved = there.start();
            CHECK_FALSE(moved.known_complete());
            CHECK_FALSE(moved.test()); // the end is collective
            CHECK(runtime.sum(std::int64_t{1}) == runtime.size());
            back.fill(0);
            moved.wait();
            CHECK(moved.known_complete());
            again.start().wait();
            CHECK(own_misnumbered(back, round) == "none");
        }
        for (GlobalArray<double, 2>* one : {&target, &source, &back}) one->close();
    });
    runtime.close();
}

TEST_CASE("several assignments are under way together, and end in any order that all ranks share") {
    Runtime runtime;
    Arrays arrays{runtime};
    GlobalArray<double, 1> second{runtime, {n}, Cyclic{}};
    GlobalArray<double, 1> shifted{runtime, {n}, Cyclic{}};
    test::number_elements(shifted, 5);
    Completion converted;
    {
        Assignment one;
        one.add(arrays.target.slice(), arrays.source.slice()).add_fill(second.slice(), 7.0);
        Assignment two;
        two.add(arrays.other.slice(), arrays.source.slice(),
                [](double& element, const double& value) noexcept { element += 2 * value; });
        Assignment overlapping; // as if through a copy
        overlapping.add(shifted(Range{0, n - 1}), shifted(Range{1, n}));
        Completion first = one.start();
        converted = two.start();
        const Completion third = overlapping.start(); // is waited for where it is destroyed, as the plans are
        first.wait();
        CHECK_NOTHROW(one.execute());
    }
    converted.wait();
    CHECK(own_misnumbered(arrays.target, 1) == "none");
    CHECK((second.min() == 7 && second.max() == 7));
    test::Mismatches wrong;
    arrays.other.for_each_local([&](const Index<1>& index, const double& element) {
        wrong.check(element == 2 + 2 * test::value_of<double>(static_cast<std::uint64_t>(1 + index[0])), index);
    });
    shifted.for_each_local([&](const Index<1>& index, const double& element) {
        const std::int64_t from = std::min(index[0] + 1, n - 1);
        wrong.check(element == test::value_of<double>(static_cast<std::uint64_t>(5 + from)), index);
    });
    CHECK(wrong.text() == "none");
    runtime.barrier();
    second.close();
    shifted.close();
    arrays.close();
    runtime.close();
}

TEST_CASE("what is under way is neither executed, started, extended nor lost") {
    Runtime runtime;
    Arrays arrays{runtime};
    std::optional<Assignment> assignment{std::in_place};
    assignment->add(arrays.target.slice(), arrays.source.slice());
    Completion moved = assignment->start();
    const auto refused = [&](const char* call, auto use) {
        CHECK_THAT(test::message_of<UsageError>(use),
                   test::says({std::string{"Assignment::"} + call, "target", "was started before", "wait()"}));
    };
    refused("execute", [&] { assignment->execute(); });
    refused("start", [&] { (void)assignment->start(); });
    refused("add", [&] { assignment->add(arrays.other.slice(), arrays.source.slice()); });
    refused("add_fill", [&] { assignment->add_fill(arrays.other.slice(), 1.0); });
    GlobalArray<double, 1> elsewhere = std::move(arrays.target);
    assignment.reset();
    moved.wait();
    CHECK(own_misnumbered(elsewhere, 1) == "none");
    runtime.barrier();
    CHECK_NOTHROW(Assignment{}.start().wait()); // of nothing
    elsewhere.close();
    arrays.source.close();
    arrays.other.close();
    runtime.close();
}

TEST_CASE("an error of one rank between start and wait is one of all, and a kept assignment goes on after it") {
    Runtime runtime;
    Arrays arrays{runtime};
    const Rank bad{runtime.size() - 1};
    bool fails = true;
    Assignment both;
    both.add(arrays.other.slice(), arrays.source.slice())
        .add(arrays.target.slice(), arrays.source.slice(), [&](double& element, const double& value) {
            if (fails && runtime.rank() == bad) throw std::domain_error{"mine"};
            element += value;
        });
    Completion moved = both.start();
    const auto wait = [&] { moved.wait(); };
    if (runtime.rank() == bad) CHECK_THROWS_AS(wait(), std::domain_error);
    else
        CHECK_THAT(test::message_of<UsageError>(wait),
                   test::says({"what they were", "rank " + std::to_string(bad.value), "mine"}));
    CHECK((arrays.target.min() == -1 && arrays.target.max() == -1));
    CHECK((arrays.other.min() == 2 && arrays.other.max() == 2));
    fails = false;
    both.start().wait();
    CHECK(own_misnumbered(arrays.other, 1) == "none");
    CHECK(arrays.target.sum() == arrays.source.sum() - static_cast<double>(n));
    arrays.close();
    runtime.close();
}

TEST_CASE("arrays that are closed under way, and slices that differ, are errors on all ranks") {
    Runtime runtime;
    Arrays arrays{runtime};
    Assignment assignment;
    assignment.add(arrays.target.slice(), arrays.source.slice());
    Completion moved = assignment.start();
    arrays.target.close();
    CHECK_THAT(test::message_of<UsageError>([&] { moved.wait(); }), test::says({"target", "was closed"}));
    CHECK(moved.known_complete());
    runtime.barrier();
    if (runtime.size() > 1) {
        Assignment different;
        const std::int64_t first = runtime.rank().value % 2;
        different.add(arrays.other(Range{first, first + 9}), arrays.source(Range{0, 9}));
        CHECK_THROWS_AS((void)different.start(true), MismatchError);
        CHECK(arrays.other.max() == 2);
    }
    arrays.source.close();
    arrays.other.close();
    runtime.close();
}

TEST_CASE("waits in different orders are an error on all ranks, which can go on after it") {
    Runtime runtime;
    if (runtime.size() == 1) return runtime.close();
    Arrays arrays{runtime};
    Assignment one;
    one.add(arrays.target.slice(), arrays.source.slice());
    Assignment two;
    two.add(arrays.other.slice(), arrays.source.slice());
    Completion first = one.start();
    Completion second = two.start();
    if (runtime.rank() == 0) std::swap(first, second);
    CHECK_THAT(test::message_of<MismatchError>([&] { first.wait(); }),
               test::says({"rank 0 waits for the start of GlobalArray(\"other\")",
                           "rank 1 the start of GlobalArray(\"target\")", "in the same order"}));
    CHECK_THROWS_AS(second.wait(), MismatchError);
    runtime.barrier();
    two.execute();
    one.start().wait();
    CHECK(own_misnumbered(arrays.other, 1) == "none");
    CHECK(own_misnumbered(arrays.target, 1) == "none");
    runtime.barrier();
    arrays.close();
    runtime.close();
}

TEST_CASE("while an exception unwinds, a started assignment ends without the other ranks") {
    Runtime runtime;
    Arrays arrays{runtime};
    Assignment assignment;
    assignment.add(arrays.target.slice(), arrays.source.slice());
    const auto leave = [&] {
        const Completion moved = assignment.start();
        runtime.barrier();
        throw std::domain_error{"elsewhere"};
    };
    CHECK_THROWS_AS(leave(), std::domain_error);
    runtime.barrier(); // and not the end of the assignment
    assignment.execute();
    CHECK(own_misnumbered(arrays.target, 1) == "none");
    runtime.barrier();
    arrays.close();
    runtime.close();
}

TEST_CASE("owners pack without a progress thread only while all ranks wait in the assignment") {
    Runtime runtime;
    GlobalArray<double, 2> rows{runtime, {96, 96}, Block{.grid = {0, 1}}};
    GlobalArray<double, 2> dealt{runtime, {96, 96}, BlockCyclic{{4, 4}}};
    test::number_elements(rows, 1);
    Assignment assignment;
    assignment.add(dealt.slice(), rows.slice());
    assignment.execute();
    const bool by_mpi = runtime.network_path() == Path::rma && runtime.progress_mode() == ProgressMode::caller &&
                        assignment.explain().find("path rma") != std::string::npos;
    INFO(assignment.explain());
    if (by_mpi) CHECK(assignment.explain().find("served") != std::string::npos);
    CHECK(own_misnumbered(dealt, 1) == "none");

    runtime.barrier();
    dealt.fill(-1);
    Completion moved = assignment.start();
    INFO(assignment.explain());
    if (by_mpi) {
        CHECK(assignment.explain().find("served") == std::string::npos);
        MPI_Barrier(MPI_COMM_WORLD); // in which no rank serves
    }
    moved.wait();
    CHECK(own_misnumbered(dealt, 1) == "none");
    runtime.barrier();
    dealt.close();
    rows.close();
    runtime.close();
}

TEST_CASE("chunks of a large assignment, and of slices, go on with tests") {
    Runtime runtime;
    const std::int64_t side = 700;
    GlobalArray<double, 2> rows{runtime, {side, side}, Block{.grid = {0, 1}}};
    GlobalArray<double, 2> columns{runtime, {side, side}, Cyclic{.grid = {1, 0}}};
    test::number_elements(rows, 3);
    Assignment transposed;
    transposed.add(columns.slice(), rows.slice().transposed());
    Completion moved = transposed.start();
    for (int k = 0; k < 50; ++k) CHECK_FALSE(moved.test());
    moved.wait();
    std::vector<double> whole(static_cast<std::size_t>(side * side));
    Completion fetched = columns.slice().transposed().start_get(whole);
    while (!fetched.test()) {
    }
    std::uint64_t wrong = 0;
    for (std::uint64_t k = 0; k < whole.size(); ++k) wrong += whole[k] != test::value_of<double>(3 + k);
    CHECK(wrong == 0);
    runtime.barrier();
    rows.close();
    columns.close();
    runtime.close();
}

TEST_CASE("slices are fetched and written without waiting") {
    Runtime runtime;
    test::for_every_maker<std::int64_t, 2>(runtime.size(), [&](const test::Maker<std::int64_t, 2>& maker) {
        if (maker.lower_triangle) return;
        GlobalArray<std::int64_t, 2> array = maker.make(runtime, {11, 11});
        test::number_elements(array);
        const auto column = static_cast<std::int64_t>(runtime.rank().value % 11);
        std::vector<std::int64_t> got(11);
        std::vector<std::int64_t> blocking(11);
        std::vector<std::int64_t> gaps(22);
        Completion one = std::as_const(array)(reversed(Range{0, 11}), column).start_get(got);
        Completion two = array(column, all).start_get(LocalView<std::int64_t, 1>{gaps.data(), {11}, {2}});
        two.wait();
        one.wait();
        array(reversed(Range{0, 11}), column).get(blocking);
        CHECK(got == blocking);
        array(column, all).get(blocking);
        for (std::size_t k = 0; k < 11; ++k) got[k] = gaps[2 * k];
        CHECK(got == blocking);
        runtime.barrier();
        // Each rank its own row, of which there are enough.
        const std::int64_t row = runtime.rank().value;
        std::iota(got.begin(), got.end(), 1000 * row);
        Completion put = array(row, all).start_put(got);
        Completion nothing = array(Range{0, 0}, all).start_get(std::span<std::int64_t>{});
        CHECK(nothing.known_complete());
        put.wait();
        runtime.barrier();
        test::Mismatches wrong;
        array.for_each_local([&](const Index<2>& index, const std::int64_t& element) {
            if (index[0] < runtime.size()) wrong.check(element == 1000 * index[0] + index[1], index);
        });
        CHECK(wrong.text() == "none");
        CHECK_THAT(test::message_of<RangeError>([&] { (void)array.slice().start_get(got); }),
                   test::says({"start_get", "11 elements, the slice 121"}));
        Completion late = array(all, column).start_get(got);
        runtime.barrier();
        array.close();
        try {
            late.wait(); // complete, or the close is named
        } catch (const UsageError& error) {
            CHECK(std::string{error.what()}.find("closed") != std::string::npos);
        }
    });
    runtime.close();
}
