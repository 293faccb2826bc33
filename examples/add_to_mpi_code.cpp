// A code that exchanges the edges of its parts with messages, on a communicator of its own, gets a shared table beside
// them. Nothing of the code changes: Lapwing neither uses its communicator for messages nor touches its requests.
//
//     mpirun -n 4 add_to_mpi_code
#include <lapwing/lapwing.hpp>

#include <mpi.h>

#include <array>
#include <cstdio>

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided); // was MPI_Init
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &ring);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(ring, &rank);
    MPI_Comm_size(ring, &ranks);
    const int left = (rank + ranks - 1) % ranks;
    const int right = (rank + 1) % ranks;
    int wrong = 0;
    {
        // New: one row of results for each rank, which any rank reads and writes.
        lapwing::Runtime runtime{ring};
        lapwing::GlobalArray<double, 2> results{runtime, {ranks, 2}, lapwing::Block{.grid = {0, 1}}};

        // As before: the exchange is started.
        std::array<double, 2> edges{10.0 * rank, 10.0 * rank + 9};
        std::array<double, 2> halo{-1, -1};
        std::array<MPI_Request, 4> requests{};
        MPI_Irecv(&halo[0], 1, MPI_DOUBLE, left, 0, ring, &requests[0]);
        MPI_Irecv(&halo[1], 1, MPI_DOUBLE, right, 1, ring, &requests[1]);
        MPI_Isend(&edges[1], 1, MPI_DOUBLE, right, 0, ring, &requests[2]);
        MPI_Isend(&edges[0], 1, MPI_DOUBLE, left, 1, ring, &requests[3]);

        // New: one-sided work while the messages are under way.
        results(right, 0) = rank;
        results(left, 1).atomic().fetch_add(100.0 + rank);
        runtime.barrier();
        const double from_left = results(rank, 0);
        const double from_right = results(rank, 1);

        // As before: the exchange is completed.
        MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);

        if (halo[0] != 10.0 * left + 9 || halo[1] != 10.0 * right) wrong = 1;
        if (from_left != left || from_right != 100.0 + right) wrong = 1;
        std::printf("rank %d: halo %g and %g by messages, %g and %g through the array\n", rank, halo[0], halo[1],
                    from_left, from_right);
    }
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return wrong;
}
