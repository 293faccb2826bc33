// Random programs on windows leave the memory, and read the values, that the same programs leave and read in plain
// arrays.
#include "support/catch.hpp"
#include "team/team_test.hpp"
#include "window/random_program.hpp"

TEST_CASE("random programs leave what they leave in plain arrays") { test::run_random_programs(1, 12); }

TEST_CASE("random programs with several threads a rank leave what they leave in plain arrays") {
    if (!test::many_threads_allowed()) return;
    test::run_random_programs(2, 4);
    test::run_random_programs(3, 4);
    test::run_random_programs(4, 2);
}

TEST_CASE("random programs on twenty windows leave what they leave in plain arrays") {
    test::run_random_programs(1, 2, 20);
    if (test::many_threads_allowed()) test::run_random_programs(2, 1, 20);
}
