// Random programs on windows and the same on plain arrays: what the former leave and read is compared with the latter.
#pragma once

#include <cstdint>

namespace test {

/// Runs the programs of the seeds 1 to `programs`, each with so many threads a rank and windows (0: as many as the seed
/// says), over all of MPI_COMM_WORLD; collective. The environment may say otherwise: random_program.cpp.
void run_random_programs(int threads, std::uint64_t programs, int windows = 0);

} // namespace test
