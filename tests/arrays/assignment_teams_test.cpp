// Assignments between arrays of two teams: what ranks mix up is an error on all of them, and no wait.
#include "tests/arrays/array_test.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/completion.hpp>

#include <mpi.h>

#include <string>
#include <utility>

using namespace lapwing;

namespace {

constexpr std::int64_t n = 203;

/// Two arrays of the runtime, and two of another team of its ranks.
struct TwoTeams {
    explicit TwoTeams(Runtime& runtime, bool reversed_ranks)
        : communicator{split(runtime, reversed_ranks)},
          second{communicator, runtime.settings()},
          a{runtime, {n}, Block{}, {.name = "a"}},
          c{runtime, {n}, BlockCyclic{{7}}, {.name = "c"}},
          b{second, {n}, Cyclic{}, {.name = "b"}},
          d{second, {n}, Block{}, {.name = "d"}} {
        test::number_elements(a, 1);
        test::number_elements(b, 2000);
        c.fill(-1);
        d.fill(-1);
    }
    void close() {
        for (GlobalArray<double, 1>* array : {&a, &c, &b, &d}) array->close();
        second.close();
        MPI_Comm_free(&communicator);
    }
    [[nodiscard]] static MPI_Comm split(Runtime& runtime, bool reversed_ranks) {
        MPI_Comm result = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, reversed_ranks ? -runtime.rank().value : runtime.rank().value, &result);
        return result;
    }

    MPI_Comm communicator;
    Team second;
    GlobalArray<double, 1> a, c, b, d;
};

void check_numbered(Runtime& runtime, GlobalArray<double, 1>& array, std::uint64_t first) {
    test::Mismatches wrong;
    array.for_each_local([&](const Index<1>& index, const double& element) {
        wrong.check(element == test::value_of<double>(first + static_cast<std::uint64_t>(index[0])), index);
    });
    CHECK(wrong.text() == "none");
    runtime.barrier();
}

} // namespace

TEST_CASE("assignments between two teams that ranks mix up are an error on all ranks, which can go on") {
    Runtime runtime;
    if (runtime.size() == 1) return runtime.close();
    const bool other = runtime.rank() == 0; // what this rank does is not what the others do
    for (const bool reversed_ranks : {false, true}) {
        TwoTeams arrays{runtime, reversed_ranks};
        GlobalArray<double, 1>& a = arrays.a;
        GlobalArray<double, 1>& b = arrays.b;
        GlobalArray<double, 1>& c = arrays.c;
        GlobalArray<double, 1>& d = arrays.d;
        Assignment direction;
        if (other) direction.add(b.slice(), a.slice());
        else direction.add(a.slice(), b.slice());
        CHECK_THAT(test::message_of<MismatchError>([&] { direction.execute(true); }),
                   test::says({"Assignment::execute", "rank 0 passes GlobalArray(\"b\")", "GlobalArray(\"a\")"}));
        Assignment order;
        if (other) order.add(d.slice(), a.slice()).add(c.slice(), b.slice());
        else order.add(c.slice(), b.slice()).add(d.slice(), a.slice());
        CHECK_THROWS_AS(order.execute(true), MismatchError);
        runtime.barrier();
        arrays.second.barrier();

        // Nothing has been assigned, and the same assignments on all ranks are.
        check_numbered(runtime, a, 1);
        check_numbered(runtime, b, 2000);
        Assignment both;
        both.add(d.slice(), a.slice()).add(c.slice(), b.slice());
        both.execute(true);
        check_numbered(runtime, d, 1);
        check_numbered(runtime, c, 2000);
        arrays.close();
    }
    runtime.close();
}

TEST_CASE("waits for assignments between two teams in different orders are an error on all ranks") {
    Runtime runtime;
    if (runtime.size() == 1) return runtime.close();
    for (const bool reversed_ranks : {false, true}) {
        TwoTeams arrays{runtime, reversed_ranks};
        Assignment there;
        there.add(arrays.d.slice(), arrays.a.slice());
        Assignment back;
        back.add(arrays.c.slice(), arrays.b.slice());
        Assignment within; // in the runtime alone
        within.add(arrays.a(Range{0, 9}), arrays.a(Range{100, 109}));
        const auto check_mixed = [&](Assignment& one, Assignment& two) {
            Completion first = one.start();
            Completion last = two.start();
            if (runtime.rank() == 0) std::swap(first, last);
            CHECK_THAT(test::message_of<MismatchError>([&] { first.wait(); }),
                       test::says({"rank 0 waits for the start of", "in the same order"}));
            CHECK_THROWS_AS(last.wait(), MismatchError);
            runtime.barrier();
            arrays.second.barrier();
        };
        check_mixed(there, back);
        check_mixed(back, within);
        test::number_elements(arrays.a, 1);
        there.execute();
        back.start().wait();
        check_numbered(runtime, arrays.d, 1);
        check_numbered(runtime, arrays.c, 2000);
        arrays.close();
    }
    runtime.close();
}

TEST_CASE("teams of as many ranks that are not the same ones are refused on all ranks") {
    Runtime runtime;
    if (runtime.size() != 4) return runtime.close();
    const int rank = runtime.rank().value;
    MPI_Comm row = MPI_COMM_NULL;
    MPI_Comm column = MPI_COMM_NULL;
    MPI_Comm turned = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &turned);
    {
        Team of_row{row, runtime.settings()};
        Team of_column{column, runtime.settings()};
        Team of_turned{turned, runtime.settings()};
        GlobalArray<double, 1> a{of_row, {n}, Block{}, {.name = "a"}};
        GlobalArray<double, 1> b{of_column, {n}, Block{}, {.name = "b"}};
        GlobalArray<double, 1> c{of_turned, {n}, Cyclic{}, {.name = "c"}};
        b.fill(1);
        test::number_elements(c, 5);
        CHECK_THAT(test::message_of<UsageError>([&] { a.slice() = b.slice(); }),
                   test::says({"teams have 2 and 2 ranks", "not the same ranks", "OnRanks"}));
        a.slice() = c.slice(); // the same in another order
        check_numbered(runtime, a, 5);
        for (GlobalArray<double, 1>* array : {&a, &b, &c}) array->close();
        of_row.close();
        of_column.close();
        of_turned.close();
    }
    for (MPI_Comm* one : {&row, &column, &turned}) MPI_Comm_free(one);
    runtime.close();
}
