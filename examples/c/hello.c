#include <lapwing/lapwing.h>

#include <stdio.h>

int main(void) {
    lapwing_runtime* runtime;
    lapwing_array* a;
    const int64_t n = 1000, first = 0;
    const lapwing_range patch = {990, 10, 1};
    lapwing_range own;
    double row[10], one = 1, total = 0;
    int rank, size;
    uint64_t k, domains;

    lapwing_error_set_handler(lapwing_error_abort, NULL); /* errors end the program, with a text that says why */
    lapwing_runtime_create(MPI_COMM_WORLD, NULL, &runtime);
    lapwing_runtime_rank(runtime, &rank);
    lapwing_runtime_size(runtime, &size);

    /* A thousand numbers, a block for each rank; a rank's own elements are plain memory. */
    lapwing_array_create(runtime, LAPWING_DOUBLE, 1, &n, NULL, NULL, &a);
    lapwing_array_domain_count(a, rank, &domains);
    if (domains > 0) {
        lapwing_array_domain(a, rank, 0, &own);
        for (k = 0; k < own.size; ++k)
            lapwing_array_put_double_1(a, own.first + (int64_t)k, 0.5 * (double)(own.first + (int64_t)k));
    }
    lapwing_runtime_barrier(runtime);

    /* Any element, whoever owns it, and a patch of them in one transfer. */
    lapwing_array_get(a, &patch, row, NULL);
    lapwing_array_fetch(a, LAPWING_ADD, &first, &one, NULL, LAPWING_ORDER_RELAXED);
    lapwing_runtime_barrier(runtime);

    lapwing_array_sum(a, &total);
    if (rank == 0) printf("%d ranks: a(999) is %g, the sum %g\n", size, row[9], total);
    lapwing_array_free(&a);
    lapwing_runtime_free(&runtime);
    return 0;
}
