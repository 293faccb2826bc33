/*
 * Heat spreading over a plate, in blocks of rows, with messages: what examples/c/heat.c does with Lapwing.
 *
 *     mpicc -O2 heat_mpi.c -o heat_mpi && mpirun -n 4 ./heat_mpi [n] [steps]
 */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number that depends on every bit of a block, whoever has it. */
static uint64_t digest(const double* values, int64_t first_row, int64_t rows, int64_t n) {
    uint64_t sum = 0, bits;
    int64_t i, j;
    for (i = 0; i < rows; ++i)
        for (j = 0; j < n; ++j) {
            memcpy(&bits, &values[i * n + j], sizeof bits);
            sum += (bits ^ (bits >> 29)) * (uint64_t)(((first_row + i) * n + j) * 2 + 1);
        }
    return sum;
}

int main(int argc, char** argv) {
    const int64_t n = argc > 1 ? atoll(argv[1]) : 500, steps = argc > 2 ? atoll(argv[2]) : 100;
    int rank, size, step;
    int64_t first, rows, i, j;
    double *u, *next, seconds;
    uint64_t sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    // [setup]
    const int64_t block = (n + size - 1) / size;
    first = rank * block < n ? rank * block : n;
    rows = n - first < block ? n - first : block;
    const int up = first > 0 && rows > 0 ? rank - 1 : MPI_PROC_NULL;
    const int down = first + rows < n ? rank + 1 : MPI_PROC_NULL;
    u = calloc((size_t)((rows + 2) * n), sizeof *u); /* own rows from 1 on, a neighbour's row on either side */
    next = calloc((size_t)(rows * n + 1), sizeof *next);
    // [end]

    for (j = 0; j < n && first == 0; ++j) next[j] = 100; /* the upper edge is hot */
    memcpy(u + n, next, (size_t)(rows * n) * sizeof *u);
    seconds = -MPI_Wtime();
    for (step = 0; step < steps; ++step) {
        // [exchange]
        MPI_Sendrecv(u + n, (int)n, MPI_DOUBLE, up, 0, u + (rows + 1) * n, (int)n, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(u + rows * n, (int)n, MPI_DOUBLE, down, 1, u, (int)n, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        // [end]
        for (i = 0; i < rows; ++i) {
            if (first + i == 0 || first + i == n - 1) continue;
            const double* const row = u + (i + 1) * n;
            for (j = 1; j < n - 1; ++j) next[i * n + j] = 0.25 * (row[j - n] + row[j + n] + row[j - 1] + row[j + 1]);
        }
        // [publish]
        memcpy(u + n, next, (size_t)(rows * n) * sizeof *u);
        // [end]
    }
    seconds += MPI_Wtime();

    // [result]
    sum = digest(next, first, rows, n);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    // [end]
    if (rank == 0) printf("%d rows, %d steps: %016llx\n", (int)n, (int)steps, (unsigned long long)sum);
    if (rank == 0) printf("%.3f s\n", seconds);
    free(u);
    free(next);
    MPI_Finalize();
    return 0;
}
