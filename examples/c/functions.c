/* Work that goes to the data: functions that run at the owners of elements, by their names.
 *
 *     mpirun -n 4 c_functions
 */
#include <lapwing/lapwing.h>

#include <stdio.h>

// [program]
static int64_t tickets = 0; /* of rank 0 */

/* The next number. */
static int take_ticket(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                       uint64_t* result_bytes) {
    (void)element, (void)argument, (void)argument_bytes, (void)result_bytes;
    *(int64_t*)result = ++*(int64_t*)context;
    return 0;
}
/* The element becomes the larger of itself and the argument. */
static int keep_larger(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                       uint64_t* result_bytes) {
    int64_t* const here = element;
    const int64_t value = *(const int64_t*)argument;
    (void)context, (void)argument_bytes, (void)result, (void)result_bytes;
    if (value < 0) return lapwing_function_fail("negative numbers are not kept");
    if (value > *here) *here = value;
    return 0;
}

int main(void) {
    const int64_t length = 10, one = 1;
    int64_t ticket, i, found[10], total = 0;
    lapwing_runtime* runtime;
    lapwing_array *largest, *counts;
    lapwing_aggregator* aggregator;
    int rank, size;

    lapwing_error_set_handler(lapwing_error_abort, NULL);
    lapwing_function_register("take ticket", take_ticket, &tickets); /* on every rank, before the first call */
    lapwing_function_register("keep larger", keep_larger, NULL);
    lapwing_runtime_create(MPI_COMM_WORLD, NULL, &runtime);
    lapwing_runtime_rank(runtime, &rank);
    lapwing_runtime_size(runtime, &size);
    lapwing_array_create(runtime, LAPWING_INT64, 1, &length, NULL, NULL, &largest);
    lapwing_array_create(runtime, LAPWING_INT64, 1, &length, NULL, NULL, &counts);

    lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRESS, 0, "take ticket", NULL, 0, &ticket, sizeof ticket);
    for (i = 0; i < length; ++i) lapwing_array_post(largest, &i, "keep larger", &ticket, sizeof ticket);

    /* Many small accesses, hundreds in a message. */
    lapwing_aggregator_create(runtime, &aggregator);
    for (i = 0; i < 1000; ++i) {
        const int64_t at = i * 7 % length;
        lapwing_aggregator_add(aggregator, counts, &at, &one);
    }
    lapwing_runtime_barrier(runtime); /* all functions have run */
    for (i = 0; i < length; ++i) lapwing_aggregator_get(aggregator, largest, &i, &found[i]);
    lapwing_aggregator_free(&aggregator); /* the values are here */
    lapwing_array_sum(counts, &total);

    if (rank == 0) printf("the last of %d tickets is %d, and %d were counted\n", size, (int)found[9], (int)total);
    lapwing_array_free(&counts);
    lapwing_array_free(&largest);
    lapwing_runtime_free(&runtime);
    return found[9] == size && total == 1000 * size ? 0 : 1;
}
// [end]
