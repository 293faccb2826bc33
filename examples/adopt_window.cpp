// A program has an MPI window (created, allocated or shared), and Lapwing adopts it: elements, atomics and notified
// puts without epochs and flushes. The program keeps owning the window.
//
//     mpirun -n 4 adopt_window
#include <lapwing/lapwing.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

int main(int argc, char** argv) {
    // With this level Lapwing has a progress thread; with less it makes progress in its own calls.
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int wrong = 0;
    {
        lapwing::Runtime runtime{MPI_COMM_WORLD};
        const int own = runtime.rank().value;
        const lapwing::Rank next{(own + 1) % runtime.size()};

        // What the program has already.
        std::int64_t* numbers = nullptr;
        MPI_Win mpi_window = MPI_WIN_NULL;
        MPI_Win_allocate(100 * sizeof *numbers, sizeof *numbers, MPI_INFO_NULL, MPI_COMM_WORLD, &numbers, &mpi_window);
        std::fill_n(numbers, 100, 1000 * own);
        MPI_Barrier(MPI_COMM_WORLD);

        // Offsets are in bytes, whatever the window's displacement unit.
        lapwing::Window window = lapwing::Window::adopt(runtime, mpi_window);
        const auto seen = window.get<std::int64_t>(next, lapwing::Offset::of<std::int64_t>(42));
        window.atomic<std::int64_t>(lapwing::Rank{0}, lapwing::Offset{0}).fetch_add(own + 1);
        runtime.barrier();
        const auto sum = window.get<std::int64_t>(lapwing::Rank{0}, lapwing::Offset{0});
        if (seen != 1000 * next.value || sum != runtime.size() * (runtime.size() + 1) / 2) wrong = 1;
        std::printf("rank %d: rank %d has %lld, the sum at rank 0 is %lld, path %s\n", own, next.value,
                    static_cast<long long>(seen), static_cast<long long>(sum), name(window.path(next)).data());

        // First Lapwing lets the window go, then its owner frees it.
        window.close();
        MPI_Win_free(&mpi_window);
    }
    MPI_Finalize();
    return wrong;
}
