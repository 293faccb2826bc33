// Assertion level 3: ranks that create one array differently all get an error, and can continue.
#define LAPWING_ASSERTION_LEVEL 3
#include "tests/arrays/array_test.hpp"

using namespace lapwing;

TEST_CASE("different extents, distributions and grids are refused on every rank") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    const int own = runtime.rank().value;
    CHECK_THAT(test::message_of<MismatchError>(
                   [&] { GlobalArray<double, 2>{runtime, {8, own == 1 ? 7 : 8}, Block{}, {.name = "uneven"}}; }),
               test::says({"rank ", "uneven", "the extents", own == 1 ? "8 x 7" : "8 x 8", "same on all ranks"}));
    // One rank's are not possible at all.
    const std::int64_t large = std::int64_t{1} << 40;
    CHECK_THROWS_AS((GlobalArray<double, 2>{runtime, {large, own == 0 ? large : 1}}), MismatchError);
    CHECK_THAT(test::message_of<MismatchError>([&] {
                   GlobalArray<double, 2>{runtime,
                                          {8, 8},
                                          own == 0 ? Block{.grid = {runtime.size(), 1}}
                                                   : Block{.grid = {1, runtime.size()}},
                                          {.name = "uneven"}};
               }),
               test::says({"uneven", "the distribution"}));
    CHECK_THROWS_AS((GlobalArray<double, 1>{runtime, {80}, BlockCyclic{.block = {own == 0 ? 3 : 4}}}), MismatchError);
    const auto make = [&](const auto& distribution) { GlobalArray<double, 2>{runtime, {8, 8}, distribution}; };
    CHECK_THROWS_AS(own == 0 ? make(Replicated{}) : make(Block{}), MismatchError);
    CHECK_THROWS_AS(own == 0 ? make(example::Triangular{}) : make(Block{}), MismatchError);
    // A grid that one rank cannot make: that rank says why, the others that they differ.
    if (own == 0) CHECK_THROWS_AS(make(Block{.grid = {runtime.size() + 1, 1}}), RangeError);
    else CHECK_THROWS_AS(make(Block{}), MismatchError);
    if (runtime.size() == 3) {
        // Two teams of two, of which only rank 0 is in both.
        MPI_Comm near = MPI_COMM_NULL;
        MPI_Comm far = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, own <= 1 ? 0 : MPI_UNDEFINED, 0, &near);
        MPI_Comm_split(MPI_COMM_WORLD, own != 1 ? 0 : MPI_UNDEFINED, 0, &far);
        if (own <= 1) {
            Runtime some{near};
            GlobalArray<double, 1> target{some, {10}, Block{}, {.name = "near"}};
            if (own == 0) {
                Runtime others{far};
                GlobalArray<double, 1> source{others, {10}, Block{}, {.name = "far"}};
                CHECK_THAT(test::message_of<UsageError>([&] { target.copy_from(source); }),
                           test::says({"near", "copy_from", "far", "the same ranks"}));
                others.barrier();
            }
            some.barrier();
        } else {
            Runtime others{far};
            GlobalArray<double, 1> source{others, {10}, Block{}, {.name = "far"}};
            others.barrier();
        }
        if (near != MPI_COMM_NULL) MPI_Comm_free(&near);
        if (far != MPI_COMM_NULL) MPI_Comm_free(&far);
    }
    // All is well afterwards.
    GlobalArray<double, 2> array{runtime, {8, 8}};
    array.fill(1);
    GlobalArray<double, 2> other{runtime, {8, 8}, Cyclic{}};
    CHECK_THAT(test::message_of<MismatchError>(
                   [&] { other(Range{own == 1 ? 1 : 0, 8}.by(2), all) = array(Range{0, 4}, all); }),
               test::says({"Assignment::execute", "the indices of a slice"}));
    CHECK_THROWS_AS(other.slice() = own == 0 ? array.slice() : array.slice().transposed(), MismatchError);
    CHECK_THROWS_AS((own == 0 ? other : array).slice().fill(1), MismatchError);
    other.slice() = array.slice();
    CHECK(other.sum() == 64);
    other.barrier();
    other.close();
    CHECK(array.sum() == 64);
}

TEST_CASE("different extents, and what one rank cannot make, leave an array as it was on every rank") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    const int own = runtime.rank().value;
    GlobalArray<double, 2> array{runtime, {8, 8}, example::Triangular{}, {.name = "resized"}};
    array.fill(1);
    CHECK_THAT(test::message_of<MismatchError>([&] { array.resize({own == 1 ? 7 : 8, own == 1 ? 7 : 8}); }),
               test::says({"rank ", "GlobalArray(\"resized\").resize: ", "the extents", own == 1 ? "7 x 7" : "8 x 8",
                           "same on all ranks"}));
    CHECK_THROWS_AS(array.resize({own == 0 ? -1 : 8, 8}), MismatchError);
    CHECK_THROWS_AS(array.resize({9, 8}), RangeError);
    CHECK(array.extents() == Extents<2>{8, 8});
    CHECK(array.sum() == 36);
    array.resize({9, 9});
    CHECK(array.sum() == 36);
}

TEST_CASE("arrays that agree are made and used at level 3") {
    Runtime runtime;
    test::for_every_maker<double, 2>(runtime.size(), [&](const test::Maker<double, 2>& maker) {
        GlobalArray<double, 2> array = maker.make(runtime, {9, 9});
        test::number_elements(array);
        CHECK(test::misnumbered(array, maker.lower_triangle) == "none");
        runtime.barrier();
    });
}
