// Running the test cases of a program: all that its main needs of Catch2.
#pragma once

#include <functional>

namespace test {

/// Runs the test cases that the command line chooses; 0 when there are any and all pass. Calls `on_failure` for every
/// failed assertion, before Catch2 prints it.
[[nodiscard]] int run_test_cases(int argc, char** argv, std::function<void()> on_failure = {});

} // namespace test
