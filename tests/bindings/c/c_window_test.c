/* Windows, layouts, atomics, notifications, and locks. */
#include "job.h"

#include <stdint.h>

static int next, previous;

static void layouts(void) {
    lapwing_layout *a, *b, *c;
    lapwing_layout_info info;
    const int64_t offsets[3] = {0, 32, 8};
    const lapwing_block blocks[2] = {{0, 4}, {16, 8}};
    const lapwing_level levels[2] = {{2, 100}, {3, 16}};
    const lapwing_range ranges[2] = {{1, 2, 1}, {0, 2, 2}};
    const lapwing_range outside[2] = {{1, 5, 1}, {0, 2, 2}};
    const int64_t extents[2] = {4, 4};
    const lapwing_layout* parts[2];
    const char* text = NULL;
    int flag = -1;
    MPI_Datatype type;
    OK(lapwing_layout_create_strided(3, 8, 16, 0, &a));
    OK(lapwing_layout_query(a, &info));
    CHECK(info.bytes == 24 && info.blocks == 3 && info.lower == 0 && info.upper == 40 && info.uniform_block == 8 &&
          info.ascending);
    OK(lapwing_layout_text(a, &text));
    CHECK(strstr(text, "3 blocks of 8 bytes") != NULL);
    OK(lapwing_layout_create_nested(2, levels, 8, 0, &b));
    OK(lapwing_layout_repeat(a, 2, 100, &c));
    OK(lapwing_layout_equal(b, c, &flag));
    CHECK(flag == 1);
    OK(lapwing_layout_equal(a, c, &flag));
    CHECK(flag == 0);
    OK(lapwing_layout_free(&c));
    OK(lapwing_layout_slice(a, 8, 24, &c));
    OK(lapwing_layout_query(c, &info));
    CHECK(info.bytes == 16 && info.lower == 16);
    FAILS(LAPWING_ERR_RANGE, "25", lapwing_layout_slice(a, 8, 25, &c));
    OK(lapwing_layout_free(&c));
    OK(lapwing_layout_shift(a, -16, &c));
    OK(lapwing_layout_query(c, &info));
    CHECK(info.lower == -16);
    OK(lapwing_layout_free(&c));
    OK(lapwing_layout_intersect(a, 10, 20, &c));
    OK(lapwing_layout_query(c, &info));
    CHECK(info.bytes == 4);
    OK(lapwing_layout_free(&c));
    OK(lapwing_layout_repeat_at(a, 3, offsets, &c));
    OK(lapwing_layout_overlaps(c, &flag));
    CHECK(flag == 1);
    OK(lapwing_layout_free(&c));
    OK(lapwing_layout_free(&b));
    OK(lapwing_layout_create_indexed(3, offsets, 8, &b));
    OK(lapwing_layout_query(b, &info));
    CHECK(info.bytes == 24 && !info.ascending);
    OK(lapwing_layout_free(&b));
    OK(lapwing_layout_create_list(2, blocks, &b));
    parts[0] = a;
    parts[1] = b;
    OK(lapwing_layout_create_concatenated(2, parts, &c));
    OK(lapwing_layout_query(c, &info));
    CHECK(info.bytes == 36);
    OK(lapwing_layout_free(&c));
    OK(lapwing_layout_free(&b));
    OK(lapwing_layout_create_patch(2, ranges, extents, 8, &b));
    OK(lapwing_layout_query(b, &info));
    CHECK(info.bytes == 32 && info.lower == 32 && info.blocks == 4);
    FAILS(LAPWING_ERR_RANGE, "of dimension 0 leaves [0, 4)", lapwing_layout_create_patch(2, outside, extents, 8, &c));
    FAILS(LAPWING_ERR_RANGE, "from 1 to 8", lapwing_layout_create_patch(9, ranges, extents, 8, &c));
    OK(lapwing_layout_free(&b));
    OK(lapwing_layout_to_mpi(a, &type));
    OK(lapwing_layout_create_mpi(type, 1, &b));
    OK(lapwing_layout_equal(a, b, &flag));
    CHECK(flag == 1);
    MPI_Type_free(&type);
    FAILS(LAPWING_ERR_USAGE, "MPI_DATATYPE_NULL", lapwing_layout_create_mpi(MPI_DATATYPE_NULL, 1, &c));
    OK(lapwing_layout_free(&b));
    OK(lapwing_layout_create_contiguous(12, 4, &b));
    OK(lapwing_layout_query(b, &info));
    CHECK(info.bytes == 12 && info.lower == 4 && info.levels == 0);
    OK(lapwing_layout_free(&b));
    OK(lapwing_layout_free(&b));
    FAILS(LAPWING_ERR_USAGE, "the layout is a null pointer", lapwing_layout_query(b, &info));
    FAILS(LAPWING_ERR_USAGE, "'blocks'", lapwing_layout_create_list(2, NULL, &b));
    FAILS(LAPWING_ERR_USAGE, "'layout'", lapwing_layout_create_contiguous(12, 4, NULL));
    OK(lapwing_layout_free(&a));
}

static void creation(void) {
    lapwing_window_options options = lapwing_window_options_default();
    lapwing_window* window = NULL;
    uint64_t bytes = 0;
    void* memory = NULL;
    int path = -1;
    const char* text = NULL;
    options.name = "small";
    options.alignment = 7;
    FAILS(LAPWING_ERR_RANGE, "alignment", lapwing_window_create(runtime, 64, &options, &window));
    options.alignment = 32;
    options.cache.mode = 9;
    FAILS(LAPWING_ERR_RANGE, "'cache.mode' is 9", lapwing_window_create(runtime, 64, &options, &window));
    options.cache.mode = LAPWING_CACHE_EPOCH;
    options.cache.bytes = -2;
    FAILS(LAPWING_ERR_RANGE, "'bytes' is -2", lapwing_window_create(runtime, 64, &options, &window));
    options.cache.bytes = 1 << 16;
    OK(lapwing_window_create(runtime, 64 + 8 * (uint64_t)rank, &options, &window));
    OK(lapwing_window_size(window, size - 1, &bytes));
    CHECK(bytes == 64 + 8 * (uint64_t)(size - 1));
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_window_size(window, size, &bytes));
    OK(lapwing_window_path(window, rank, &path));
    CHECK(path == LAPWING_PATH_SELF);
    OK(lapwing_window_name(window, &text));
    CHECK(strcmp(text, "small") == 0);
    OK(lapwing_window_local(window, &memory, &bytes));
    CHECK(memory != NULL && bytes == 64 + 8 * (uint64_t)rank);
    CHECK(((char*)memory)[bytes - 1] == 0);
    OK(lapwing_window_memory(window, rank, &memory, NULL));
    CHECK(memory != NULL);
    FAILS(LAPWING_ERR_USAGE, "are open; free them before it", lapwing_runtime_free(&runtime));
    OK(lapwing_window_invalidate_cache(window));
    OK(lapwing_window_free(&window));
    CHECK(window == NULL);
    OK(lapwing_window_free(&window));
    FAILS(LAPWING_ERR_USAGE, "the runtime is a null pointer", lapwing_window_create(NULL, 64, NULL, &window));
    FAILS(LAPWING_ERR_USAGE, "'window'", lapwing_window_create(runtime, 64, NULL, NULL));
    FAILS(LAPWING_ERR_RANGE, "bytes", lapwing_window_create(runtime, (uint64_t)1 << 63, NULL, &window));
}

/* Single values by inline functions, at any offset. */
#define TEST_VALUE(name, ctype, number)                                                                        \
    do {                                                                                                       \
        ctype is_ = 0;                                                                                         \
        OK(lapwing_window_put_##name(window, to, 2043, (ctype)(number)));                                      \
        OK(lapwing_window_flush(window, to));                                                                  \
        OK(lapwing_window_get_##name(window, to, 2043, &is_));                                                 \
        CHECK(is_ == (ctype)(number));                                                                         \
        FAILS(LAPWING_ERR_RANGE, "lapwing_window_get: rank",                                                   \
              lapwing_window_get_##name(window, to, 4097 - sizeof is_, &is_));                                 \
        FAILS(LAPWING_ERR_RANGE, "lapwing_window_put: rank", lapwing_window_put_##name(window, size, 0, is_)); \
        FAILS(LAPWING_ERR_RANGE, "lapwing_window_get: rank", lapwing_window_get_##name(window, -1, 0, &is_));  \
        CHECK(is_ == (ctype)(number));                                                                         \
    } while (0)

static void test_values(lapwing_window* window, int to) {
    TEST_VALUE(int32, int32_t, -7 - rank);
    TEST_VALUE(int64, int64_t, INT64_MIN + rank);
    TEST_VALUE(float, float, 0.5 + rank);
    TEST_VALUE(double, double, 1e100 * (1 + rank));
    TEST_VALUE(int8, int8_t, -7 - rank);
    TEST_VALUE(int16, int16_t, INT16_MIN + rank);
    TEST_VALUE(uint8, uint8_t, 250 + rank);
    TEST_VALUE(uint16, uint16_t, UINT16_MAX - rank);
    TEST_VALUE(uint32, uint32_t, UINT32_MAX - (uint32_t)rank);
    TEST_VALUE(uint64, uint64_t, UINT64_MAX - (uint64_t)rank);
    TEST_VALUE(float_complex, float _Complex, COMPLEX(float, 0.5F + (float)rank, -2));
    TEST_VALUE(double_complex, double _Complex, COMPLEX(double, 1e100 * (1 + rank), -2));
}

static void transfers(lapwing_window* window) {
    double value = 10.5 + rank;
    double got = 0;
    double many[6];
    lapwing_completion* completion = NULL;
    lapwing_completion* copy;
    lapwing_layout *every_other, *dense;
    MPI_Datatype vector;
    int complete = 0;
    int k;
    lapwing_statistics statistics, total;
    OK(lapwing_window_put(window, next, 16, &value, sizeof value));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_get(window, rank, 16, &got, sizeof got));
    CHECK(got == 10.5 + previous);
    got = 0;
    OK(lapwing_window_start_get(window, next, 16, &got, sizeof got, &completion));
    OK(lapwing_completion_wait(&completion));
    CHECK(completion == NULL && got == 10.5 + rank);
    OK(lapwing_completion_wait(&completion));
    OK(lapwing_completion_test(&completion, &complete));
    CHECK(complete == 1);
    OK(lapwing_runtime_barrier(runtime));
    value = 20 + rank;
    OK(lapwing_window_start_put(window, next, 16, &value, sizeof value, &completion));
    copy = completion;
    for (complete = 0; !complete;) OK(lapwing_completion_test(&completion, &complete));
    CHECK(completion == NULL);
    if (copy != NULL) FAILS(LAPWING_ERR_USAGE, "the completion was freed", lapwing_completion_wait(&copy));
    OK(lapwing_window_flush(window, next));
    OK(lapwing_window_get(window, next, 16, &got, sizeof got));
    CHECK(got == 20 + rank);
    FAILS(LAPWING_ERR_RANGE, "lapwing_window_get: rank", lapwing_window_get(window, next, 4090, &got, sizeof got));
    FAILS(LAPWING_ERR_RANGE, "lapwing_window_put: rank", lapwing_window_put(window, size, 0, &got, sizeof got));
    FAILS(LAPWING_ERR_RANGE, "4096", lapwing_window_start_put(window, next, UINT64_MAX, &got, 8, &completion));
    FAILS(LAPWING_ERR_USAGE, "'destination'", lapwing_window_get(window, next, 0, NULL, 8));
    FAILS(LAPWING_ERR_USAGE, "'completion'", lapwing_window_start_get(window, next, 0, &got, 8, NULL));
    OK(lapwing_window_get(window, next, 0, NULL, 0));
    test_values(window, next);
    OK(lapwing_runtime_barrier(runtime));

    OK(lapwing_layout_create_strided(3, 8, 16, 0, &every_other));
    OK(lapwing_layout_create_contiguous(24, 0, &dense));
    for (k = 0; k < 6; ++k) many[k] = 100 * rank + k;
    OK(lapwing_window_put_layout(window, next, 1024, every_other, many, dense));
    OK(lapwing_window_start_put_layout(window, next, 1200, dense, many, every_other, &completion));
    OK(lapwing_completion_wait(&completion));
    OK(lapwing_runtime_barrier(runtime));
    for (k = 0; k < 3; ++k) {
        OK(lapwing_window_get(window, rank, 1024 + 16 * (uint64_t)k, &got, 8));
        CHECK(got == 100 * previous + k);
        OK(lapwing_window_get(window, rank, 1200 + 8 * (uint64_t)k, &got, 8));
        CHECK(got == 100 * previous + 2 * k);
    }
    memset(many, 0, sizeof many);
    OK(lapwing_window_get_layout(window, next, 1024, every_other, many, dense));
    CHECK(many[0] == 100 * rank && many[2] == 100 * rank + 2 && many[3] == 0);
    OK(lapwing_window_start_get_layout(window, next, 1200, dense, many, every_other, &completion));
    OK(lapwing_completion_wait(&completion));
    CHECK(many[0] == 100 * rank && many[4] == 100 * rank + 4);
    FAILS(LAPWING_ERR_USAGE, "'base'", lapwing_window_put_layout(window, next, 0, dense, NULL, dense));
    FAILS(LAPWING_ERR_USAGE, "the layout is a null pointer",
          lapwing_window_put_layout(window, next, 0, NULL, many, dense));
    FAILS(LAPWING_ERR_RANGE, "4096", lapwing_window_get_layout(window, next, 4090, dense, many, dense));
    OK(lapwing_layout_free(&every_other));
    OK(lapwing_layout_free(&dense));
    OK(lapwing_runtime_barrier(runtime));

    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    for (k = 0; k < 6; ++k) many[k] = 1000 * rank + k;
    OK(lapwing_window_put_mpi(window, many, 1, vector, next, 2048, 3, MPI_DOUBLE));
    OK(lapwing_window_start_put_mpi(window, many, 3, MPI_DOUBLE, next, 2200, 1, vector, &completion));
    OK(lapwing_completion_wait(&completion));
    OK(lapwing_window_put_mpi(window, many, 1, vector, MPI_PROC_NULL, 0, 3, MPI_DOUBLE));
    FAILS(LAPWING_ERR_USAGE, "MPI_DATATYPE_NULL",
          lapwing_window_put_mpi(window, many, 1, MPI_DATATYPE_NULL, next, 0, 3, MPI_DOUBLE));
    FAILS(LAPWING_ERR_RANGE, "-1", lapwing_window_get_mpi(window, many, -1, MPI_DOUBLE, next, 0, 3, MPI_DOUBLE));
    OK(lapwing_window_flush_all(window));
    memset(many, 0, sizeof many);
    OK(lapwing_window_get_mpi(window, many, 3, MPI_DOUBLE, next, 2048, 3, MPI_DOUBLE));
    CHECK(many[0] == 1000 * rank && many[1] == 1000 * rank + 2 && many[2] == 1000 * rank + 4);
    OK(lapwing_window_start_get_mpi(window, many, 3, MPI_DOUBLE, next, 2200, 1, vector, &completion));
    OK(lapwing_completion_wait(&completion));
    CHECK(many[0] == 1000 * rank && many[1] == 1000 * rank + 1 && many[2] == 1000 * rank + 2);
    MPI_Type_free(&vector);

    OK(lapwing_window_prefetch(window, next, 0, 64));
    FAILS(LAPWING_ERR_RANGE, "prefetch", lapwing_window_prefetch(window, next, 4090, 64));
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_window_flush(window, -1));
    OK(lapwing_window_release(window));
    OK(lapwing_window_acquire(window));
    OK(lapwing_window_fence(window));
    OK(lapwing_window_statistics(window, &statistics));
    OK(lapwing_window_total_statistics(window, &total));
    CHECK(total.rma_puts + total.service_puts >= statistics.rma_puts + statistics.service_puts);
}

static void atomics(lapwing_window* window) {
    const int32_t one = 1, five = 5;
    const double half = 0.5;
    int32_t before = -1;
    double sum = -1;
    int64_t wide[3] = {1, 2, 3};
    int64_t expected = 0, results[3];
    uint64_t places[3] = {3000, 3008, 3000};
    lapwing_completion* completion = NULL;
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_fetch(window, LAPWING_ADD, LAPWING_INT32, 0, 64, &one, &before, LAPWING_ORDER_RELAXED));
    CHECK(before >= 0 && before < 2 * size);
    OK(lapwing_window_fetch(window, LAPWING_ADD, LAPWING_INT32, 0, 64, &one, NULL, LAPWING_ORDER_ACQ_REL));
    OK(lapwing_window_update(window, LAPWING_ADD, LAPWING_DOUBLE, 0, 72, &half));
    OK(lapwing_window_update(window, LAPWING_MAX, LAPWING_INT32, 0, 80, &five));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_fetch(window, LAPWING_READ, LAPWING_INT32, 0, 64, NULL, &before, LAPWING_ORDER_ACQUIRE));
    CHECK(before == 2 * size);
    OK(lapwing_window_fetch(window, LAPWING_READ, LAPWING_DOUBLE, 0, 72, NULL, &sum, LAPWING_ORDER_RELAXED));
    CHECK(sum == 0.5 * size);
    OK(lapwing_window_fetch(window, LAPWING_READ, LAPWING_INT32, 0, 80, NULL, &before, LAPWING_ORDER_RELAXED));
    CHECK(before == 5);
    OK(lapwing_runtime_barrier(runtime));
    /* each rank by itself at its neighbour */
    OK(lapwing_window_fetch(window, LAPWING_REPLACE, LAPWING_INT32, next, 96, &five, &before, LAPWING_ORDER_SEQ_CST));
    CHECK(before == 0);
    OK(lapwing_window_fetch(window, LAPWING_OR, LAPWING_INT32, next, 96, &one, &before, LAPWING_ORDER_RELEASE));
    CHECK(before == 5);
    OK(lapwing_window_fetch(window, LAPWING_XOR, LAPWING_INT32, next, 96, &one, &before, LAPWING_ORDER_RELAXED));
    CHECK(before == 5);
    OK(lapwing_window_fetch(window, LAPWING_AND, LAPWING_INT32, next, 96, &five, &before, LAPWING_ORDER_RELAXED));
    CHECK(before == 4);
    OK(lapwing_window_fetch(window, LAPWING_MIN, LAPWING_INT32, next, 96, &one, &before, LAPWING_ORDER_RELAXED));
    CHECK(before == 4);
    OK(lapwing_window_fetch(window, LAPWING_MAX, LAPWING_INT32, next, 96, &five, &before, LAPWING_ORDER_RELAXED));
    CHECK(before == 1);
    OK(lapwing_window_compare_swap(window, LAPWING_INT32, next, 96, &one, &one, &before, LAPWING_ORDER_RELAXED));
    CHECK(before == 5);
    OK(lapwing_window_compare_swap(window, LAPWING_INT32, next, 96, &five, &one, NULL, LAPWING_ORDER_RELAXED));
    OK(lapwing_window_fetch(window, LAPWING_READ, LAPWING_INT32, next, 96, NULL, &before, LAPWING_ORDER_RELAXED));
    CHECK(before == 1);
    OK(lapwing_window_update(window, LAPWING_OR, LAPWING_INT32, next, 96, &five));
    OK(lapwing_window_update(window, LAPWING_XOR, LAPWING_INT32, next, 96, &one));
    OK(lapwing_window_update(window, LAPWING_AND, LAPWING_INT32, next, 96, &five));
    OK(lapwing_window_update(window, LAPWING_MIN, LAPWING_INT32, next, 96, &one));
    OK(lapwing_window_flush(window, next));
    OK(lapwing_window_fetch(window, LAPWING_READ, LAPWING_INT32, next, 96, NULL, &before, LAPWING_ORDER_RELAXED));
    CHECK(before == 1);
    FAILS(LAPWING_ERR_USAGE, "double",
          lapwing_window_fetch(window, LAPWING_OR, LAPWING_DOUBLE, next, 96, &half, NULL, LAPWING_ORDER_RELAXED));
    FAILS(LAPWING_ERR_USAGE, "3 bytes",
          lapwing_window_fetch(window, LAPWING_READ, LAPWING_BYTES(3), next, 96, &half, NULL, LAPWING_ORDER_RELAXED));
    FAILS(LAPWING_ERR_RANGE, "'operation' is 8",
          lapwing_window_fetch(window, 8, LAPWING_INT32, next, 96, &one, NULL, LAPWING_ORDER_RELAXED));
    FAILS(LAPWING_ERR_RANGE, "'operation' is 6",
          lapwing_window_update(window, LAPWING_REPLACE, LAPWING_INT32, next, 96, &one));
    FAILS(LAPWING_ERR_RANGE, "'order' is 5",
          lapwing_window_fetch(window, LAPWING_ADD, LAPWING_INT32, next, 96, &one, NULL, 5));
    FAILS(LAPWING_ERR_RANGE, "97",
          lapwing_window_fetch(window, LAPWING_ADD, LAPWING_INT32, next, 97, &one, NULL, LAPWING_ORDER_RELAXED));
    FAILS(LAPWING_ERR_USAGE, "'operand'", lapwing_window_update(window, LAPWING_ADD, LAPWING_INT32, next, 96, NULL));
    FAILS(LAPWING_ERR_USAGE, "'desired'",
          lapwing_window_compare_swap(window, LAPWING_INT32, next, 96, &one, NULL, NULL, LAPWING_ORDER_RELAXED));

    OK(lapwing_window_fetch_list(window, LAPWING_ADD, LAPWING_INT64, next, 3, places, wide, 0, results));
    CHECK(results[0] == 0 && results[1] == 0 && results[2] == 1);
    OK(lapwing_window_start_fetch_list(window, LAPWING_ADD, LAPWING_INT64, next, 3, places, wide, 1, results,
                                       &completion));
    OK(lapwing_completion_wait(&completion));
    CHECK(results[0] == 4 && results[1] == 2 && results[2] == 5);
    OK(lapwing_window_fetch_list(window, LAPWING_READ, LAPWING_INT64, next, 3, places, NULL, 0, results));
    CHECK(results[0] == 6 && results[1] == 3);
    OK(lapwing_window_fetch_list(window, LAPWING_ADD, LAPWING_INT64, next, 2, places, wide, 1, NULL));
    expected = 7;
    OK(lapwing_window_compare_swap_list(window, LAPWING_INT64, next, 2, places, &expected, 1, wide, 0, results));
    CHECK(results[0] == 7 && results[1] == 4);
    OK(lapwing_window_start_compare_swap_list(window, LAPWING_INT64, next, 2, places, wide, 1, &expected, 1, results,
                                              &completion));
    OK(lapwing_completion_wait(&completion));
    CHECK(results[0] == 1 && results[1] == 4);
    FAILS(LAPWING_ERR_USAGE, "'offsets'",
          lapwing_window_fetch_list(window, LAPWING_ADD, LAPWING_INT64, next, 2, NULL, wide, 1, NULL));
    FAILS(LAPWING_ERR_USAGE, "'expected'",
          lapwing_window_compare_swap_list(window, LAPWING_INT64, next, 2, places, NULL, 1, wide, 0, results));
    FAILS(LAPWING_ERR_RANGE, "rank",
          lapwing_window_fetch_list(window, LAPWING_ADD, LAPWING_INT64, size, 2, places, wide, 1, NULL));
    places[0] = 4096;
    FAILS(LAPWING_ERR_RANGE, "4096",
          lapwing_window_fetch_list(window, LAPWING_ADD, LAPWING_INT64, next, 2, places, wide, 1, NULL));
    OK(lapwing_runtime_barrier(runtime));
}

static void notifications(lapwing_window* window) {
    const double value = 3.5 + rank;
    double got = 0;
    uint64_t count = 99;
    lapwing_layout* dense;
    OK(lapwing_window_put_notify(window, next, 3500, &value, sizeof value, 2));
    OK(lapwing_window_wait_notified(window, 2, 1));
    OK(lapwing_window_get(window, rank, 3500, &got, sizeof got));
    CHECK(got == 3.5 + previous);
    OK(lapwing_window_notified(window, 2, &count));
    CHECK(count == 0);
    OK(lapwing_layout_create_contiguous(8, 0, &dense));
    OK(lapwing_window_put_notify_layout(window, next, 3508, dense, &value, dense, 3));
    OK(lapwing_window_wait_notified(window, 3, 1));
    OK(lapwing_window_get(window, rank, 3508, &got, sizeof got));
    CHECK(got == 3.5 + previous);
    OK(lapwing_layout_free(&dense));
    FAILS(LAPWING_ERR_RANGE, "16", lapwing_window_put_notify(window, next, 3500, &value, sizeof value, 16));
    FAILS(LAPWING_ERR_RANGE, "16", lapwing_window_wait_notified(window, 16, 1));
    FAILS(LAPWING_ERR_RANGE, "16", lapwing_window_notified(window, 16, &count));
    OK(lapwing_runtime_barrier(runtime));
}

static void locks(lapwing_window* window) {
    lapwing_lock* lock = NULL;
    int64_t counter = -1;
    int flag = -1;
    int k;
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_lock_create(runtime, size, &lock));
    OK(lapwing_lock_create(runtime, 0, &lock));
    for (k = 0; k < 20; ++k) {
        OK(lapwing_lock_lock(lock));
        OK(lapwing_window_get(window, 0, 3600, &counter, sizeof counter));
        ++counter;
        OK(lapwing_window_put(window, 0, 3600, &counter, sizeof counter));
        OK(lapwing_lock_unlock(lock));
    }
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_get(window, 0, 3600, &counter, sizeof counter));
    CHECK(counter == 20 * size);
    OK(lapwing_runtime_barrier(runtime));
    for (flag = 0; !flag;) {
        OK(lapwing_lock_try(lock, &flag));
        if (!flag) OK(lapwing_runtime_progress(runtime, NULL));
    }
    OK(lapwing_lock_held(lock, &flag));
    CHECK(flag == 1);
    FAILS(LAPWING_ERR_USAGE, "hold", lapwing_lock_lock(lock));
    OK(lapwing_lock_unlock(lock));
    FAILS(LAPWING_ERR_USAGE, "hold", lapwing_lock_unlock(lock));
    OK(lapwing_lock_held(lock, &flag));
    CHECK(flag == 0);
    OK(lapwing_lock_free(&lock));
    OK(lapwing_lock_free(&lock));
    FAILS(LAPWING_ERR_USAGE, "the lock is a null pointer", lapwing_lock_lock(lock));
}

static void adopted(void) {
    MPI_Win mpi_window;
    double* memory = NULL;
    double value = 8 + rank;
    lapwing_window* window = NULL;
    int network = -1;
    FAILS(LAPWING_ERR_USAGE, "MPI_WIN_NULL", lapwing_window_adopt(runtime, MPI_WIN_NULL, 0, NULL, &window));
    OK(lapwing_runtime_network_path(runtime, &network));
    if (network == LAPWING_PATH_SERVICE) return; /* where MPI's windows may not work */
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &mpi_window);
    memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    OK(lapwing_window_adopt(runtime, mpi_window, 0, NULL, &window));
    OK(lapwing_window_put_mpi(window, &value, 1, MPI_DOUBLE, next, 1, 1, MPI_DOUBLE));
    OK(lapwing_runtime_barrier(runtime));
    value = 0;
    OK(lapwing_window_get(window, rank, 8, &value, sizeof value));
    CHECK(value == 8 + previous);
    OK(lapwing_window_free(&window));
    MPI_Win_free(&mpi_window);
}

static void left(void) {
    lapwing_runtime* own = NULL;
    lapwing_window* window = NULL;
    lapwing_lock* lock = NULL;
    OK(lapwing_runtime_create(MPI_COMM_SELF, NULL, &own));
    OK(lapwing_window_create(own, 64, NULL, &window));
    OK(lapwing_lock_create(own, 0, &lock));
    FAILS(LAPWING_ERR_USAGE, "leave them before it", lapwing_runtime_leave(&own));
    OK(lapwing_window_leave(&window));
    CHECK(window == NULL);
    FAILS(LAPWING_ERR_USAGE, "1 windows, arrays or locks", lapwing_runtime_leave(&own));
    OK(lapwing_lock_leave(&lock));
    CHECK(lock == NULL);
    OK(lapwing_lock_leave(&lock));
    OK(lapwing_runtime_leave(&own));
}

/* Its own calls are refused. */
static int ask(void* context) {
    FAILS(LAPWING_ERR_USAGE, "must not call Lapwing", lapwing_runtime_barrier(runtime));
    return ++*(int*)context == 3;
}

/* A wait for what nobody will do. */
static void interrupted(void) {
    lapwing_runtime* own = NULL;
    lapwing_window* window = NULL;
    int asked = 0;
    OK(lapwing_runtime_create(MPI_COMM_SELF, NULL, &own));
    OK(lapwing_window_create(own, 64, NULL, &window));
    OK(lapwing_wait_set_hook(ask, &asked));
    FAILS(LAPWING_ERR_INTERRUPTED, "Window::wait_notified", lapwing_window_wait_notified(window, 0, 1));
    CHECK(asked == 3 && strcmp(lapwing_error_name(lapwing_error_code()), "LAPWING_ERR_INTERRUPTED") == 0);
    OK(lapwing_wait_set_hook(NULL, NULL));
    FAILS(LAPWING_ERR_INTERRUPTED, "wait hook", lapwing_runtime_barrier(own));
    OK(lapwing_window_leave(&window));
    OK(lapwing_runtime_leave(&own));
}

int main(void) {
    lapwing_window* window = NULL;
    lapwing_window* copy;
    start_job();
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    layouts();
    creation();
    OK(lapwing_window_create(runtime, 4096, NULL, &window));
    transfers(window);
    atomics(window);
    notifications(window);
    locks(window);
    copy = window;
    OK(lapwing_window_free(&window));
    FAILS(LAPWING_ERR_USAGE, "the window was freed", lapwing_window_flush_all(copy));
    adopted();
    left();
    interrupted();
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
