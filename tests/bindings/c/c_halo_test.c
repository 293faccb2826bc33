/* Halos. */
#include "job.h"

#include <stdint.h>

static int64_t around(int64_t i, int64_t n) { return (i % n + n) % n; }

/* So deep that it goes around the nine rows several times. */
static void check_deep(lapwing_array* a) {
    const int periodic[2] = {1, 0};
    lapwing_halo* halo = NULL;
    double* memory = NULL;
    int64_t strides[2], i, j;
    lapwing_range has[2];
    OK(lapwing_halo_create(a, 22, periodic, &halo));
    OK(lapwing_halo_exchange(halo));
    OK(lapwing_halo_memory(halo, (void**)&memory, strides, has));
    for (i = 0; memory != NULL && i < (int64_t)has[0].size; ++i)
        for (j = 0; j < (int64_t)has[1].size; ++j) {
            const int64_t row = around(has[0].first + i - 1, 9) + 1, column = has[1].first + j;
            CHECK(memory[i * strides[0] + j * strides[1]] ==
                  (column < 0 || column >= 8 ? 0 : (double)(100 * row + column)));
        }
    OK(lapwing_halo_free(&halo));
}

int main(void) {
    const int64_t extents[2] = {9, 8}, lower[2] = {1, 0};
    const int periodic[2] = {1, 0};
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_distribution cyclic;
    const int64_t depths[3] = {((int64_t)1 << 60) - 2, (int64_t)1 << 60, INT64_MAX / 2 - 100};
    lapwing_array *a = NULL, *c = NULL, *line = NULL;
    lapwing_halo *halo = NULL, *copy;
    lapwing_completion* completion = NULL;
    lapwing_range own[2], has[2], before[1], after[1];
    int64_t strides[2], i, j;
    double* memory = NULL;
    double x = 0;
    int turn;
    uint64_t domains = 0;
    start_job();
    options.lower = lower;
    memset(&cyclic, 0, sizeof cyclic);
    cyclic.kind = LAPWING_CYCLIC;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, &options, &a));
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &cyclic, NULL, &c));
    for (i = 1; rank == 0 && i < 10; ++i)
        for (j = 0; j < 8; ++j) OK(lapwing_array_put_double_2(a, i, j, (double)(100 * i + j)));
    check_deep(a);
    OK(lapwing_halo_create(a, 2, periodic, &halo));
    for (turn = 0; turn < 3; ++turn) {
        if (turn == 0) OK(lapwing_halo_exchange(halo));
        if (turn == 1) OK(lapwing_halo_fetch(halo));
        if (turn == 2) {
            OK(lapwing_halo_start_fetch(halo, &completion));
            OK(lapwing_completion_wait(&completion));
        }
        OK(lapwing_halo_memory(halo, (void**)&memory, strides, has));
        OK(lapwing_array_domain_count(a, rank, &domains));
        CHECK((domains > 0) == (memory != NULL));
        if (domains == 0) continue;
        OK(lapwing_array_domain(a, rank, 0, own));
        CHECK(has[0].first == own[0].first - 2 && has[0].size == own[0].size + 4 && has[1].first == own[1].first - 2);
        for (i = 0; i < (int64_t)has[0].size; ++i)
            for (j = 0; j < (int64_t)has[1].size; ++j) {
                const int64_t row = around(has[0].first + i - 1, 9) + 1, column = has[1].first + j;
                CHECK(memory[i * strides[0] + j * strides[1]] ==
                      (column < 0 || column >= 8 ? 0 : (double)(100 * row + column)));
            }
        for (i = 0; i < (int64_t)(has[0].size * has[1].size) && turn < 2; ++i) memory[i] = 0;
    }
    OK(lapwing_array_barrier(a));
    for (i = 0; memory != NULL && i < (int64_t)(has[0].size * has[1].size); ++i) memory[i] = 7;
    OK(lapwing_halo_store(halo));
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_get_double_2(a, 9, 7, &x));
    CHECK(x == 7);
    FAILS(LAPWING_ERR_RANGE, "depth -1", lapwing_halo_create(a, -1, NULL, &copy));
    if (domains > 0) {
        FAILS(LAPWING_ERR_RANGE, "2^62 bytes", lapwing_halo_create(a, INT64_MAX, periodic, &copy));
        FAILS(LAPWING_ERR_RANGE, "2^62 bytes", lapwing_halo_create(a, (int64_t)1 << 58, periodic, &copy));
    }
    /* Products with the size of an element that wrap around. */
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents + 1, NULL, NULL, &line));
    if (domains > 0)
        for (turn = 0; turn < 3; ++turn)
            FAILS(LAPWING_ERR_RANGE, "2^62 bytes", lapwing_halo_create(line, depths[turn], NULL, &copy));
    /* Its array gets other extents: on all ranks, before anything is waited for. */
    OK(lapwing_halo_create(line, 1, NULL, &copy));
    OK(lapwing_halo_memory(copy, (void**)&memory, strides, before));
    OK(lapwing_array_resize(line, extents));
    FAILS(LAPWING_ERR_USAGE, "other extents", lapwing_halo_exchange(copy));
    FAILS(LAPWING_ERR_USAGE, "other extents", lapwing_halo_fetch(copy));
    FAILS(LAPWING_ERR_USAGE, "other extents", lapwing_halo_store(copy));
    /* Its memory is its own, with the indices that the array had. */
    OK(lapwing_halo_memory(copy, (void**)&memory, strides, after));
    CHECK(after[0].first == before[0].first && after[0].size == before[0].size);
    OK(lapwing_halo_free(&copy));
    OK(lapwing_array_free(&line));
    if (size == 4) FAILS(LAPWING_ERR_USAGE, "halo", lapwing_halo_create(c, 1, NULL, &copy));
    FAILS(LAPWING_ERR_USAGE, "the array is a null pointer", lapwing_halo_create(NULL, 1, NULL, &copy));
    FAILS(LAPWING_ERR_USAGE, "'halo'", lapwing_halo_create(a, 1, NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "'completion'", lapwing_halo_start_fetch(halo, NULL));
    copy = halo;
    OK(lapwing_halo_free(&halo));
    OK(lapwing_halo_free(&halo));
    FAILS(LAPWING_ERR_USAGE, "the halo was freed", lapwing_halo_exchange(copy));
    FAILS(LAPWING_ERR_USAGE, "the halo is a null pointer", lapwing_halo_memory(halo, NULL, NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "the halo is a null pointer", lapwing_halo_store(halo));
    FAILS(LAPWING_ERR_USAGE, "the halo is a null pointer", lapwing_halo_fetch(halo));
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&c));
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
