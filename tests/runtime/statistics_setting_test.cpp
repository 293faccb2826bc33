// LAPWING_STATS that only some ranks have.
#include "support/mpi_test.hpp"

#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>

#include <catch2/catch.hpp>

#include <string>

using lapwing::MismatchError;
using lapwing::Runtime;
using lapwing::Settings;

TEST_CASE("ranks that differ in whether statistics are wanted are told so at the start") {
    if (test::world_size() == 1) return;
    const Settings settings{{"LAPWING_STATS", test::world_rank() == 0 ? "text" : ""}};
    std::string text;
    try {
        Runtime runtime{MPI_COMM_WORLD, settings};
    } catch (const MismatchError& error) {
        text = error.what();
    }
    CHECK_THAT(text, Catch::Contains("LAPWING_STATS") && Catch::Contains("rank " + std::to_string(test::world_rank())));
    // And nothing of the failed start is left behind.
    Runtime runtime;
    runtime.barrier();
    runtime.close();
}
