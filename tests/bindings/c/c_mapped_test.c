/* Arrays as memory: what it has under every distribution, after a refresh, and of a pattern or a domain alone. */
#include "dealt_rows.h"
#include "job.h"

#include <stdint.h>

enum { rows = 37, columns = 61, first_row = -3, first_column = 5 };

static double value_at(int64_t i, int64_t j, double more) { return (double)(1000 * i + j) + more; }

/* Collective: each rank writes what it owns; of a replicated array its copy. */
static void fill(lapwing_array* a, double more) {
    const lapwing_range none[2] = {{0, 0, 1}, {0, 0, 1}};
    lapwing_range own[2] = {none[0], none[1]};
    uint64_t count = 0, k;
    int64_t i, j;
    int owner = 0;
    OK(lapwing_array_domain_count(a, rank, &count));
    for (k = 0; k < count; ++k) {
        OK(lapwing_array_domain(a, rank, k, own));
        for (i = 0; i < (int64_t)own[0].size; ++i)
            for (j = 0; j < (int64_t)own[1].size; ++j) {
                const int64_t at[2] = {own[0].first + i * own[0].stride, own[1].first + j * own[1].stride};
                OK(lapwing_array_owner(a, at, &owner));
                CHECK(owner == rank);
                OK(lapwing_array_put_double_2(a, at[0], at[1], value_at(at[0], at[1], more)));
            }
    }
    OK(lapwing_array_barrier(a));
}

/* The elements of a domain, a stride of the array's indices apart, are as fill() has written them. */
static void check_domain(const lapwing_mapped* mapped, const lapwing_range* domain, int64_t stride, double more) {
    const void* memory = NULL;
    int64_t strides[2] = {0, 0}, i, j;
    lapwing_range all[2];
    const double* x;
    OK(lapwing_mapped_view(mapped, &memory, strides, all));
    CHECK(memory != NULL && strides[0] == columns && strides[1] == 1);
    CHECK(all[0].size == rows && all[1].size == columns && all[0].stride == stride);
    x = memory;
    for (i = 0; i < (int64_t)domain[0].size; ++i)
        for (j = 0; j < (int64_t)domain[1].size; ++j) {
            const int64_t at[2] = {domain[0].first + i * domain[0].stride, domain[1].first + j * domain[1].stride};
            CHECK(x[(at[0] - all[0].first) / stride * columns + (at[1] - all[1].first) / stride] ==
                  value_at(at[0], at[1], more));
        }
}

/* Maps the array as a whole, by a pattern and in part; refreshes all of them after each barrier. */
static void check_array(lapwing_array* a, const int64_t* lower, int64_t stride, int own_distribution) {
    const lapwing_range all[2] = {{lower[0], rows, stride}, {lower[1], columns, stride}};
    const lapwing_range part[2] = {{lower[0] + 2 * stride, 7, 4 * stride}, {lower[1] + 3 * stride, 40, stride}};
    lapwing_pattern pattern;
    lapwing_mapped *whole = NULL, *some = NULL, *own_rows = NULL, *asked = NULL;
    lapwing_completion* completion = NULL;
    lapwing_range own[2];
    uint64_t count = 0, k;
    int turn;
    memset(&pattern, 0, sizeof pattern);
    pattern.kind = LAPWING_PATTERN_ROW_WISE;
    fill(a, 0);
    OK(lapwing_mapped_create(a, NULL, &whole));
    OK(lapwing_mapped_create(a, &pattern, &own_rows));
    OK(lapwing_mapped_create_domain(a, part, &some));
    if (own_distribution) FAILS(LAPWING_ERR_USAGE, "the program's own", lapwing_mapped_create_on_demand(a, &asked));
    else OK(lapwing_mapped_create_on_demand(a, &asked));
    OK(lapwing_array_domain_count(a, rank, &count));
    for (turn = 0; turn < 3; ++turn) {
        const double more = 0.25 * turn;
        if (turn > 0) {
            OK(lapwing_array_barrier(a));
            fill(a, more);
            OK(lapwing_mapped_refresh(whole));
            OK(lapwing_mapped_start_refresh(some, &completion));
            OK(lapwing_completion_wait(&completion));
            OK(lapwing_mapped_refresh(own_rows));
            if (asked != NULL) OK(lapwing_mapped_refresh(asked));
        }
        check_domain(whole, all, stride, more);
        check_domain(some, part, stride, more);
        if (asked != NULL && turn == 1) OK(lapwing_mapped_pin(asked, part));
        if (asked != NULL) check_domain(asked, turn == 1 ? part : all, stride, more);
        for (k = 0; k < count; ++k) {
            OK(lapwing_array_domain(a, rank, k, own));
            own[1] = all[1];
            check_domain(own_rows, own, stride, more);
        }
    }
    OK(lapwing_array_barrier(a));
    OK(lapwing_mapped_free(&asked));
    OK(lapwing_mapped_free(&own_rows));
    OK(lapwing_mapped_free(&some));
    OK(lapwing_mapped_free(&whole));
}

static void every_distribution(void) {
    const int64_t extents[2] = {rows, columns}, block[2] = {2, 3}, none[2] = {0, 0};
    const int64_t lower[2] = {first_row, first_column}, steps[2] = {3, 3};
    const int row_wise[2] = {0, 1};
    const int last = size - 1;
    lapwing_distribution each[7];
    int k, bounds;
    memset(each, 0, sizeof each);
    each[1].grid = row_wise;
    each[2].kind = LAPWING_CYCLIC;
    each[3].kind = LAPWING_BLOCK_CYCLIC;
    each[3].block = block;
    each[4].kind = LAPWING_REPLICATED;
    each[5].kind = LAPWING_OWN_DISTRIBUTION;
    each[5].functions = &dealt_rows;
    each[6].kind = LAPWING_ON_RANKS;
    each[6].ranks = &last;
    each[6].rank_count = 1;
    for (k = 0; k < 7; ++k)
        for (bounds = 0; bounds < 3; ++bounds) {
            lapwing_array_options options = lapwing_array_options_default();
            lapwing_array* a = NULL;
            if (bounds > 0) options.lower = lower;
            if (bounds > 1) options.stride = steps;
            OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &each[k], &options, &a));
            check_array(a, bounds > 0 ? lower : none, bounds > 1 ? 3 : 1, k == 5);
            OK(lapwing_array_free(&a));
        }
}

static int name_first_element(void* context, const lapwing_range* own, lapwing_needed* needed) {
    const lapwing_range first = {7, 1, 1};
    (void)own;
    ++*(int*)context;
    return lapwing_needed_add(needed, &first);
}

/* What a function names; the memory of the mapped array that was freed last serves the next one. */
static void by_function(void) {
    const int64_t extent = 5000, lower = 7;
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_pattern pattern;
    lapwing_array* a = NULL;
    lapwing_mapped* mapped = NULL;
    const void *memory = NULL, *again = NULL;
    uint64_t bytes = 0;
    int64_t one = 0;
    int asked = 0;
    memset(&pattern, 0, sizeof pattern);
    pattern.kind = LAPWING_PATTERN_FUNCTION;
    pattern.function = name_first_element;
    pattern.context = &asked;
    options.lower = &lower;
    OK(lapwing_array_create(runtime, LAPWING_INT64, 1, &extent, NULL, &options, &a));
    if (rank == 0) OK(lapwing_array_put_int64_1(a, 7, 11));
    OK(lapwing_array_barrier(a));
    OK(lapwing_mapped_create(a, &pattern, &mapped));
    CHECK(asked > 0);
    OK(lapwing_mapped_view(mapped, &memory, NULL, NULL));
    CHECK(*(const int64_t*)memory == 11);
    OK(lapwing_mapped_memory(mapped, &bytes));
    CHECK(bytes <= 5000 * 8 + 2 * 65536);
    OK(lapwing_array_barrier(a));
    OK(lapwing_mapped_free(&mapped));
    if (rank == size - 1) OK(lapwing_array_put_int64_1(a, 7, 12));
    OK(lapwing_array_barrier(a));
    OK(lapwing_mapped_create(a, &pattern, &mapped));
    OK(lapwing_mapped_view(mapped, &again, NULL, NULL));
    CHECK(again == memory && *(const int64_t*)again == 12);
    /* Its memory stays when the array goes. */
    OK(lapwing_array_get_int64_1(a, 7, &one));
    CHECK(one == 12);
    OK(lapwing_array_free(&a));
    CHECK(*(const int64_t*)again == 12);
    FAILS(LAPWING_ERR_USAGE, "map it again", lapwing_mapped_refresh(mapped));
    OK(lapwing_mapped_free(&mapped));
}

static void errors(void) {
    const int64_t extents[2] = {6, 5}, others[2] = {7, 5}, lower[2] = {1, 1}, empty[2] = {0, 5};
    const lapwing_range outside[2] = {{0, 6, 1}, {1, 5, 1}}, beyond[2] = {{1, 7, 1}, {1, 5, 1}};
    const lapwing_range nothing[2] = {{1, 0, 1}, {1, 5, 1}};
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_pattern pattern;
    lapwing_array *a = NULL, *none = NULL, *gone;
    lapwing_mapped *mapped = NULL, *freed;
    lapwing_completion* completion = NULL;
    lapwing_range ranges[2];
    const void* memory = &a;
    uint64_t bytes = 1;
    memset(&pattern, 0, sizeof pattern);
    options.name = "small";
    options.lower = lower;
    OK(lapwing_array_create(runtime, LAPWING_INT32, 2, extents, NULL, &options, &a));
    FAILS(LAPWING_ERR_USAGE, "the array is a null pointer", lapwing_mapped_create(NULL, NULL, &mapped));
    FAILS(LAPWING_ERR_USAGE, "'mapped'", lapwing_mapped_create(a, NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "'mapped'", lapwing_mapped_create_domain(a, nothing, NULL));
    FAILS(LAPWING_ERR_USAGE, "'ranges'", lapwing_mapped_create_domain(a, NULL, &mapped));
    FAILS(LAPWING_ERR_RANGE, "leaves [1, 7)", lapwing_mapped_create_domain(a, outside, &mapped));
    FAILS(LAPWING_ERR_RANGE, "leaves [1, 7)", lapwing_mapped_create_domain(a, beyond, &mapped));
    pattern.kind = 9;
    FAILS(LAPWING_ERR_RANGE, "pattern.kind", lapwing_mapped_create(a, &pattern, &mapped));
    pattern.kind = LAPWING_PATTERN_STENCIL;
    pattern.depth = -1;
    if (rank == 0) FAILS(LAPWING_ERR_RANGE, "-1", lapwing_mapped_create(a, &pattern, &mapped));
    CHECK(mapped == NULL);
    OK(lapwing_mapped_create_domain(a, nothing, &mapped));
    OK(lapwing_mapped_refresh(mapped));
    OK(lapwing_mapped_memory(mapped, &bytes));
    CHECK(bytes == 0);
    OK(lapwing_mapped_free(&mapped));
    OK(lapwing_array_create(runtime, LAPWING_INT32, 2, empty, NULL, NULL, &none));
    OK(lapwing_mapped_create(none, NULL, &mapped));
    OK(lapwing_mapped_view(mapped, &memory, NULL, ranges));
    CHECK(memory == NULL && ranges[0].size == 0 && ranges[1].size == 5);
    OK(lapwing_mapped_free(&mapped));
    OK(lapwing_array_free(&none));

    OK(lapwing_mapped_create(a, NULL, &mapped));
    FAILS(LAPWING_ERR_USAGE, "'completion'", lapwing_mapped_start_refresh(mapped, NULL));
    FAILS(LAPWING_ERR_USAGE, "'bytes'", lapwing_mapped_memory(mapped, NULL));
    FAILS(LAPWING_ERR_USAGE, "'mapped'", lapwing_mapped_free(NULL));
    FAILS(LAPWING_ERR_USAGE, "mapped array", lapwing_mapped_refresh((lapwing_mapped*)(void*)a));
    FAILS(LAPWING_ERR_USAGE, "'ranges'", lapwing_mapped_pin(mapped, NULL));
    FAILS(LAPWING_ERR_RANGE, "not within", lapwing_mapped_pin(mapped, outside));
    FAILS(LAPWING_ERR_USAGE, "'mapped'", lapwing_mapped_create_on_demand(a, NULL));
    OK(lapwing_array_resize(a, others));
    FAILS(LAPWING_ERR_USAGE, "other extents", lapwing_mapped_refresh(mapped));
    FAILS(LAPWING_ERR_USAGE, "map it again", lapwing_mapped_start_refresh(mapped, &completion));
    /* Its view is that of the array as it was. */
    OK(lapwing_mapped_view(mapped, &memory, NULL, ranges));
    CHECK(memory != NULL && ranges[0].first == 1 && ranges[0].size == 6);
    freed = mapped;
    OK(lapwing_mapped_free(&mapped));
    OK(lapwing_mapped_free(&mapped));
    FAILS(LAPWING_ERR_USAGE, "the mapped array was freed", lapwing_mapped_refresh(freed));
    FAILS(LAPWING_ERR_USAGE, "the mapped array is a null pointer", lapwing_mapped_view(NULL, &memory, NULL, NULL));
    gone = a;
    OK(lapwing_array_free(&a));
    FAILS(LAPWING_ERR_USAGE, "the array was freed", lapwing_mapped_create(gone, NULL, &mapped));
    FAILS(LAPWING_ERR_USAGE, "the array was freed", lapwing_mapped_create_domain(gone, nothing, &mapped));
}

int main(void) {
    start_job();
    every_distribution();
    by_function();
    errors();
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
