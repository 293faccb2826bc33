// Programs of UPC and MPI start and end MPI themselves, which Lapwing does as well: the linker passes their calls here.
#include "mpi_calls.hpp"

#include <mpi.h>

extern "C" {

int __real_MPI_Init(int* argc, char*** argv);
int __real_MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int __real_MPI_Finalize();
int __wrap_MPI_Init(int* argc, char*** argv);
int __wrap_MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int __wrap_MPI_Finalize();

} // extern "C"

namespace {

bool in_program = false;

[[nodiscard]] bool is_started() {
    int started = 0;
    MPI_Initialized(&started);
    return started != 0;
}

} // namespace

namespace upcc {

void program_begins() { in_program = true; }
void program_ends() { in_program = false; }

} // namespace upcc

int __wrap_MPI_Init(int* argc, char*** argv) { return is_started() ? MPI_SUCCESS : __real_MPI_Init(argc, argv); }

int __wrap_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    return is_started() ? MPI_Query_thread(provided) : __real_MPI_Init_thread(argc, argv, required, provided);
}

// UPC needs MPI to its own end, which follows.
int __wrap_MPI_Finalize() { return in_program ? MPI_SUCCESS : __real_MPI_Finalize(); }
