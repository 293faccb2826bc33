/* Functions at the owner by name, their results and failures, and aggregators. */
#include "job.h"

#include <stdint.h>

typedef struct Word {
    int64_t count;
    double weight;
    int32_t last;
} Word;
enum { length = 40, many = 2000 };

static int64_t counter = 0; /* of this rank; changed by functions on the progress side alone */
static int64_t for_program = 0;

/* Their context is this rank's counter. */
static int count(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                 uint64_t* result_bytes) {
    (void)element;
    if (argument_bytes != sizeof(int64_t)) return lapwing_function_fail("count() takes an int64_t");
    *(int64_t*)context += *(const int64_t*)argument;
    if (*result_bytes >= sizeof(int64_t)) *(int64_t*)result = *(int64_t*)context;
    return 0;
}
/* The argument backwards: a result of varying length. */
static int backwards(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                     uint64_t* result_bytes) {
    const char* const text = argument;
    uint64_t k;
    (void)context, (void)element;
    if (argument_bytes > *result_bytes) return lapwing_function_fail("there is no room");
    for (k = 0; k < argument_bytes; ++k) ((char*)result)[k] = text[argument_bytes - 1 - k];
    *result_bytes = argument_bytes;
    return 0;
}
/* Keeps the largest value and returns what was there before. */
static int largest(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                   uint64_t* result_bytes) {
    int64_t* const here = element;
    const int64_t value = *(const int64_t*)argument;
    (void)context, (void)argument_bytes;
    if (value < 0) return lapwing_function_fail("negative numbers are not kept");
    memcpy(result, here, sizeof *here); /* also where no result is asked for: there is room */
    (void)result_bytes;
    if (value > *here) *here = value;
    return 0;
}
static int change_word(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                       uint64_t* result_bytes) {
    Word* const word = element;
    (void)context, (void)result, (void)result_bytes;
    if (argument_bytes != 3) return 5; /* without a text */
    word->count += ((const char*)argument)[0];
    word->weight += 0.5;
    word->last = ((const char*)argument)[2];
    return 0;
}
/* Waits, which only functions for the program may. */
static int waits(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                 uint64_t* result_bytes) {
    lapwing_array* const array = *(lapwing_array**)context;
    const int64_t index = *(const int64_t*)argument;
    int64_t value = 0;
    int code;
    (void)element, (void)argument_bytes, (void)result_bytes;
    code = lapwing_array_gather(array, 1, &index, &value);
    if (code == LAPWING_SUCCESS) code = lapwing_runtime_acquire(runtime);
    if (code != LAPWING_SUCCESS) return code; /* with its text */
    ++for_program;
    memcpy(result, &value, sizeof value);
    return 0;
}
static int collective(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                      uint64_t* result_bytes) {
    (void)context, (void)element, (void)argument, (void)argument_bytes, (void)result, (void)result_bytes;
    return lapwing_runtime_barrier(runtime);
}
/* Goes on round the ranks. */
static int hop(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
               uint64_t* result_bytes) {
    const int64_t left = *(const int64_t*)argument - 1;
    (void)context, (void)element, (void)argument_bytes, (void)result, (void)result_bytes;
    ++counter;
    if (left == 0) return 0;
    return lapwing_runtime_post(runtime, LAPWING_WHERE_PROGRESS, (rank + 1) % size, "hop", &left, sizeof left);
}
static int too_long(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                    uint64_t* result_bytes) {
    (void)context, (void)element, (void)argument, (void)argument_bytes, (void)result;
    ++*result_bytes;
    return 0;
}

static lapwing_array* waited = NULL;

static uint64_t sum_of_bytes = 0; /* of what has been posted here; only progress changes it */
static int add_bytes(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                     uint64_t* result_bytes) {
    uint64_t k;
    (void)context, (void)element, (void)result, (void)result_bytes;
    for (k = 0; k < argument_bytes; ++k) sum_of_bytes += ((const unsigned char*)argument)[k];
    return 0;
}

static void test_register(void) {
    OK(lapwing_function_register("count", count, &counter));
    OK(lapwing_function_register("count", count, &counter)); /* again */
    OK(lapwing_function_register("add bytes", add_bytes, NULL));
    OK(lapwing_function_register("backwards", backwards, NULL));
    OK(lapwing_function_register("largest", largest, NULL));
    OK(lapwing_function_register("change word", change_word, NULL));
    OK(lapwing_function_register("waits", waits, &waited));
    OK(lapwing_function_register("collective", collective, NULL));
    OK(lapwing_function_register("hop", hop, NULL));
    OK(lapwing_function_register("too long", too_long, NULL));
    FAILS(LAPWING_ERR_USAGE, "\"count\" belongs to another function",
          lapwing_function_register("count", backwards, &counter));
    FAILS(LAPWING_ERR_USAGE, "\"count\" is registered already, with another context",
          lapwing_function_register("count", count, NULL));
    FAILS(LAPWING_ERR_USAGE, "'name' is a null pointer", lapwing_function_register(NULL, count, NULL));
    FAILS(LAPWING_ERR_USAGE, "'function' is a null pointer", lapwing_function_register("none", NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "empty", lapwing_function_register("", count, NULL));
    FAILS(LAPWING_ERR_FUNCTION, "because", lapwing_function_fail("because"));
}

static void test_calls(void) {
    const int next = (rank + 1) % size;
    int64_t one = 1, result = 77, sum = 0;
    char text[8] = "zzzzzzz";
    uint64_t bytes = 99;
    int ready = 0, k;
    lapwing_future *future = NULL, *dropped = NULL, *pending[20];

    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRESS, next, "count", &one, sizeof one, &result, sizeof result));
    CHECK(result == 1);
    OK(lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRESS, next, "count", &one, sizeof one, NULL, 0));
    OK(lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRESS, next, "backwards", "abc", 3, text, 7));
    CHECK(strcmp(text, "cba") == 0); /* zeros behind it */

    OK(lapwing_runtime_start_call(runtime, LAPWING_WHERE_PROGRESS, next, "backwards", "abcde", 5, 8, &future));
    while (!ready) OK(lapwing_future_ready(future, &ready));
    FAILS(LAPWING_ERR_RANGE, "'room' is 4", lapwing_future_get(&future, text, 4, &bytes));
    CHECK(future != NULL && bytes == 99);
    OK(lapwing_future_get(&future, text, 7, &bytes));
    CHECK(future == NULL && bytes == 5 && memcmp(text, "edcba", 5) == 0);
    FAILS(LAPWING_ERR_USAGE, "null pointer", lapwing_future_get(&future, text, 7, &bytes));
    FAILS(LAPWING_ERR_USAGE, "null pointer", lapwing_future_ready(future, &ready));
    FAILS(LAPWING_ERR_USAGE, "'future'", lapwing_future_free(NULL));
    OK(lapwing_future_free(&future));
    OK(lapwing_runtime_start_call(runtime, LAPWING_WHERE_PROGRESS, next, "count", &one, sizeof one, 8, &dropped));
    OK(lapwing_future_free(&dropped));
    CHECK(dropped == NULL);
    for (k = 0; k < 20; ++k)
        OK(lapwing_runtime_start_call(runtime, LAPWING_WHERE_PROGRESS, next, "count", &one, sizeof one, 8,
                                      &pending[k]));
    for (k = 20; k-- > 0;) {
        OK(lapwing_future_get(&pending[k], &result, sizeof result, NULL));
        CHECK(result == 4 + k);
    }

    for (k = 0; k < many; ++k)
        OK(lapwing_runtime_post(runtime, LAPWING_WHERE_PROGRESS, next, "count", &one, sizeof one));
    OK(lapwing_runtime_barrier(runtime));
    CHECK(counter == 23 + many);
    sum = counter;
    OK(lapwing_runtime_sum(runtime, LAPWING_INT64, &sum, 1));
    CHECK(sum == size * (23 + many));
    OK(lapwing_runtime_barrier(runtime));
    counter = 0;
    OK(lapwing_runtime_barrier(runtime));
}

static void test_failures(void) {
    enum { where = LAPWING_WHERE_PROGRESS };
    const int next = (rank + 1) % size;
    static char large[2000000];
    int64_t one = 1, result = 0;
    lapwing_future* future = NULL;

    FAILS(LAPWING_ERR_FUNCTION, "count() takes an int64_t",
          lapwing_runtime_call(runtime, where, next, "count", &one, 4, &result, sizeof result));
    FAILS(LAPWING_ERR_FUNCTION, "\"count\" at rank",
          lapwing_runtime_call(runtime, where, next, "count", &one, 4, &result, sizeof result));
    FAILS(LAPWING_ERR_FUNCTION, "\"change word\" returned 5",
          lapwing_runtime_call(runtime, where, next, "change word", NULL, 0, NULL, 0));
    FAILS(LAPWING_ERR_FUNCTION, "8 are asked for",
          lapwing_runtime_call(runtime, where, next, "too long", NULL, 0, &result, sizeof result));
    FAILS(LAPWING_ERR_FUNCTION, "barrier", lapwing_runtime_call(runtime, where, next, "collective", NULL, 0, NULL, 0));
    FAILS(LAPWING_ERR_FUNCTION, "barrier",
          lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRAM, next, "collective", NULL, 0, NULL, 0));
    OK(lapwing_runtime_start_call(runtime, where, next, "backwards", "abc", 3, 2, &future));
    FAILS(LAPWING_ERR_FUNCTION, "there is no room", lapwing_future_get(&future, &result, sizeof result, NULL));
    CHECK(future == NULL);

    OK(lapwing_runtime_post(runtime, where, next, "count", &one, 4));
    OK(lapwing_runtime_post(runtime, where, next, "count", &one, 4));
    FAILS(LAPWING_ERR_FUNCTION, "2 of the functions", lapwing_runtime_release(runtime));
    OK(lapwing_runtime_release(runtime));
    OK(lapwing_runtime_post(runtime, where, next, "count", &one, 4));
    FAILS(LAPWING_ERR_FUNCTION, "takes an int64_t", lapwing_runtime_quiesce(runtime));

    FAILS(LAPWING_ERR_USAGE, "no function \"unheard of\"",
          lapwing_runtime_call(runtime, where, next, "unheard of", NULL, 0, NULL, 0));
    FAILS(LAPWING_ERR_USAGE, "no function \"unheard of\"",
          lapwing_runtime_start_call(runtime, where, next, "unheard of", NULL, 0, 0, &future));
    FAILS(LAPWING_ERR_USAGE, "'name'", lapwing_runtime_post(runtime, where, next, NULL, NULL, 0));
    FAILS(LAPWING_ERR_RANGE, "'rank' is", lapwing_runtime_post(runtime, where, size, "count", &one, sizeof one));
    FAILS(LAPWING_ERR_RANGE, "'where' is 2", lapwing_runtime_post(runtime, 2, next, "count", &one, sizeof one));
    FAILS(LAPWING_ERR_USAGE, "'argument'", lapwing_runtime_post(runtime, where, next, "count", NULL, 8));
    FAILS(LAPWING_ERR_RANGE, "fit into a", lapwing_runtime_post(runtime, where, next, "count", large, sizeof large));
    FAILS(LAPWING_ERR_USAGE, "'result'",
          lapwing_runtime_call(runtime, where, next, "count", &one, sizeof one, NULL, sizeof one));
    OK(lapwing_runtime_barrier(runtime));
}

/* A rank that knows less than the others. */
static int lonely(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                  uint64_t* result_bytes) {
    (void)context, (void)element, (void)argument, (void)argument_bytes, (void)result, (void)result_bytes;
    return 0;
}
static void test_unknown_there(void) {
    if (rank == 0) OK(lapwing_function_register("lonely", lonely, NULL));
    OK(lapwing_runtime_barrier(runtime));
    if (rank == 0 && size > 1) {
        FAILS(LAPWING_ERR_FUNCTION, "here it is \"lonely\"",
              lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRESS, 1, "lonely", NULL, 0, NULL, 0));
        FAILS(LAPWING_ERR_FUNCTION, "rank 1 of",
              lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRAM, 1, "lonely", NULL, 0, NULL, 0));
        OK(lapwing_runtime_post(runtime, LAPWING_WHERE_PROGRESS, 1, "lonely", NULL, 0));
        FAILS(LAPWING_ERR_FUNCTION, "must be registered there", lapwing_runtime_release(runtime));
        OK(lapwing_runtime_release(runtime));
    }
    OK(lapwing_runtime_barrier(runtime));
}

static void test_elements(void) {
    const int64_t extent = length, outside = length;
    int64_t indices[length + 1], values[length], before[length], k, negative = -1, value = 0;
    lapwing_array* a = NULL;
    lapwing_future* future = NULL;
    OK(lapwing_array_create(runtime, LAPWING_INT64, 1, &extent, NULL, NULL, &a));
    for (k = 0; k < length; ++k) indices[k] = (7 * k) % length, values[k] = 1 + k;
    for (k = 0; k < length; ++k) OK(lapwing_array_post(a, &indices[k], "largest", &values[k], sizeof *values));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_array_gather(a, length, indices, before));
    for (k = 0; k < length; ++k) CHECK(before[k] == values[k]);
    OK(lapwing_runtime_barrier(runtime));

    OK(lapwing_array_apply(a, &indices[3], "largest", &values[2], sizeof *values, &value, sizeof value));
    CHECK(value == values[3]);
    OK(lapwing_array_start_apply(a, &indices[4], "largest", &values[2], sizeof *values, sizeof value, &future));
    OK(lapwing_future_get(&future, &value, sizeof value, NULL));
    CHECK(value == values[4]);
    OK(lapwing_array_apply_list(a, length, indices, "largest", values, sizeof *values, 0, before, sizeof *before));
    for (k = 0; k < length; ++k) CHECK(before[k] == values[k]);
    OK(lapwing_runtime_barrier(runtime));
    value = 5;
    OK(lapwing_array_post_list(a, length, indices, "largest", &value, sizeof value, 1));
    OK(lapwing_array_post_list(a, 0, NULL, "largest", NULL, sizeof value, 0));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_array_gather(a, length, indices, before));
    for (k = 0; k < length; ++k) CHECK(before[k] == (values[k] > 5 ? values[k] : 5));

    FAILS(LAPWING_ERR_FUNCTION, "negative", lapwing_array_apply(a, indices, "largest", &negative, 8, &value, 8));
    FAILS(LAPWING_ERR_FUNCTION, "negative",
          lapwing_array_apply_list(a, length, indices, "largest", &negative, 8, 1, before, 8));
    OK(lapwing_array_post_list(a, length, indices, "largest", &negative, 8, 1));
    FAILS(LAPWING_ERR_FUNCTION, "negative", lapwing_runtime_release(runtime));
    indices[5] = outside;
    FAILS(LAPWING_ERR_RANGE, "40", lapwing_array_post(a, &outside, "largest", values, 8));
    FAILS(LAPWING_ERR_RANGE, "40", lapwing_array_start_apply(a, &outside, "largest", values, 8, 8, &future));
    FAILS(LAPWING_ERR_RANGE, "40", lapwing_array_post_list(a, length, indices, "largest", values, 8, 0));
    FAILS(LAPWING_ERR_USAGE, "'results'", lapwing_array_apply_list(a, 1, indices, "largest", values, 8, 0, NULL, 8));
    FAILS(LAPWING_ERR_USAGE, "'indices'", lapwing_array_post_list(a, 1, NULL, "largest", values, 8, 0));
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_free(&a));
}

/* Elements of 24 bytes, in two dimensions. */
static void test_structures(void) {
    const int64_t extents[2] = {6, 5};
    int64_t indices[30][2], k;
    Word words[30], added = {40, 2.5, 7};
    lapwing_array* a = NULL;
    lapwing_aggregator* aggregator = NULL;
    OK(lapwing_array_create(runtime, LAPWING_BYTES(sizeof(Word)), 2, extents, NULL, NULL, &a));
    for (k = 0; k < 30; ++k) indices[k][0] = k / 5, indices[k][1] = k % 5;
    OK(lapwing_array_post_list(a, 30, indices[0], "change word", "\1xy", 3, 1));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_aggregator_create(runtime, &aggregator));
    OK(lapwing_aggregator_get_list(aggregator, a, 30, indices[0], words));
    OK(lapwing_aggregator_flush(aggregator));
    for (k = 0; k < 30; ++k) CHECK(words[k].count == size && words[k].weight == 0.5 * size && words[k].last == 'y');
    OK(lapwing_runtime_barrier(runtime));
    if (rank == 0) OK(lapwing_aggregator_put_list(aggregator, a, 30, indices[0], &added, 1));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_aggregator_get(aggregator, a, indices[17], words));
    OK(lapwing_aggregator_flush(aggregator));
    CHECK(words[0].count == 40 && words[0].weight == 2.5 && words[0].last == 7);
    FAILS(LAPWING_ERR_USAGE, "bytes", lapwing_aggregator_add(aggregator, a, indices[0], words));
    FAILS(LAPWING_ERR_USAGE, "bytes", lapwing_aggregator_add_list(aggregator, a, 1, indices[0], words, 0));
    OK(lapwing_aggregator_free(&aggregator));
    CHECK(aggregator == NULL);
    OK(lapwing_array_free(&a));
}

#define TEST_SUMS(name, ctype, code)                                                                        \
    static void test_sums_##name(lapwing_aggregator* aggregator) {                                          \
        const int64_t extent = length, outside = length;                                                    \
        int64_t indices[length], k;                                                                         \
        ctype one = 1, got[length], written = 3;                                                            \
        lapwing_array* a = NULL;                                                                            \
        OK(lapwing_array_create(runtime, code, 1, &extent, NULL, NULL, &a));                                \
        for (k = 0; k < length; ++k) indices[k] = (11 * k) % length;                                        \
        for (k = 0; k < length; ++k) OK(lapwing_aggregator_add(aggregator, a, &indices[k], &one));          \
        OK(lapwing_aggregator_add_list(aggregator, a, length, indices, &one, 1));                           \
        OK(lapwing_runtime_barrier(runtime)); /* is a flush, too */                                         \
        for (k = 0; k < length; ++k) OK(lapwing_aggregator_get(aggregator, a, &indices[k], &got[k]));       \
        OK(lapwing_aggregator_flush(aggregator));                                                           \
        for (k = 0; k < length; ++k) CHECK(got[k] == (ctype)(2 * size));                                    \
        OK(lapwing_runtime_barrier(runtime));                                                               \
        for (k = rank; k < length; k += size) OK(lapwing_aggregator_put(aggregator, a, &k, &written));      \
        OK(lapwing_runtime_barrier(runtime));                                                               \
        OK(lapwing_aggregator_get_list(aggregator, a, length, indices, got));                               \
        OK(lapwing_aggregator_flush(aggregator));                                                           \
        for (k = 0; k < length; ++k) CHECK(got[k] == written);                                              \
        FAILS(LAPWING_ERR_RANGE, "40", lapwing_aggregator_get(aggregator, a, &outside, got));               \
        FAILS(LAPWING_ERR_RANGE, "40", lapwing_aggregator_put(aggregator, a, &outside, got));               \
        FAILS(LAPWING_ERR_USAGE, "'value'", lapwing_aggregator_add(aggregator, a, indices, NULL));          \
        FAILS(LAPWING_ERR_USAGE, "'values'", lapwing_aggregator_get_list(aggregator, a, 2, indices, NULL)); \
        FAILS(LAPWING_ERR_USAGE, "'indices'", lapwing_aggregator_put_list(aggregator, a, 2, NULL, got, 0)); \
        OK(lapwing_runtime_barrier(runtime));                                                               \
        OK(lapwing_array_free(&a));                                                                         \
    }
TEST_SUMS(int8, int8_t, LAPWING_INT8)
TEST_SUMS(int32, int32_t, LAPWING_INT32)
TEST_SUMS(uint64, uint64_t, LAPWING_UINT64)
TEST_SUMS(float, float, LAPWING_FLOAT)
TEST_SUMS(double, double, LAPWING_DOUBLE)
TEST_SUMS(complex, double _Complex, LAPWING_DOUBLE_COMPLEX)

/* Posts of one function whose arguments differ in length, also from one rank to the next. */
static void test_lengths(lapwing_aggregator* aggregator) {
    unsigned char bytes[300];
    uint64_t k;
    uint64_t expected = 0;
    memset(bytes, 1, sizeof bytes);
    OK(lapwing_runtime_barrier(runtime));
    for (k = 0; k < 3000; ++k)
        OK(lapwing_aggregator_post(aggregator, (int)(k % (uint64_t)size), "add bytes", bytes,
                                   (k * 37 + (uint64_t)rank * 8) % sizeof bytes));
    for (k = 0; k < 3000; ++k) {
        int from;
        if (k % (uint64_t)size != (uint64_t)rank) continue;
        for (from = 0; from < size; ++from) expected += (k * 37 + (uint64_t)from * 8) % sizeof bytes;
    }
    OK(lapwing_runtime_barrier(runtime));
    CHECK(sum_of_bytes == expected);
}

static void test_aggregator(void) {
    const int64_t extent = length;
    int64_t one = 1;
    double x = 0;
    int k;
    lapwing_aggregator *aggregator = NULL, *others = NULL;
    lapwing_runtime* other = NULL;
    lapwing_array* copies = NULL;
    lapwing_distribution replicated;
    memset(&replicated, 0, sizeof replicated);
    replicated.kind = LAPWING_REPLICATED;
    OK(lapwing_aggregator_create(runtime, &aggregator));
    test_sums_int8(aggregator);
    test_sums_int32(aggregator);
    test_sums_uint64(aggregator);
    test_sums_float(aggregator);
    test_sums_double(aggregator);
    test_sums_complex(aggregator);
    for (k = 0; k < many; ++k) OK(lapwing_aggregator_post(aggregator, (rank + k) % size, "count", &one, sizeof one));
    OK(lapwing_runtime_barrier(runtime));
    CHECK(counter == many);
    OK(lapwing_runtime_barrier(runtime));
    test_lengths(aggregator);
    OK(lapwing_aggregator_post(aggregator, rank, "count", &one, 4));
    FAILS(LAPWING_ERR_FUNCTION, "takes an int64_t", lapwing_runtime_release(runtime));
    FAILS(LAPWING_ERR_RANGE, "'rank'", lapwing_aggregator_post(aggregator, -1, "count", &one, sizeof one));
    FAILS(LAPWING_ERR_USAGE, "no function", lapwing_aggregator_post(aggregator, 0, "unheard of", &one, sizeof one));
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 1, &extent, &replicated, NULL, &copies));
    FAILS(LAPWING_ERR_USAGE, "replicated", lapwing_aggregator_get(aggregator, copies, &one, &x));
    FAILS(LAPWING_ERR_USAGE, "replicated", lapwing_array_post(copies, &one, "largest", &one, 8));
    OK(lapwing_runtime_create(MPI_COMM_WORLD, NULL, &other));
    OK(lapwing_aggregator_create(other, &others));
    FAILS(LAPWING_ERR_USAGE, "another runtime", lapwing_aggregator_get(others, copies, &one, &x));
    FAILS(LAPWING_ERR_USAGE, "open", lapwing_runtime_free(&other));
    OK(lapwing_aggregator_free(&others));
    OK(lapwing_runtime_free(&other));
    OK(lapwing_array_free(&copies));
    OK(lapwing_aggregator_free(&aggregator));
    OK(lapwing_aggregator_free(&aggregator));
    FAILS(LAPWING_ERR_USAGE, "'aggregator'", lapwing_aggregator_free(NULL));
    FAILS(LAPWING_ERR_USAGE, "'aggregator'", lapwing_aggregator_create(runtime, NULL));
    FAILS(LAPWING_ERR_USAGE, "null pointer", lapwing_aggregator_flush(aggregator));
    OK(lapwing_runtime_barrier(runtime));
    counter = 0;
    OK(lapwing_runtime_barrier(runtime));
}

static void test_program(void) {
    const int64_t extent = length;
    int64_t index = 0, value = 0;
    OK(lapwing_array_create(runtime, LAPWING_INT64, 1, &extent, NULL, NULL, &waited));
    value = 42;
    if (rank == 0) OK(lapwing_array_put_element(waited, &index, &value));
    OK(lapwing_runtime_barrier(runtime));
    value = 0;
    OK(lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRAM, size - 1, "waits", &index, sizeof index, &value, 8));
    CHECK(value == 42);
    OK(lapwing_runtime_post(runtime, LAPWING_WHERE_PROGRAM, size - 1, "waits", &index, sizeof index));
    OK(lapwing_runtime_barrier(runtime));
    CHECK(rank != size - 1 || for_program == 2 * size);
    index = length; /* not there: the text of the library's own error travels back */
    FAILS(LAPWING_ERR_FUNCTION, "lapwing_array_gather",
          lapwing_runtime_call(runtime, LAPWING_WHERE_PROGRAM, size - 1, "waits", &index, sizeof index, &value, 8));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_array_free(&waited));
}

static void test_quiesce(void) {
    const int64_t hops = 10 * size;
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_runtime_post(runtime, LAPWING_WHERE_PROGRESS, (rank + 1) % size, "hop", &hops, sizeof hops));
    OK(lapwing_runtime_quiesce(runtime));
    CHECK(counter == hops);
    FAILS(LAPWING_ERR_USAGE, "null pointer", lapwing_runtime_quiesce(NULL));
    OK(lapwing_runtime_barrier(runtime));
}

int main(void) {
    test_register();
    start_job();
    test_calls();
    test_failures();
    test_unknown_there();
    test_elements();
    test_structures();
    test_aggregator();
    test_program();
    test_quiesce();
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
