/* Atomics of 1 to 16 bytes, on windows and on elements of arrays: numbers, complex numbers, and bytes. */
#include "job.h"

#include <stdint.h>

enum { RELAXED = LAPWING_ORDER_RELAXED };

/* Of integers, in the middle of a part whose other bytes keep their values: each rank adds at rank 0, then works alone
   on its neighbour. */
#define TEST_INTEGER(name, ctype, code)                                                                              \
    static void test_##name(lapwing_window* window) {                                                                \
        const int next = (rank + 1) % size;                                                                          \
        const uint64_t bytes = sizeof(ctype), place = 3 * bytes;                                                     \
        const ctype one = 1, five = 5, six = 6, low = (ctype) - 3, ones = (ctype) - 1;                               \
        ctype before = 77, guard = 0;                                                                                \
        OK(lapwing_window_fetch(window, LAPWING_ADD, code, 0, place, &one, &before, RELAXED));                       \
        CHECK(before < (ctype)(2 * size));                                                                           \
        OK(lapwing_window_update(window, LAPWING_ADD, code, 0, place, &one));                                        \
        OK(lapwing_runtime_barrier(runtime));                                                                        \
        OK(lapwing_window_fetch(window, LAPWING_READ, code, 0, place, NULL, &before, LAPWING_ORDER_ACQUIRE));        \
        CHECK(before == (ctype)(2 * size));                                                                          \
        OK(lapwing_runtime_barrier(runtime));                                                                        \
        OK(lapwing_window_fetch(window, LAPWING_REPLACE, code, next, place, &five, NULL, RELAXED));                  \
        OK(lapwing_window_fetch(window, LAPWING_AND, code, next, place, &six, &before, RELAXED));                    \
        CHECK(before == 5);                                                                                          \
        OK(lapwing_window_fetch(window, LAPWING_OR, code, next, place, &one, &before, RELAXED));                     \
        CHECK(before == 4);                                                                                          \
        OK(lapwing_window_update(window, LAPWING_XOR, code, next, place, &six)); /* 3 */                             \
        OK(lapwing_window_flush(window, next));                                                                      \
        OK(lapwing_window_fetch(window, LAPWING_MIN, code, next, place, &low, &before, RELAXED));                    \
        CHECK(before == 3);                                                                                          \
        OK(lapwing_window_fetch(window, LAPWING_MAX, code, next, place, &one, &before, RELAXED));                    \
        CHECK(before == (low < 3 ? low : 3));                                                                        \
        OK(lapwing_window_fetch(window, LAPWING_REPLACE, code, next, place, &ones, &before, RELAXED));               \
        CHECK(before == (low < 3 ? 1 : 3));                                                                          \
        OK(lapwing_window_fetch(window, LAPWING_ADD, code, next, place, &one, NULL, RELAXED)); /* carries nowhere */ \
        OK(lapwing_window_compare_swap(window, code, next, place, &five, &six, &before, RELAXED));                   \
        CHECK(before == 0);                                                                                          \
        OK(lapwing_window_compare_swap(window, code, next, place, &before, &six, NULL, LAPWING_ORDER_ACQ_REL));      \
        OK(lapwing_window_get(window, next, place, &before, bytes));                                                 \
        CHECK(before == 6);                                                                                          \
        OK(lapwing_window_get(window, next, place - bytes, &guard, bytes));                                          \
        CHECK(guard == 0);                                                                                           \
        OK(lapwing_window_get(window, next, place + bytes, &guard, bytes));                                          \
        CHECK(guard == 0);                                                                                           \
        before = 77;                                                                                                 \
        FAILS(LAPWING_ERR_RANGE, "rank",                                                                             \
              lapwing_window_fetch(window, LAPWING_ADD, code, size, place, &one, &before, RELAXED));                 \
        FAILS(LAPWING_ERR_RANGE, "64",                                                                               \
              lapwing_window_fetch(window, LAPWING_ADD, code, next, 64, &one, &before, RELAXED));                    \
        FAILS(LAPWING_ERR_RANGE, "64",                                                                               \
              lapwing_window_compare_swap(window, code, next, 64, &one, &one, &before, RELAXED));                    \
        FAILS(LAPWING_ERR_USAGE, "'operand'",                                                                        \
              lapwing_window_fetch(window, LAPWING_ADD, code, next, place, NULL, &before, RELAXED));                 \
        FAILS(LAPWING_ERR_RANGE, "'operation' is 6",                                                                 \
              lapwing_window_update(window, LAPWING_REPLACE, code, next, place, &one));                              \
        if (bytes > 1)                                                                                               \
            FAILS(LAPWING_ERR_RANGE, "multiple",                                                                     \
                  lapwing_window_fetch(window, LAPWING_ADD, code, next, place + 1, &one, &before, RELAXED));         \
        CHECK(before == 77);                                                                                         \
        OK(lapwing_runtime_barrier(runtime));                                                                        \
        guard = 0;                                                                                                   \
        OK(lapwing_window_fetch(window, LAPWING_REPLACE, code, rank, place, &guard, NULL, RELAXED));                 \
        OK(lapwing_runtime_barrier(runtime));                                                                        \
    }                                                                                                                \
    /* An array whose parts have an odd number of elements. */                                                       \
    static void test_array_##name(void) {                                                                            \
        const int64_t length = 3 * size, last = length - 1, beside = length - 2, outside = length;                   \
        const ctype one = 1, three = 3;                                                                              \
        ctype before = 77;                                                                                           \
        lapwing_array* a = NULL;                                                                                     \
        OK(lapwing_array_create(runtime, code, 1, &length, NULL, NULL, &a));                                         \
        OK(lapwing_array_fetch(a, LAPWING_ADD, &last, &one, NULL, RELAXED));                                         \
        OK(lapwing_array_update(a, LAPWING_ADD, &last, &three));                                                     \
        OK(lapwing_array_barrier(a));                                                                                \
        OK(lapwing_array_fetch(a, LAPWING_READ, &last, NULL, &before, RELAXED));                                     \
        CHECK(before == (ctype)(4 * size));                                                                          \
        OK(lapwing_array_get_element(a, &beside, &before));                                                          \
        CHECK(before == 0);                                                                                          \
        OK(lapwing_array_compare_swap(a, &last, &one, &three, &before, RELAXED));                                    \
        CHECK(before == (ctype)(4 * size));                                                                          \
        FAILS(LAPWING_ERR_RANGE, "index", lapwing_array_fetch(a, LAPWING_ADD, &outside, &one, &before, RELAXED));    \
        OK(lapwing_array_barrier(a));                                                                                \
        OK(lapwing_array_free(&a));                                                                                  \
    }
TEST_INTEGER(int8, int8_t, LAPWING_INT8)
TEST_INTEGER(int16, int16_t, LAPWING_INT16)
TEST_INTEGER(int32, int32_t, LAPWING_INT32)
TEST_INTEGER(int64, int64_t, LAPWING_INT64)
TEST_INTEGER(uint8, uint8_t, LAPWING_UINT8)
TEST_INTEGER(uint16, uint16_t, LAPWING_UINT16)
TEST_INTEGER(uint32, uint32_t, LAPWING_UINT32)
TEST_INTEGER(uint64, uint64_t, LAPWING_UINT64)

/* Both parts at once. */
#define TEST_COMPLEX(name, ctype, code)                                                                              \
    static void test_##name(lapwing_window* window) {                                                                \
        const ctype _Complex step = COMPLEX(ctype, 1, -2), twice = COMPLEX(ctype, 2, -4);                            \
        const ctype _Complex all = COMPLEX(ctype, 3 * (ctype)size, -6 * (ctype)size), none = 0;                      \
        ctype _Complex before = 77;                                                                                  \
        lapwing_array* a = NULL;                                                                                     \
        const int64_t length = 2, last = 1;                                                                          \
        OK(lapwing_window_fetch(window, LAPWING_ADD, code, 0, 16, &step, &before, RELAXED));                         \
        OK(lapwing_window_update(window, LAPWING_ADD, code, 0, 16, &twice));                                         \
        OK(lapwing_runtime_barrier(runtime));                                                                        \
        OK(lapwing_window_fetch(window, LAPWING_READ, code, 0, 16, NULL, &before, RELAXED));                         \
        CHECK(before == all);                                                                                        \
        OK(lapwing_runtime_barrier(runtime));                                                                        \
        if (rank == 0) {                                                                                             \
            OK(lapwing_window_compare_swap(window, code, 0, 16, &step, &twice, &before, RELAXED));                   \
            CHECK(before == all);                                                                                    \
            OK(lapwing_window_compare_swap(window, code, 0, 16, &all, &twice, NULL, RELAXED));                       \
            OK(lapwing_window_fetch(window, LAPWING_REPLACE, code, 0, 16, &none, &before, RELAXED));                 \
            CHECK(before == twice);                                                                                  \
        }                                                                                                            \
        FAILS(LAPWING_ERR_USAGE, #ctype " complex",                                                                  \
              lapwing_window_fetch(window, LAPWING_MIN, code, 0, 16, &step, &before, RELAXED));                      \
        FAILS(LAPWING_ERR_USAGE, #ctype " complex", lapwing_window_update(window, LAPWING_MAX, code, 0, 16, &step)); \
        FAILS(LAPWING_ERR_USAGE, #ctype " complex",                                                                  \
              lapwing_window_fetch(window, LAPWING_OR, code, 0, 16, &step, &before, RELAXED));                       \
        OK(lapwing_array_create(runtime, code, 1, &length, NULL, NULL, &a));                                         \
        OK(lapwing_array_update(a, LAPWING_ADD, &last, &step));                                                      \
        OK(lapwing_array_barrier(a));                                                                                \
        OK(lapwing_array_fetch(a, LAPWING_READ, &last, NULL, &before, RELAXED));                                     \
        CHECK(before == COMPLEX(ctype, (ctype)size, -2 * (ctype)size));                                              \
        OK(lapwing_array_barrier(a));                                                                                \
        OK(lapwing_array_free(&a));                                                                                  \
    }
TEST_COMPLEX(float, float, LAPWING_FLOAT_COMPLEX)
TEST_COMPLEX(double, double, LAPWING_DOUBLE_COMPLEX)

/* Every rank counts one up in the first byte, and one down in the last, of a value that is bytes. */
static void test_bytes(lapwing_window* window, uint64_t bytes) {
    unsigned char seen[16] = {0}, next[16], found[16], zero[16] = {0};
    const lapwing_type type = LAPWING_BYTES(bytes);
    for (;;) {
        memcpy(next, seen, sizeof next);
        ++next[0];
        --next[bytes - 1];
        if (bytes == 1) ++next[0];
        OK(lapwing_window_compare_swap(window, type, 0, 32, seen, next, found, RELAXED));
        if (memcmp(found, seen, bytes) == 0) break;
        memcpy(seen, found, bytes);
    }
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_fetch(window, LAPWING_READ, type, 0, 32, NULL, found, RELAXED));
    CHECK(found[0] == size && (bytes == 1 || found[bytes - 1] == 256 - size));
    OK(lapwing_runtime_barrier(runtime));
    if (rank == 0) {
        OK(lapwing_window_fetch(window, LAPWING_REPLACE, type, 0, 32, zero, found, RELAXED));
        CHECK(found[0] == size);
    }
    FAILS(LAPWING_ERR_USAGE, "bytes", lapwing_window_fetch(window, LAPWING_ADD, type, 0, 32, zero, found, RELAXED));
    FAILS(LAPWING_ERR_USAGE, "bytes", lapwing_window_fetch(window, LAPWING_MAX, type, 0, 32, zero, found, RELAXED));
    FAILS(LAPWING_ERR_USAGE, "bytes", lapwing_window_update(window, LAPWING_XOR, type, 0, 32, zero));
    OK(lapwing_runtime_barrier(runtime));
}

/* Each rank offers values that the others have too: of equal ones the lowest index stays. */
static void test_located(lapwing_window* window) {
    const int64_t length = 2, first = 0, last = 1;
    const lapwing_located_double start = {1e300, -1}, low = {-2.5, 100 + rank}, lower = {-2.5, 7 + rank};
    const lapwing_located_int64 own = {40 + rank, rank}, equal = {40 + size - 1, -5};
    const lapwing_located_uint64 huge = {UINT64_C(1) << 63, rank}, none = {0, 0};
    lapwing_located_double before = {0, 0};
    lapwing_located_int64 found = {0, 0};
    lapwing_located_uint64 largest = {0, 0};
    const char* name = NULL;
    lapwing_array* a = NULL;
    if (rank == 0)
        OK(lapwing_window_fetch(window, LAPWING_REPLACE, LAPWING_LOCATED_DOUBLE, 0, 8, &start, NULL, RELAXED));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_update(window, LAPWING_MIN, LAPWING_LOCATED_DOUBLE, 0, 8, &low));
    OK(lapwing_window_fetch(window, LAPWING_MIN, LAPWING_LOCATED_DOUBLE, 0, 8, &lower, &before, RELAXED));
    CHECK(before.value == -2.5 && before.index >= 7);
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_fetch(window, LAPWING_READ, LAPWING_LOCATED_DOUBLE, 0, 8, NULL, &before, RELAXED));
    CHECK(before.value == -2.5 && before.index == 7);
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_update(window, LAPWING_MAX, LAPWING_LOCATED_UINT64, 0, 32, &huge));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_get(window, 0, 32, &largest, sizeof largest));
    CHECK(largest.value == UINT64_C(1) << 63 && largest.index == 0);
    OK(lapwing_runtime_barrier(runtime));
    if (rank == 0) { /* for the tests after this one */
        OK(lapwing_window_fetch(window, LAPWING_REPLACE, LAPWING_LOCATED_UINT64, 0, 8, &none, NULL, RELAXED));
        OK(lapwing_window_fetch(window, LAPWING_REPLACE, LAPWING_LOCATED_UINT64, 0, 32, &none, NULL, RELAXED));
    }
    OK(lapwing_array_create(runtime, LAPWING_LOCATED_INT64, 1, &length, NULL, NULL, &a));
    OK(lapwing_array_update(a, LAPWING_MAX, &last, &own));
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_get_element(a, &last, &found));
    CHECK(found.value == 40 + size - 1 && found.index == size - 1);
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_fetch(a, LAPWING_MAX, &last, &equal, &found, RELAXED));
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_get_element(a, &last, &found));
    CHECK(found.index == -5);
    FAILS(LAPWING_ERR_USAGE, "located int64", lapwing_array_update(a, LAPWING_ADD, &first, &own));
    FAILS(LAPWING_ERR_USAGE, "located int64", lapwing_array_fetch(a, LAPWING_OR, &first, &own, NULL, RELAXED));
    FAILS(LAPWING_ERR_USAGE, "located int64", lapwing_array_min(a, &found, NULL));
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_free(&a));
    OK(lapwing_type_name(LAPWING_LOCATED_DOUBLE, &name));
    CHECK(strcmp(name, "located double") == 0 && lapwing_type_size(LAPWING_LOCATED_UINT64) == 16);
    CHECK(lapwing_type_kind(LAPWING_LOCATED_DOUBLE) == LAPWING_KIND_LOCATED_FLOAT &&
          lapwing_type_kind(LAPWING_TYPE_(LAPWING_KIND_LOCATED_SIGNED, 8)) == 0 &&
          lapwing_type_kind(LAPWING_TYPE_(9, 16)) == 0);
}

static void test_wrong(lapwing_window* window) {
    const uint64_t places[2] = {0, 8};
    const lapwing_type others[5] = {LAPWING_INT8, LAPWING_UINT16, LAPWING_FLOAT_COMPLEX, LAPWING_BYTES(16),
                                    LAPWING_LOCATED_DOUBLE};
    const char* const names[5] = {"int8", "uint16", "float complex", "16 bytes", "located double"};
    unsigned char values[32] = {0}, before[32];
    lapwing_window* small = NULL;
    int k;
    FAILS(LAPWING_ERR_USAGE, "3 bytes",
          lapwing_window_fetch(window, LAPWING_READ, LAPWING_BYTES(3), 0, 0, NULL, before, RELAXED));
    FAILS(LAPWING_ERR_USAGE, "24 bytes",
          lapwing_window_compare_swap(window, LAPWING_BYTES(24), 0, 0, values, values, before, RELAXED));
    FAILS(LAPWING_ERR_RANGE, "is not a type",
          lapwing_window_fetch(window, LAPWING_READ, 12, 0, 0, NULL, before, RELAXED));
    FAILS(LAPWING_ERR_USAGE, "float",
          lapwing_window_fetch(window, LAPWING_OR, LAPWING_FLOAT, 0, 0, values, before, RELAXED));
    FAILS(LAPWING_ERR_RANGE, "64",
          lapwing_window_fetch(window, LAPWING_READ, LAPWING_BYTES(16), 0, 56, NULL, before, RELAXED));
    /* Lists are of fewer types. */
    for (k = 0; k < 5; ++k) {
        FAILS(LAPWING_ERR_USAGE, "single values",
              lapwing_window_fetch_list(window, LAPWING_READ, others[k], 0, 2, places, NULL, 1, before));
        CHECK(strstr(lapwing_error_text(), names[k]) != NULL);
        FAILS(LAPWING_ERR_USAGE, "single values",
              lapwing_window_compare_swap_list(window, others[k], 0, 2, places, values, 1, values, 1, before));
    }
    /* The last two bytes have no four around them. */
    OK(lapwing_window_create(runtime, 6, NULL, &small));
    OK(lapwing_window_fetch(small, LAPWING_ADD, LAPWING_INT8, rank, 3, values, before, RELAXED));
    FAILS(LAPWING_ERR_RANGE, "multiple of 4",
          lapwing_window_fetch(small, LAPWING_ADD, LAPWING_INT8, rank, 4, values, before, RELAXED));
    OK(lapwing_window_free(&small));
}

int main(void) {
    const uint64_t sizes[5] = {1, 2, 4, 8, 16};
    lapwing_window* window = NULL;
    int k;
    start_job();
    OK(lapwing_window_create(runtime, 64, NULL, &window));
    test_int8(window);
    test_int16(window);
    test_int32(window);
    test_int64(window);
    test_uint8(window);
    test_uint16(window);
    test_uint32(window);
    test_uint64(window);
    test_array_int8();
    test_array_int16();
    test_array_int32();
    test_array_int64();
    test_array_uint8();
    test_array_uint16();
    test_array_uint32();
    test_array_uint64();
    test_float(window);
    test_double(window);
    for (k = 0; k < 5; ++k) test_bytes(window, sizes[k]);
    test_located(window);
    test_wrong(window);
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_free(&window));
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
