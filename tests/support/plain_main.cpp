// The main program of tests that need no MPI.
#include "tests/support/session.hpp"

int main(int argc, char** argv) { return test::run_test_cases(argc, argv); }
