// libFuzzer's entry for the decoder of MPI datatypes: any input is a program that builds a datatype, and what Lapwing
// makes of it must be what MPI_Pack sees (tests/datatype/type_program.hpp).
#include "datatype/type_program.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerInitialize(int*, char***);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerInitialize(int*, char***) {
    MPI_Init(nullptr, nullptr);
    std::atexit([] { MPI_Finalize(); });
    return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string wrong = test::check_type_program({data, size});
    if (wrong.empty()) return 0;
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort(); // libFuzzer keeps the input
}
