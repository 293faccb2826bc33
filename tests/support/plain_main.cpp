// The main program of tests that need no MPI.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
