/*
 * Heat spreading over a plate, in blocks of rows, with Lapwing: what examples/c/heat_mpi.c does with messages.
 *
 *     cc -O2 heat.c $(pkg-config --cflags --libs lapwing-c) -o heat && mpirun -n 4 ./heat [n] [steps]
 */
#include <lapwing/lapwing.h>

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
    uint64_t sum, domains;
    lapwing_runtime* runtime = NULL;
    lapwing_error_set_handler(lapwing_error_abort, NULL);
    lapwing_runtime_create(MPI_COMM_WORLD, NULL, &runtime); /* starts MPI */
    lapwing_runtime_rank(runtime, &rank);
    lapwing_runtime_size(runtime, &size);

    // [setup]
    lapwing_array* plate = NULL;
    lapwing_halo* halo = NULL;
    lapwing_range own[2] = {{0, 0, 1}, {0, 0, 1}};
    lapwing_distribution by_rows = {.kind = LAPWING_BLOCK, .grid = (const int[]){0, 1}};
    lapwing_array_create(runtime, LAPWING_DOUBLE, 2, (const int64_t[]){n, n}, &by_rows, NULL, &plate);
    lapwing_halo_create(plate, 1, NULL, &halo);
    lapwing_array_domain_count(plate, rank, &domains);
    if (domains > 0) lapwing_array_domain(plate, rank, 0, own);
    first = own[0].first;
    rows = (int64_t)own[0].size;
    lapwing_array_local(plate, (void**)&next, NULL, NULL); /* own rows: the array itself */
    // [end]

    for (j = 0; j < n && rows > 0 && first == 0; ++j) next[j] = 100; /* the upper edge is hot */
    lapwing_runtime_barrier(runtime);
    seconds = -MPI_Wtime();
    for (step = 0; step < steps; ++step) {
        // [exchange]
        int64_t width[2] = {0, 0}; /* from a row to the next: it has neighbours' columns, too */
        lapwing_halo_exchange(halo);
        lapwing_halo_memory(halo, (void**)&u, width, NULL);
        // [end]
        for (i = 0; i < rows; ++i) {
            if (first + i == 0 || first + i == n - 1) continue;
            const int64_t w = width[0];
            const double* const row = u + (i + 1) * w + 1;
            for (j = 1; j < n - 1; ++j) next[i * n + j] = 0.25 * (row[j - w] + row[j + w] + row[j - 1] + row[j + 1]);
        }
    }
    seconds += MPI_Wtime();

    // [result]
    sum = digest(next, first, rows, n);
    lapwing_runtime_sum(runtime, LAPWING_UINT64, &sum, 1);
    // [end]
    if (rank == 0) printf("%d rows, %d steps: %016llx\n", (int)n, (int)steps, (unsigned long long)sum);
    if (rank == 0) printf("%.3f s\n", seconds);
    lapwing_halo_free(&halo);
    lapwing_array_free(&plate);
    lapwing_runtime_free(&runtime);
    return 0;
}
