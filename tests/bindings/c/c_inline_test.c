/* The inline functions for elements: of each type and number of dimensions, near and far. */
#include "job.h"

#include <stdint.h>

static const int64_t lower[3] = {-2, 1, 5};
static const int64_t extents[3] = {6, 5, 4};

static lapwing_array* make(lapwing_type type, int dimensions, int kind) {
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_distribution distribution;
    lapwing_array* a = NULL;
    memset(&distribution, 0, sizeof distribution);
    distribution.kind = kind;
    options.lower = lower;
    OK(lapwing_array_create(runtime, type, dimensions, extents, &distribution, &options, &a));
    return a;
}

/* Whether this rank writes an element: its own with even first indices, and the others of the rank before it. */
static int writes(const lapwing_array* a, const int64_t* index) {
    int owner = -1;
    OK(lapwing_array_owner(a, index, &owner));
    return (index[0] % 2 == 0 ? owner : (owner + 1) % size) == rank;
}

/* Everything that is written once, and read by all: by the inline function, by the general one and by address. */
#define TEST_DIMENSIONS(name, ctype, code, n, kind, PLACE, VALUE)                                 \
    do {                                                                                          \
        lapwing_array* a = make(code, n, kind);                                                   \
        const lapwing_array* reads = a;                                                           \
        int64_t i, j, k;                                                                          \
        ctype value = 0, same = 0;                                                                \
        for (i = lower[0]; i < lower[0] + extents[0]; ++i)                                        \
            for (j = lower[1]; j < lower[1] + (n > 1 ? extents[1] : 1); ++j)                      \
                for (k = lower[2]; k < lower[2] + (n > 2 ? extents[2] : 1); ++k) {                \
                    const int64_t index[3] = {i, j, k};                                           \
                    if (kind == LAPWING_REPLICATED ? rank == (i + 2) % size : writes(a, index))   \
                        OK(lapwing_array_put_##name##_##n PLACE((ctype)(VALUE)));                 \
                }                                                                                 \
        OK(lapwing_array_barrier(a));                                                             \
        for (i = lower[0]; i < lower[0] + extents[0]; ++i)                                        \
            for (j = lower[1]; j < lower[1] + (n > 1 ? extents[1] : 1); ++j)                      \
                for (k = lower[2]; k < lower[2] + (n > 2 ? extents[2] : 1); ++k) {                \
                    const int64_t index[3] = {i, j, k};                                           \
                    value = same = 0;                                                             \
                    OK(lapwing_array_get_##name##_##n READS_##n(&value));                         \
                    OK(lapwing_array_get_element(reads, index, &same));                           \
                    CHECK(value == (ctype)(VALUE) && same == value);                              \
                    if (lapwing_array_address_##n ADDRESS_##n != NULL)                            \
                        CHECK(*(const ctype*)lapwing_array_address_##n ADDRESS_##n == value);     \
                }                                                                                 \
        i = lower[0], j = lower[1], k = lower[2];                                                 \
        LAST_##n = lower[n - 1] + extents[n - 1];                                                 \
        value = 77;                                                                               \
        FAILS(LAPWING_ERR_RANGE, "is outside", lapwing_array_get_##name##_##n READS_##n(&value)); \
        FAILS(LAPWING_ERR_RANGE, "is outside", lapwing_array_put_##name##_##n PLACE(value));      \
        LAST_##n = lower[n - 1] - 1;                                                              \
        FAILS(LAPWING_ERR_RANGE, "is outside", lapwing_array_get_##name##_##n READS_##n(&value)); \
        CHECK(value == 77 && lapwing_array_address_##n ADDRESS_##n == NULL);                      \
        OK(lapwing_array_barrier(a));                                                             \
        OK(lapwing_array_free(&a));                                                               \
    } while (0)
#define PLACE_1(value) (a, i, value)
#define PLACE_2(value) (a, i, j, value)
#define PLACE_3(value) (a, i, j, k, value)
#define READS_1(value) (reads, i, value)
#define READS_2(value) (reads, i, j, value)
#define READS_3(value) (reads, i, j, k, value)
#define ADDRESS_1 (reads, i)
#define ADDRESS_2 (reads, i, j)
#define ADDRESS_3 (reads, i, j, k)
#define LAST_1 i
#define LAST_2 j
#define LAST_3 k

/* A function of each type, since the arrays of different types have different functions. */
#define TEST_TYPE(name, ctype, code)                                                                           \
    static void test_##name(int kind) {                                                                        \
        TEST_DIMENSIONS(name, ctype, code, 1, kind, PLACE_1, 100 * i + 7);                                     \
        TEST_DIMENSIONS(name, ctype, code, 2, kind, PLACE_2, 100 * i + 10 * j + 7);                            \
        TEST_DIMENSIONS(name, ctype, code, 3, kind, PLACE_3, 100 * i + 10 * j + k);                            \
    }                                                                                                          \
    /* An array of another type, and of another number of dimensions. */                                       \
    static void test_other_##name(lapwing_array* other, lapwing_array* four) {                                 \
        ctype value = 3;                                                                                       \
        FAILS(LAPWING_ERR_USAGE, "and the call is for", lapwing_array_get_##name##_1(other, 0, &value));       \
        FAILS(LAPWING_ERR_USAGE, "and the call is for", lapwing_array_put_##name##_2(other, 0, 1, value));     \
        FAILS(LAPWING_ERR_USAGE, "and the call is for", lapwing_array_put_##name##_1(other, 0, value));        \
        FAILS(LAPWING_ERR_USAGE, "and the call is for", lapwing_array_get_##name##_2(other, 0, 1, &value));    \
        FAILS(LAPWING_ERR_USAGE, "and the call is for", lapwing_array_get_##name##_3(other, 0, 1, 5, &value)); \
        FAILS(LAPWING_ERR_USAGE, "and the call is for", lapwing_array_put_##name##_3(other, 0, 1, 5, value));  \
        FAILS(LAPWING_ERR_USAGE, "and the call is for", lapwing_array_put_##name##_3(four, 0, 0, 0, value));   \
        CHECK(value == 3);                                                                                     \
    }
TEST_TYPE(int32, int32_t, LAPWING_INT32)
TEST_TYPE(int64, int64_t, LAPWING_INT64)
TEST_TYPE(float, float, LAPWING_FLOAT)
TEST_TYPE(double, double, LAPWING_DOUBLE)
TEST_TYPE(int8, int8_t, LAPWING_INT8)
TEST_TYPE(int16, int16_t, LAPWING_INT16)
TEST_TYPE(uint8, uint8_t, LAPWING_UINT8)
TEST_TYPE(uint16, uint16_t, LAPWING_UINT16)
TEST_TYPE(uint32, uint32_t, LAPWING_UINT32)
TEST_TYPE(uint64, uint64_t, LAPWING_UINT64)
TEST_TYPE(float_complex, float _Complex, LAPWING_FLOAT_COMPLEX)
TEST_TYPE(double_complex, double _Complex, LAPWING_DOUBLE_COMPLEX)

#define TYPES 12
static const struct {
    lapwing_type type, other; /* of the same size */
    void (*test)(int kind);
    void (*test_other)(lapwing_array* other, lapwing_array* four);
} tests[TYPES] = {{LAPWING_INT32, LAPWING_UINT32, test_int32, test_other_int32},
                  {LAPWING_INT64, LAPWING_UINT64, test_int64, test_other_int64},
                  {LAPWING_FLOAT, LAPWING_UINT32, test_float, test_other_float},
                  {LAPWING_DOUBLE, LAPWING_UINT64, test_double, test_other_double},
                  {LAPWING_INT8, LAPWING_UINT8, test_int8, test_other_int8},
                  {LAPWING_INT16, LAPWING_UINT16, test_int16, test_other_int16},
                  {LAPWING_UINT8, LAPWING_INT8, test_uint8, test_other_uint8},
                  {LAPWING_UINT16, LAPWING_INT16, test_uint16, test_other_uint16},
                  {LAPWING_UINT32, LAPWING_FLOAT, test_uint32, test_other_uint32},
                  {LAPWING_UINT64, LAPWING_DOUBLE, test_uint64, test_other_uint64},
                  {LAPWING_FLOAT_COMPLEX, LAPWING_DOUBLE, test_float_complex, test_other_float_complex},
                  {LAPWING_DOUBLE_COMPLEX, LAPWING_BYTES(16), test_double_complex, test_other_double_complex}};

int main(void) {
    const int kinds[3] = {LAPWING_BLOCK, LAPWING_CYCLIC, LAPWING_REPLICATED};
    const int64_t four_extents[4] = {2, 2, 2, 2};
    lapwing_array *other, *four = NULL;
    int k, t;
    start_job();
    for (t = 0; t < TYPES; ++t) {
        for (k = 0; k < 3; ++k) tests[t].test(kinds[k]);
        other = make(tests[t].other, 2, LAPWING_BLOCK);
        OK(lapwing_array_create(runtime, tests[t].type, 4, four_extents, NULL, NULL, &four));
        tests[t].test_other(other, four);
        CHECK(lapwing_array_address_3(four, 0, 0, 0) == NULL);
        OK(lapwing_array_free(&other));
        OK(lapwing_array_free(&four));
    }
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
