/* A program of UPC and MPI, which starts and ends MPI itself. */
#include "check.h"
#include <mpi.h>

shared int by_upc[THREADS];

int main(int argc, char **argv) {
    int rank = -1, ranks = 0, provided = -1, sum = 0, finalized = 1;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS && provided >= MPI_THREAD_SINGLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(rank == MYTHREAD && ranks == THREADS);
    by_upc[(MYTHREAD + 1) % THREADS] = rank;
    upc_barrier;
    rank = by_upc[MYTHREAD];
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == THREADS * (THREADS - 1) / 2);
    CHECK(MPI_Finalize() == MPI_SUCCESS && MPI_Finalized(&finalized) == MPI_SUCCESS);
    /* UPC goes on to its own end. */
    by_upc[MYTHREAD] = 7;
    upc_barrier;
    CHECK(by_upc[(MYTHREAD + 1) % THREADS] == 7 && !finalized);
    return 0;
}
