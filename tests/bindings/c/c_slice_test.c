/* Slices, assignments, and checkpoints. */
#include "job.h"

#include <stdint.h>
#include <unistd.h>

static lapwing_array* make(lapwing_type type, int64_t n, int64_t m, int kind, const int64_t* lower) {
    const int64_t extents[2] = {n, m};
    lapwing_distribution distribution;
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_array* a = NULL;
    memset(&distribution, 0, sizeof distribution);
    distribution.kind = kind;
    options.lower = lower;
    OK(lapwing_array_create(runtime, type, 2, extents, &distribution, &options, &a));
    return a;
}

/* 100 * i + j at each index, written by rank 0 */
static void number(lapwing_array* a, int64_t n, int64_t m) {
    int64_t i, j;
    int64_t lower[2];
    lapwing_type type;
    OK(lapwing_array_shape(a, &type, NULL, NULL, lower));
    for (i = lower[0]; rank == 0 && i < lower[0] + n; ++i)
        for (j = lower[1]; j < lower[1] + m; ++j) {
            const int64_t index[2] = {i, j};
            const double x = (double)(100 * i + j);
            const int32_t y = (int32_t)(100 * i + j);
            OK(lapwing_array_put_element(a, index, type == LAPWING_DOUBLE ? (const void*)&x : (const void*)&y));
        }
    OK(lapwing_array_barrier(a));
}

static void shapes(void) {
    const int64_t lower[2] = {1, 0};
    lapwing_array* a = make(LAPWING_DOUBLE, 6, 5, LAPWING_CYCLIC, lower);
    lapwing_slice *s = NULL, *t = NULL, *u = NULL;
    const lapwing_part parts[2] = {{LAPWING_PART_RANGE, 6, 3, -2}, {LAPWING_PART_ALL, 0, 0, 0}};
    const lapwing_part row[2] = {{LAPWING_PART_INDEX, 2, 0, 0}, {LAPWING_PART_RANGE, 1, 3, 1}};
    const lapwing_part none[2] = {{LAPWING_PART_INDEX, 2, 0, 0}, {LAPWING_PART_INDEX, 1, 0, 0}};
    const lapwing_part outside[2] = {{LAPWING_PART_RANGE, 0, 3, 1}, {LAPWING_PART_ALL, 0, 0, 0}};
    const lapwing_part still[2] = {{LAPWING_PART_RANGE, 1, 3, 0}, {LAPWING_PART_ALL, 0, 0, 0}};
    const lapwing_part wrong[2] = {{3, 0, 3, 1}, {LAPWING_PART_ALL, 0, 0, 0}};
    const int twice[2] = {0, 0};
    const int64_t strides[2] = {-5, 1}, far_strides[2] = {INT64_MIN, 1};
    int dimensions = 0;
    int64_t extents[2];
    double buffer[30];
    int k, l;
    number(a, 6, 5);
    OK(lapwing_slice_create(a, parts, &s));
    OK(lapwing_slice_shape(s, &dimensions, extents));
    CHECK(dimensions == 2 && extents[0] == 3 && extents[1] == 5);
    OK(lapwing_slice_get(s, buffer, NULL));
    for (k = 0; k < 3; ++k)
        for (l = 0; l < 5; ++l) CHECK(buffer[5 * k + l] == 100 * (6 - 2 * k) + l);
    OK(lapwing_slice_get(s, buffer + 10, strides)); /* upside down */
    CHECK(buffer[10] == 600 && buffer[0] == 200 && buffer[4] == 204);
    FAILS(LAPWING_ERR_RANGE, "of dimension 0, with 3 elements, leads beyond 2^64",
          lapwing_slice_get(s, buffer, far_strides));
    OK(lapwing_slice_permute(s, NULL, &t));
    OK(lapwing_slice_get(t, buffer, NULL));
    CHECK(buffer[0] == 600 && buffer[1] == 400 && buffer[3] == 601);
    OK(lapwing_slice_free(&t));
    FAILS(LAPWING_ERR_RANGE, "must occur once", lapwing_slice_permute(s, twice, &t));
    FAILS(LAPWING_ERR_USAGE, "no dimensions", lapwing_slice_cut(s, none, &t));
    OK(lapwing_slice_cut(s, row, &t));
    OK(lapwing_slice_shape(t, &dimensions, extents));
    CHECK(dimensions == 1 && extents[0] == 3);
    OK(lapwing_slice_get(t, buffer, NULL));
    CHECK(buffer[0] == 201 && buffer[2] == 203);
    OK(lapwing_array_barrier(a));
    if (rank == size - 1) {
        const double values[3] = {-1, -2, -3};
        OK(lapwing_slice_put(t, values, NULL));
    }
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_get_double_2(a, 2, 3, buffer));
    CHECK(buffer[0] == -3);
    OK(lapwing_slice_create(a, row, &u)); /* row 2, columns 1 to 3: the same elements */
    OK(lapwing_slice_get(u, buffer, NULL));
    CHECK(buffer[0] == -1 && buffer[2] == -3);
    OK(lapwing_array_barrier(a));
    FAILS(LAPWING_ERR_USAGE, "no dimensions", lapwing_slice_create(a, none, &t));
    FAILS(LAPWING_ERR_RANGE, "of dimension 0 leaves", lapwing_slice_create(a, outside, &t));
    FAILS(LAPWING_ERR_RANGE, "stride = 0", lapwing_slice_create(a, still, &t));
    FAILS(LAPWING_ERR_RANGE, "'kind' is 3", lapwing_slice_create(a, wrong, &t));
    FAILS(LAPWING_ERR_USAGE, "'buffer'", lapwing_slice_get(u, NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "the slice is a null pointer", lapwing_slice_get(NULL, buffer, NULL));
    OK(lapwing_slice_free(&s));
    OK(lapwing_slice_free(&t));
    OK(lapwing_array_free(&a));
    FAILS(LAPWING_ERR_USAGE, "was closed", lapwing_slice_get(u, buffer, NULL));
    OK(lapwing_slice_free(&u));
    OK(lapwing_slice_free(&u));
}

static void twice_and_more(void* context, void* target, const void* source) {
    const int32_t value = *(const int32_t*)source;
    *(double*)target = 2 * *(double*)target + value;
    (void)context;
}

/* The number of calls in the context. */
static void mixed(void* context, void* target, const void* const* sources) {
    ++*(int*)context;
    *(double*)target = *(const double*)sources[0] + 10 * *(const int32_t*)sources[1] + *(const float*)sources[2];
}
static void three_neighbours(void* context, void* target, const void* const* sources) {
    (void)context;
    *(double*)target = *(const double*)sources[0] + *(const double*)sources[1] + *(const double*)sources[2];
}

/* Functions of elements of several arrays. */
static void computed(void) {
    lapwing_array* a = make(LAPWING_DOUBLE, 7, 6, LAPWING_BLOCK, NULL);
    lapwing_array* b = make(LAPWING_INT32, 6, 7, LAPWING_CYCLIC, NULL);
    lapwing_array* c = make(LAPWING_FLOAT, 7, 6, LAPWING_CYCLIC, NULL);
    lapwing_slice *all_a = NULL, *all_b = NULL, *turned_b = NULL, *all_c = NULL;
    lapwing_slice* parts[3] = {NULL, NULL, NULL};
    const lapwing_slice* sources[3];
    lapwing_assignment* kept = NULL;
    const float half = 0.5f;
    const double one = 1;
    double x = 0;
    int64_t i, j, first;
    int calls = 0;
    number(b, 6, 7);
    OK(lapwing_slice_create(a, NULL, &all_a));
    OK(lapwing_slice_create(b, NULL, &all_b));
    OK(lapwing_slice_create(c, NULL, &all_c));
    OK(lapwing_slice_permute(all_b, NULL, &turned_b));
    OK(lapwing_slice_fill(all_c, &half));
    OK(lapwing_slice_fill(all_a, &one));
    sources[0] = all_a;
    sources[1] = turned_b;
    sources[2] = all_c;
    OK(lapwing_slice_compute(all_a, 3, sources, mixed, &calls));
    for (i = 0; i < 7; ++i)
        for (j = 0; j < 6; ++j) {
            OK(lapwing_array_get_double_2(a, i, j, &x));
            CHECK(x == 1.5 + (double)(10 * (100 * j + i)));
        }
    OK(lapwing_runtime_sum(runtime, LAPWING_INT32, &calls, 1));
    CHECK(calls == 42);
    OK(lapwing_assignment_create(&kept));
    FAILS(LAPWING_ERR_USAGE, "'compute'", lapwing_assignment_add_compute(kept, all_a, 3, sources, NULL, &calls));
    OK(lapwing_assignment_add_compute(kept, all_a, 3, sources, mixed, &calls));
    OK(lapwing_assignment_execute(kept, 1));
    OK(lapwing_assignment_execute(kept, 0));
    OK(lapwing_array_get_double_2(a, 3, 2, &x));
    CHECK(x == 1 + 3 * (0.5 + 10 * 203));
    OK(lapwing_assignment_free(&kept));
    /* sources that overlap the target */
    OK(lapwing_slice_fill(all_a, &one));
    for (first = 0; first < 3; ++first) {
        lapwing_part part[2] = {{LAPWING_PART_RANGE, 0, 5, 1}, {LAPWING_PART_ALL, 0, 0, 0}};
        part[0].first = first;
        OK(lapwing_slice_create(a, part, &parts[first]));
        sources[first] = parts[first];
    }
    OK(lapwing_slice_compute(parts[1], 3, sources, three_neighbours, NULL));
    for (i = 0; i < 7; ++i) {
        OK(lapwing_array_get_double_2(a, i, 3, &x));
        CHECK(x == (i == 0 || i == 6 ? 1 : 3));
    }
    FAILS(LAPWING_ERR_RANGE, "'count' is 0", lapwing_slice_compute(all_a, 0, sources, three_neighbours, NULL));
    FAILS(LAPWING_ERR_USAGE, "'sources'", lapwing_slice_compute(all_a, 3, NULL, three_neighbours, NULL));
    FAILS(LAPWING_ERR_USAGE, "'compute'", lapwing_slice_compute(all_a, 3, sources, NULL, NULL));
    FAILS(LAPWING_ERR_RANGE, "extents", lapwing_slice_compute(all_a, 3, sources, three_neighbours, NULL));
    if (size > 1)
        FAILS(LAPWING_ERR_USAGE, "'sources'",
              lapwing_slice_compute(parts[1], 3, rank == 0 ? NULL : sources, three_neighbours, NULL));
    sources[2] = NULL;
    FAILS(LAPWING_ERR_USAGE, "the slice is a null pointer",
          lapwing_slice_compute(parts[1], 3, sources, three_neighbours, NULL));
    OK(lapwing_array_barrier(a));
    for (first = 0; first < 3; ++first) OK(lapwing_slice_free(&parts[first]));
    OK(lapwing_slice_free(&all_a));
    OK(lapwing_slice_free(&all_b));
    OK(lapwing_slice_free(&turned_b));
    OK(lapwing_slice_free(&all_c));
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&b));
    OK(lapwing_array_free(&c));
}

static void assignments(void) {
    lapwing_array* a = make(LAPWING_DOUBLE, 7, 6, LAPWING_BLOCK, NULL);
    lapwing_array* b = make(LAPWING_INT32, 6, 7, LAPWING_CYCLIC, NULL);
    lapwing_array* c = make(LAPWING_DOUBLE, 7, 6, LAPWING_CYCLIC, NULL);
    lapwing_array* raw = make(LAPWING_BYTES(8), 7, 6, LAPWING_CYCLIC, NULL);
    lapwing_slice *all_a, *all_b, *turned_b, *all_c, *all_raw;
    lapwing_assignment *both = NULL, *copy;
    double x = 0, five = 5;
    double whole[42];
    lapwing_completion* moved = NULL;
    int done = 1;
    uint64_t transfers = 99, bytes = 99;
    const char* text = NULL;
    int64_t i, j;
    number(b, 6, 7);
    OK(lapwing_slice_create(a, NULL, &all_a));
    OK(lapwing_slice_create(b, NULL, &all_b));
    OK(lapwing_slice_create(c, NULL, &all_c));
    OK(lapwing_slice_create(raw, NULL, &all_raw));
    OK(lapwing_slice_permute(all_b, NULL, &turned_b));
    OK(lapwing_slice_assign(all_a, turned_b, LAPWING_REPLACE)); /* int32 to double */
    for (i = 0; i < 7; ++i)
        for (j = 0; j < 6; ++j) {
            OK(lapwing_array_get_double_2(a, i, j, &x));
            CHECK(x == (double)(100 * j + i));
        }
    OK(lapwing_slice_assign(all_c, all_a, LAPWING_REPLACE));
    OK(lapwing_slice_assign(all_c, all_a, LAPWING_ADD));
    OK(lapwing_array_get_double_2(c, 3, 2, &x));
    CHECK(x == 406);
    OK(lapwing_slice_assign(all_c, all_a, LAPWING_SUBTRACT));
    OK(lapwing_slice_fill(all_a, &five));
    OK(lapwing_slice_assign(all_c, all_a, LAPWING_MULTIPLY));
    OK(lapwing_array_get_double_2(c, 3, 2, &x));
    CHECK(x == 5 * 203);
    OK(lapwing_slice_assign(all_c, all_a, LAPWING_MIN));
    OK(lapwing_array_get_double_2(c, 3, 2, &x));
    CHECK(x == 5);
    OK(lapwing_array_get_double_2(c, 0, 0, &x));
    CHECK(x == 0);
    OK(lapwing_slice_assign(all_c, all_a, LAPWING_MAX));
    OK(lapwing_array_get_double_2(c, 0, 0, &x));
    CHECK(x == 5);
    OK(lapwing_slice_apply(all_c, turned_b, twice_and_more, NULL));
    OK(lapwing_array_get_double_2(c, 3, 2, &x));
    CHECK(x == 10 + 203);
    FAILS(LAPWING_ERR_RANGE, "extents", lapwing_slice_assign(all_a, all_b, LAPWING_REPLACE));
    FAILS(LAPWING_ERR_USAGE, "for one type", lapwing_slice_assign(all_a, turned_b, LAPWING_ADD));
    FAILS(LAPWING_ERR_USAGE, "8 bytes", lapwing_slice_assign(all_raw, all_a, LAPWING_REPLACE));
    FAILS(LAPWING_ERR_USAGE, "8 bytes", lapwing_slice_assign(all_raw, all_raw, LAPWING_ADD));
    FAILS(LAPWING_ERR_RANGE, "'operation' is 7", lapwing_slice_assign(all_a, all_a, LAPWING_READ));
    FAILS(LAPWING_ERR_USAGE, "'apply'", lapwing_slice_apply(all_a, all_c, NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "'value'", lapwing_slice_fill(all_a, NULL));
    if (size > 1) { /* on one rank alone: an error on all */
        const int last = rank == size - 1;
        FAILS(last ? LAPWING_ERR_RANGE : LAPWING_ERR_USAGE, "extents",
              lapwing_slice_assign(all_a, last ? all_b : all_c, LAPWING_REPLACE));
        FAILS(LAPWING_ERR_USAGE, "slice", lapwing_slice_assign(last ? NULL : all_a, all_c, LAPWING_REPLACE));
        FAILS(LAPWING_ERR_USAGE, "'apply'", lapwing_slice_apply(all_a, all_c, last ? NULL : twice_and_more, NULL));
        FAILS(LAPWING_ERR_USAGE, "'value'", lapwing_slice_fill(all_a, last ? NULL : &x));
        FAILS(LAPWING_ERR_USAGE, "assign slices", lapwing_array_copy(a, last ? b : c));
    }
    OK(lapwing_array_barrier(a));
    if (rank == size - 1) OK(lapwing_slice_copy(all_a, all_c)); /* by one rank alone */
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_get_double_2(a, 3, 2, &x));
    CHECK(x == 10 + 203);
    FAILS(LAPWING_ERR_USAGE, "int32", lapwing_slice_copy(all_a, turned_b));
    OK(lapwing_array_barrier(a));

    OK(lapwing_assignment_create(&both));
    OK(lapwing_assignment_add(both, all_a, turned_b, LAPWING_REPLACE));
    OK(lapwing_assignment_add_fill(both, all_c, &five));
    OK(lapwing_assignment_execute(both, 1));
    OK(lapwing_assignment_execute(both, 0));
    OK(lapwing_array_get_double_2(a, 3, 2, &x));
    CHECK(x == 203);
    OK(lapwing_array_get_double_2(c, 3, 2, &x));
    CHECK(x == 5);
    OK(lapwing_slice_fill(all_a, &five));
    OK(lapwing_assignment_start(both, 1, &moved));
    CHECK(moved != NULL);
    FAILS(LAPWING_ERR_USAGE, "was started before", lapwing_assignment_execute(both, 0));
    OK(lapwing_completion_test(&moved, &done));
    CHECK(!done);
    OK(lapwing_array_barrier(b));
    OK(lapwing_completion_wait(&moved));
    CHECK(moved == NULL);
    OK(lapwing_slice_start_get(all_a, whole, NULL, &moved));
    OK(lapwing_completion_wait(&moved));
    CHECK(whole[3 * 6 + 2] == 203);
    OK(lapwing_array_barrier(a));
    for (i = 0; i < 42; ++i) whole[i] = (double)i;
    if (rank == size - 1) {
        OK(lapwing_slice_start_put(all_c, whole, NULL, &moved));
        OK(lapwing_completion_wait(&moved));
    }
    OK(lapwing_array_barrier(c));
    OK(lapwing_array_get_double_2(c, 3, 2, &x));
    CHECK(x == 20);
    FAILS(LAPWING_ERR_USAGE, "'completion'", lapwing_assignment_start(both, 0, NULL));
    FAILS(LAPWING_ERR_USAGE, "'completion'", lapwing_slice_start_get(all_a, whole, NULL, NULL));
    OK(lapwing_array_barrier(c));
    OK(lapwing_slice_fill(all_c, &five));
    OK(lapwing_assignment_transfers(both, &transfers, &bytes));
    CHECK(size > 1 || transfers == 0);
    OK(lapwing_assignment_explain(both, &text));
    CHECK(text[0] != '\0');
    copy = both;
    OK(lapwing_assignment_free(&both));
    FAILS(LAPWING_ERR_USAGE, "the assignment was freed", lapwing_assignment_execute(copy, 0));
    OK(lapwing_assignment_create(&both));
    OK(lapwing_assignment_add_apply(both, all_c, turned_b, twice_and_more, NULL));
    OK(lapwing_assignment_execute(both, 0));
    OK(lapwing_array_get_double_2(c, 3, 2, &x));
    CHECK(x == 10 + 203);
    FAILS(LAPWING_ERR_USAGE, "the slice is a null pointer", lapwing_assignment_add(both, NULL, all_a, LAPWING_REPLACE));
    OK(lapwing_assignment_free(&both));
    OK(lapwing_slice_free(&all_a));
    OK(lapwing_slice_free(&all_b));
    OK(lapwing_slice_free(&turned_b));
    OK(lapwing_slice_free(&all_c));
    OK(lapwing_slice_free(&all_raw));
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&b));
    OK(lapwing_array_free(&c));
    OK(lapwing_array_free(&raw));
}

static int rounds = 0;
static int count_rounds(void* context, uint64_t done, uint64_t all) {
    ++rounds;
    return done <= all ? *(int*)context : 99;
}

static void checkpoints(const char* program) {
    lapwing_array* a = make(LAPWING_DOUBLE, 7, 6, LAPWING_BLOCK, NULL);
    lapwing_array* b = make(LAPWING_DOUBLE, 7, 6, LAPWING_CYCLIC, NULL);
    lapwing_array* c = make(LAPWING_INT32, 7, 6, LAPWING_CYCLIC, NULL);
    lapwing_slice* part = NULL;
    const lapwing_part first_row[2] = {{LAPWING_PART_INDEX, 0, 0, 0}, {LAPWING_PART_ALL, 0, 0, 0}};
    const lapwing_part last_row[2] = {{LAPWING_PART_INDEX, 6, 0, 0}, {LAPWING_PART_ALL, 0, 0, 0}};
    char path[1200];
    int64_t extents[2] = {0, 0};
    double x = -1;
    int fails = 0;
    int process = (int)getpid(); /* rank 0's, so that runs beside each other have files of their own */
    OK(lapwing_runtime_broadcast(runtime, &process, sizeof process, 0));
    snprintf(path, sizeof path, "%s.%d.checkpoint", program, process);
    number(a, 7, 6);
    OK(lapwing_array_save(a, path, count_rounds, &fails));
    CHECK(rank != 0 || rounds > 0);
    OK(lapwing_checkpoint_extents(runtime, path, LAPWING_DOUBLE, 2, extents));
    CHECK(extents[0] == 7 && extents[1] == 6);
    FAILS(LAPWING_ERR_FILE, "dimensions", lapwing_checkpoint_extents(runtime, path, LAPWING_DOUBLE, 3, extents));
    OK(lapwing_array_load(b, path, NULL, NULL));
    OK(lapwing_array_get_double_2(b, 6, 5, &x));
    CHECK(x == 605);
    FAILS(LAPWING_ERR_FILE, "", lapwing_array_load(c, path, NULL, NULL));
    fails = 7;
    FAILS(rank == 0 ? LAPWING_ERR_USAGE : LAPWING_ERR_FILE, "'progress' returned 7",
          lapwing_array_save(a, path, count_rounds, &fails));
    OK(lapwing_slice_create(a, last_row, &part));
    OK(lapwing_slice_save(part, path, NULL, NULL));
    OK(lapwing_slice_free(&part));
    OK(lapwing_slice_create(b, first_row, &part));
    OK(lapwing_slice_load(part, path, NULL, NULL));
    OK(lapwing_slice_free(&part));
    OK(lapwing_array_get_double_2(b, 0, 5, &x));
    CHECK(x == 605);
    FAILS(LAPWING_ERR_FILE, "no-such-directory", lapwing_array_save(a, "/no-such-directory/file", NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "'path'", lapwing_array_save(a, NULL, NULL, NULL));
    OK(lapwing_array_barrier(a));
    if (rank == 0) remove(path);
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&b));
    OK(lapwing_array_free(&c));
}

int main(int argc, char** argv) {
    start_job();
    shapes();
    assignments();
    computed();
    checkpoints(argc > 0 ? argv[0] : "c_slice_test");
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
