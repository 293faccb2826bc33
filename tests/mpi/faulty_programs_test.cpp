// Random programs where one of MPI's one-sided operations at a time is faulty: no wrong value, whichever it is.
#include "mpi/faulty_mpi.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"
#include "window/random_program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

/// TEST_EVERY=n takes each n-th fault.
void run_with(const std::vector<test::Fault>& faults) {
    const auto every = static_cast<std::size_t>(test::number_from_environment("TEST_EVERY", 1));
    for (std::size_t i = 0; i < faults.size(); i += every) {
        INFO(test::name_of(faults[i]));
        const test::FaultInPlace faulty{faults[i]};
        test::run_random_programs(1, 3);
    }
}

} // namespace

TEST_CASE("random programs beside a fault of windows", "[windows]") { run_with(test::faults_of_windows()); }

TEST_CASE("random programs beside a fault of an atomic", "[atomics]") {
    run_with(test::faults_of_fetches());
    run_with(test::faults_of_accumulates());
    run_with(test::faults_of_swaps());
}
