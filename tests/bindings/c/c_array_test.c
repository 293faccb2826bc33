/* Global arrays: elements, patches, lists, parts, collective calls. */
#include "dealt_rows.h"
#include "job.h"

#include <stdint.h>

static double value_at(int64_t i, int64_t j) { return (double)(100 * i + j); }

/* Writes value_at() to the local elements, by what the array says of them. */
static void fill_own(lapwing_array* a) {
    uint64_t count = 0, k;
    lapwing_range own[2];
    OK(lapwing_array_domain_count(a, rank, &count));
    for (k = 0; k < count; ++k) {
        uint64_t x, y;
        OK(lapwing_array_domain(a, rank, k, own));
        for (x = 0; x < own[0].size; ++x)
            for (y = 0; y < own[1].size; ++y) {
                const int64_t i = own[0].first + (int64_t)x * own[0].stride;
                const int64_t j = own[1].first + (int64_t)y * own[1].stride;
                int local = -1;
                const int64_t index[2] = {i, j};
                OK(lapwing_array_is_local(a, index, &local));
                CHECK(local == 1);
                OK(lapwing_array_put_double_2(a, i, j, value_at(i, j)));
            }
    }
    OK(lapwing_array_barrier(a));
}

/* Every element, by each way to read it. */
static void read_all(lapwing_array* a, int64_t first_i, int64_t n, int64_t first_j, int64_t m) {
    const lapwing_range all[2] = {{first_i, (uint64_t)n, 1}, {first_j, (uint64_t)m, 1}};
    const lapwing_range some[2] = {{first_i + 1, (uint64_t)(n - 1) / 2, 2}, {first_j, (uint64_t)(m + 2) / 3, 3}};
    const int64_t strides[2] = {m + 3, 1};
    double* buffer = malloc((size_t)(n * (m + 3)) * sizeof *buffer);
    int64_t* indices = malloc((size_t)(2 * n) * sizeof *indices);
    lapwing_completion* completion = NULL;
    int64_t i, j;
    size_t k = 0;
    for (i = first_i; i < first_i + n; ++i)
        for (j = first_j; j < first_j + m; ++j) {
            const int64_t index[2] = {i, j};
            double x = -1, y = -1;
            const double* near = lapwing_array_address_2(a, i, j);
            OK(lapwing_array_get_double_2(a, i, j, &x));
            OK(lapwing_array_get_element(a, index, &y));
            CHECK(x == value_at(i, j) && y == x);
            if (near != NULL) CHECK(*near == x);
        }
    OK(lapwing_array_get(a, all, buffer, NULL));
    for (i = 0; i < n; ++i)
        for (j = 0; j < m; ++j) CHECK(buffer[i * m + j] == value_at(first_i + i, first_j + j));
    OK(lapwing_array_start_get(a, some, buffer, NULL, &completion));
    OK(lapwing_completion_wait(&completion));
    for (i = 0; i < (int64_t)some[0].size; ++i)
        for (j = 0; j < (int64_t)some[1].size; ++j)
            CHECK(buffer[k++] == value_at(first_i + 1 + 2 * i, first_j + 3 * j));
    for (i = 0; i < n * (m + 3); ++i) buffer[i] = -7;
    OK(lapwing_array_get(a, all, buffer, strides));
    for (i = 0; i < n; ++i)
        for (j = 0; j < m + 3; ++j) CHECK(buffer[i * (m + 3) + j] == (j < m ? value_at(first_i + i, first_j + j) : -7));
    for (i = 0; i < n; ++i) {
        indices[2 * i] = first_i + n - 1 - i;
        indices[2 * i + 1] = first_j + i % m;
    }
    OK(lapwing_array_gather(a, (size_t)n, indices, buffer));
    for (i = 0; i < n; ++i) CHECK(buffer[i] == value_at(indices[2 * i], indices[2 * i + 1]));
    OK(lapwing_array_start_gather(a, (size_t)n, indices, buffer, &completion));
    OK(lapwing_completion_wait(&completion));
    CHECK(buffer[n - 1] == value_at(first_i, first_j + (n - 1) % m));
    free(buffer);
    free(indices);
}

static void distributions(void) {
    const int64_t extents[2] = {11, 9};
    const int64_t lower[2] = {-3, 1};
    const int64_t block[2] = {2, 3};
    const int rows[2] = {0, 1};
    lapwing_distribution each[6];
    int k, bounds;
    memset(each, 0, sizeof each);
    each[1].grid = rows;
    each[2].kind = LAPWING_CYCLIC;
    each[3].kind = LAPWING_BLOCK_CYCLIC;
    each[3].block = block;
    each[4].kind = LAPWING_REPLICATED;
    each[5].kind = LAPWING_OWN_DISTRIBUTION;
    each[5].functions = &dealt_rows;
    for (k = 0; k < 6; ++k)
        for (bounds = 0; bounds < 2; ++bounds) {
            lapwing_array_options options = lapwing_array_options_default();
            lapwing_array* a = NULL;
            lapwing_array* b = NULL;
            const int64_t first_i = bounds ? -3 : 0, first_j = bounds ? 1 : 0;
            double sum = -1, most = -1, expected = 0, x;
            int64_t at[2] = {99, 99}, i, j;
            const lapwing_range patch[2] = {{first_i + 1, 5, 2}, {first_j + 2, 4, 1}};
            double buffer[20];
            options.name = "a";
            options.lower = bounds ? lower : NULL;
            OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &each[k], &options, &a));
            fill_own(a);
            read_all(a, first_i, 11, first_j, 9);
            for (i = first_i; i < first_i + 11; ++i)
                for (j = first_j; j < first_j + 9; ++j) expected += value_at(i, j);
            OK(lapwing_array_sum(a, &sum));
            CHECK(sum == expected);
            OK(lapwing_array_max(a, &most, at));
            CHECK(most == value_at(first_i + 10, first_j + 8) && at[0] == first_i + 10 && at[1] == first_j + 8);
            OK(lapwing_array_min(a, &most, at));
            CHECK(most == value_at(first_i, first_j) && at[0] == first_i && at[1] == first_j);
            OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &each[(k + 2) % 6], &options, &b));
            OK(lapwing_array_copy(b, a));
            read_all(b, first_i, 11, first_j, 9);
            OK(lapwing_array_barrier(a));
            /* one rank writes a patch, and a list over it */
            if (rank == size - 1) {
                const int64_t list[4] = {first_i + 10, first_j, first_i, first_j + 8};
                const double values[2] = {-1, -2};
                lapwing_completion* completion = NULL;
                for (i = 0; i < 20; ++i) buffer[i] = -10 - (double)i;
                OK(lapwing_array_put(b, patch, buffer, NULL));
                OK(lapwing_array_start_put(b, patch, buffer, NULL, &completion));
                OK(lapwing_completion_wait(&completion));
                OK(lapwing_array_scatter(b, 2, list, values));
                OK(lapwing_array_start_scatter(b, 2, list, values, &completion));
                OK(lapwing_completion_wait(&completion));
                OK(lapwing_array_put_element(b, list, values));
            }
            OK(lapwing_array_barrier(b));
            OK(lapwing_array_get_double_2(b, first_i + 3, first_j + 3, &x));
            CHECK(x == -15);
            OK(lapwing_array_get_double_2(b, first_i + 10, first_j, &x));
            CHECK(x == -1);
            OK(lapwing_array_get_double_2(b, first_i, first_j + 8, &x));
            CHECK(x == -2);
            OK(lapwing_array_get_double_2(b, first_i + 2, first_j + 3, &x));
            CHECK(x == value_at(first_i + 2, first_j + 3));
            OK(lapwing_array_barrier(b));
            /* and back, by another distribution of the same array */
            OK(lapwing_array_copy(b, a));
            OK(lapwing_array_redistribute(b, &each[(k + 3) % 6]));
            read_all(b, first_i, 11, first_j, 9);
            OK(lapwing_array_free(&b));
            OK(lapwing_array_free(&a));
        }
}

static void resized(void) {
    int64_t extents[2] = {6, 5};
    lapwing_array* a = NULL;
    lapwing_window *window = NULL, *same = NULL;
    int64_t now[2];
    double x = -1;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, NULL, &a));
    fill_own(a);
    OK(lapwing_array_window(a, &window));
    OK(lapwing_array_window(a, &same));
    CHECK(window == same);
    FAILS(LAPWING_ERR_USAGE, "belongs to an array", lapwing_window_free(&same));
    OK(lapwing_window_flush_all(window));
    extents[0] = 9;
    extents[1] = 4;
    OK(lapwing_array_resize(a, extents));
    FAILS(LAPWING_ERR_USAGE, "the window was freed", lapwing_window_flush_all(window));
    OK(lapwing_array_shape(a, NULL, NULL, now, NULL));
    CHECK(now[0] == 9 && now[1] == 4);
    OK(lapwing_array_get_double_2(a, 5, 3, &x));
    CHECK(x == value_at(5, 3));
    OK(lapwing_array_get_double_2(a, 8, 3, &x));
    CHECK(x == 0);
    FAILS(LAPWING_ERR_RANGE, "index 4 of dimension 1 of (5, 4) is outside [0, 4)",
          lapwing_array_get_double_2(a, 5, 4, &x));
    extents[0] = -1;
    FAILS(LAPWING_ERR_RANGE, "-1", lapwing_array_resize(a, extents));
    FAILS(LAPWING_ERR_USAGE, "'extents'", lapwing_array_resize(a, NULL));
    OK(lapwing_array_free(&a));
}

struct particle {
    double x[2];
    int32_t kind;
    char name[4];
};

static void any_type(void) {
    /* three dimensions of structures, and one of odd bytes */
    const int64_t extents[3] = {3, 4, 5};
    const int64_t length[1] = {23};
    lapwing_array *a = NULL, *b = NULL;
    int64_t i, j, k;
    struct particle p;
    unsigned char odd[5];
    OK(lapwing_array_create(runtime, LAPWING_BYTES(sizeof(struct particle)), 3, extents, NULL, NULL, &a));
    OK(lapwing_array_create(runtime, LAPWING_BYTES(5), 1, length, NULL, NULL, &b));
    memset(&p, 0, sizeof p);
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 4; ++j)
            for (k = 0; k < 5; ++k) {
                const int64_t index[3] = {i, j, k};
                int owner = -1;
                OK(lapwing_array_owner(a, index, &owner));
                if ((owner + 1) % size != rank) continue; /* written by a neighbour */
                p.x[0] = (double)i;
                p.x[1] = (double)j;
                p.kind = (int32_t)k;
                OK(lapwing_array_put_element(a, index, &p));
            }
    for (i = rank; i < 23; i += size) {
        memset(odd, (int)i, sizeof odd);
        OK(lapwing_array_put_element(b, &i, odd));
    }
    OK(lapwing_runtime_barrier(runtime));
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 4; ++j)
            for (k = 0; k < 5; ++k) {
                const int64_t index[3] = {i, j, k};
                const struct particle* near = lapwing_array_address_3(a, i, j, k);
                OK(lapwing_array_get_element(a, index, &p));
                CHECK(p.x[0] == (double)i && p.x[1] == (double)j && p.kind == k);
                if (near != NULL) CHECK(near->kind == k);
            }
    for (i = 0; i < 23; ++i) {
        OK(lapwing_array_get_element(b, &i, odd));
        CHECK(odd[0] == i && odd[4] == i);
    }
    FAILS(LAPWING_ERR_USAGE, "5 bytes", lapwing_array_sum(b, &p));
    FAILS(LAPWING_ERR_USAGE, "elements of type 24 bytes, and the call is for double",
          lapwing_array_get_double_3(a, 0, 0, 0, &p.x[0]));
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&b));
}

/* Every element that can be loaded directly is at its address, and the rank's own are among them. */
static void addresses(const lapwing_array* a, const int64_t* extents) {
    int64_t index[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int32_t number = 0;
    int d = 0;
    while (d >= 0) {
        const int32_t* near = lapwing_array_address(a, 8, index);
        int local = 0;
        OK(lapwing_array_is_local(a, index, &local));
        CHECK(near != NULL || !local);
        if (near != NULL) CHECK(*near == number);
        CHECK(lapwing_array_address(a, 7, index) == NULL);
        ++number;
        for (d = 7; d >= 0 && ++index[d] == extents[d]; --d) index[d] = 0;
    }
    CHECK(number == 144);
    index[4] = 1;
    CHECK(lapwing_array_address(a, 8, index) == NULL);
    index[4] = -1;
    CHECK(lapwing_array_address(a, 8, index) == NULL);
}

static void many_dimensions(void) {
    const int64_t extents[8] = {2, 1, 3, 2, 1, 2, 2, 3};
    const lapwing_range all[8] = {{0, 2, 1}, {0, 1, 1}, {0, 3, 1}, {0, 2, 1},
                                  {0, 1, 1}, {0, 2, 1}, {0, 2, 1}, {0, 3, 1}};
    lapwing_array* a = NULL;
    int32_t buffer[144];
    int32_t k;
    int64_t sum = -1;
    const int64_t last[8] = {1, 0, 2, 1, 0, 1, 1, 2};
    uint64_t elements = 0;
    int dimensions = 0;
    lapwing_type type = 0;
    OK(lapwing_array_create(runtime, LAPWING_INT32, 8, extents, NULL, NULL, &a));
    OK(lapwing_array_size(a, &elements));
    CHECK(elements == 144);
    OK(lapwing_array_shape(a, &type, &dimensions, NULL, NULL));
    CHECK(dimensions == 8 && type == LAPWING_INT32);
    for (k = 0; k < 144; ++k) buffer[k] = k;
    if (rank == 0) OK(lapwing_array_put(a, all, buffer, NULL));
    OK(lapwing_array_barrier(a));
    k = -1;
    OK(lapwing_array_get_element(a, last, &k));
    CHECK(k == 143);
    addresses(a, extents);
    OK(lapwing_array_sum(a, &sum));
    CHECK(sum == 143 * 72);
    OK(lapwing_array_free(&a));
    FAILS(LAPWING_ERR_RANGE, "from 1 to 8", lapwing_array_create(runtime, LAPWING_INT32, 9, extents, NULL, NULL, &a));
    FAILS(LAPWING_ERR_RANGE, "from 1 to 8", lapwing_array_create(runtime, LAPWING_INT32, 0, extents, NULL, NULL, &a));
}

static void count_and_add(void* context, void* value, const int64_t* index, const void* element) {
    double* sums = value;
    (void)context;
    sums[0] += 1;
    sums[1] += (double)index[0] * *(const double*)element;
}
static void add_both(void* context, void* left, const void* right) {
    (void)context;
    ((double*)left)[0] += ((const double*)right)[0];
    ((double*)left)[1] += ((const double*)right)[1];
}

static void collectives(void) {
    const int64_t length[1] = {17};
    const int64_t lower[1] = {1};
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_distribution replicated;
    lapwing_array *a = NULL, *r = NULL;
    double two = 2, sums[2] = {0, 0}, x = 0;
    void* memory = NULL;
    int64_t count = -1, stride = -1, extent = -1, k;
    lapwing_statistics statistics;
    const char* text = NULL;
    memset(&replicated, 0, sizeof replicated);
    replicated.kind = LAPWING_REPLICATED;
    options.lower = lower;
    options.name = "line";
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 1, length, NULL, &options, &a));
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 1, length, &replicated, NULL, &r));
    OK(lapwing_array_name(a, &text));
    CHECK(strcmp(text, "line") == 0);
    OK(lapwing_array_halo(a, &count));
    CHECK(count == 0);
    OK(lapwing_array_fill(a, &two));
    OK(lapwing_array_reduce(a, sums, sizeof sums, count_and_add, add_both, NULL));
    CHECK(sums[0] == 17 && sums[1] == 2.0 * 17 * 18 / 2);
    FAILS(LAPWING_ERR_USAGE, "'combine'", lapwing_array_reduce(a, sums, sizeof sums, count_and_add, NULL, NULL));
    OK(lapwing_array_local(a, &memory, &extent, &stride));
    CHECK(stride == 1 && extent >= 0 && extent <= 17);
    for (k = 0; k < extent; ++k) CHECK(((double*)memory)[k] == 2);
    for (k = 0; k < 17; ++k) *(double*)lapwing_array_address_1(r, k) = rank;
    OK(lapwing_array_barrier(r));
    OK(lapwing_array_broadcast(r, size - 1));
    OK(lapwing_array_get_double_1(r, 16, &x));
    CHECK(x == size - 1);
    OK(lapwing_array_sum(r, &x));
    CHECK(x == 17 * (size - 1));
    FAILS(LAPWING_ERR_USAGE, "Replicated", lapwing_array_broadcast(a, 0));
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_array_broadcast(r, size));
    OK(lapwing_array_barrier(r));
    if (rank == 0) OK(lapwing_array_put_double_1(r, 3, 77));
    OK(lapwing_array_barrier(r));
    OK(lapwing_array_get_double_1(r, 3, &x));
    CHECK(x == 77);
    OK(lapwing_array_prefetch_element(a, lower));
    OK(lapwing_array_flush(a, 0));
    OK(lapwing_array_flush_all(a));
    OK(lapwing_array_release(a));
    OK(lapwing_array_acquire(a));
    OK(lapwing_array_fence(a));
    OK(lapwing_array_invalidate_cache(a));
    OK(lapwing_array_statistics(a, &statistics));
    OK(lapwing_array_total_statistics(a, &statistics));
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_array_flush(a, size));
    OK(lapwing_array_free(&r));
    OK(lapwing_array_free(&a));
}

static void atomics(void) {
    const int64_t length[1] = {16};
    lapwing_array *a = NULL, *r = NULL;
    lapwing_distribution replicated;
    const int64_t three = 3, last = 15, outside = 16;
    const int64_t expected_list[2] = {16, 100};
    lapwing_completion* completion = NULL;
    int64_t list[3] = {5, 9, 5}, one = 1, before[3] = {-1, -1, -1}, seven = 7, hundred = 100;
    memset(&replicated, 0, sizeof replicated);
    replicated.kind = LAPWING_REPLICATED;
    OK(lapwing_array_create(runtime, LAPWING_INT64, 1, length, NULL, NULL, &a));
    OK(lapwing_array_create(runtime, LAPWING_INT64, 1, length, &replicated, NULL, &r));
    OK(lapwing_array_fetch(a, LAPWING_ADD, &three, &one, before, LAPWING_ORDER_RELAXED));
    CHECK(before[0] >= 0 && before[0] < size);
    OK(lapwing_array_update(a, LAPWING_ADD, &last, &seven));
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_fetch(a, LAPWING_READ, &three, NULL, before, LAPWING_ORDER_RELAXED));
    CHECK(before[0] == size);
    OK(lapwing_array_fetch(a, LAPWING_READ, &last, NULL, before, LAPWING_ORDER_RELAXED));
    CHECK(before[0] == 7 * size);
    OK(lapwing_array_barrier(a));
    if (rank == size - 1) {
        const int64_t expected = size;
        OK(lapwing_array_compare_swap(a, &three, &expected, &hundred, before, LAPWING_ORDER_RELAXED));
        CHECK(before[0] == size);
        OK(lapwing_array_fetch_list(a, LAPWING_ADD, 3, list, &seven, 1, before));
        CHECK(before[0] == 0 && before[1] == 0 && before[2] == 7);
        OK(lapwing_array_fetch_list(a, LAPWING_READ, 3, list, NULL, 0, before));
        CHECK(before[0] == 14 && before[1] == 7);
        OK(lapwing_array_compare_swap_list(a, 2, list, &seven, 1, &hundred, 1, before));
        CHECK(before[0] == 14 && before[1] == 7);
        OK(lapwing_array_fetch_list(a, LAPWING_READ, 3, list, NULL, 0, before));
        CHECK(before[0] == 14 && before[1] == 100);
        OK(lapwing_array_start_fetch_list(a, LAPWING_ADD, 3, list, &one, 1, before, &completion));
        OK(lapwing_completion_wait(&completion));
        CHECK(before[0] == 14 && before[1] == 100 && before[2] == 15);
        before[0] = before[1] = -1;
        OK(lapwing_array_start_compare_swap_list(a, 2, list, expected_list, 0, &seven, 1, before, &completion));
        OK(lapwing_completion_wait(&completion));
        CHECK(before[0] == 16 && before[1] == 101);
        OK(lapwing_array_start_fetch_list(a, LAPWING_ADD, 3, list, &one, 1, NULL, &completion)); /* waits */
        CHECK(completion == NULL);
        OK(lapwing_array_start_fetch_list(a, LAPWING_READ, 3, list, NULL, 0, before, &completion));
        OK(lapwing_completion_wait(&completion));
        CHECK(before[0] == 9 && before[1] == 102);
    }
    FAILS(LAPWING_ERR_RANGE, "index 16 of dimension 0",
          lapwing_array_fetch(a, LAPWING_ADD, &outside, &one, NULL, LAPWING_ORDER_RELAXED));
    FAILS(LAPWING_ERR_RANGE, "'operation' is 8", lapwing_array_fetch(a, 8, &three, &one, NULL, LAPWING_ORDER_RELAXED));
    FAILS(LAPWING_ERR_USAGE, "replicated",
          lapwing_array_fetch(r, LAPWING_ADD, &three, &one, NULL, LAPWING_ORDER_RELAXED));
    FAILS(LAPWING_ERR_USAGE, "replicated", lapwing_array_fetch_list(r, LAPWING_ADD, 3, list, &one, 1, NULL));
    FAILS(LAPWING_ERR_USAGE, "'operands'", lapwing_array_fetch_list(a, LAPWING_ADD, 3, list, NULL, 1, NULL));
    list[1] = -1;
    FAILS(LAPWING_ERR_RANGE, "index -1", lapwing_array_fetch_list(a, LAPWING_ADD, 3, list, &one, 1, NULL));
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&r));
}

static void bad_arguments(void) {
    const int64_t extents[2] = {6, 5};
    const int64_t huge[2] = {INT64_MAX, 5};
    const int64_t lower[2] = {1, INT64_MAX - 3};
    const int64_t index[2] = {6, 0};
    const lapwing_range outside[2] = {{4, 3, 1}, {0, 5, 1}};
    const lapwing_range backwards[2] = {{4, 3, -1}, {0, 5, 1}};
    const lapwing_range empty[2] = {{4, 0, 1}, {0, 5, 1}};
    const lapwing_range inside[2] = {{0, 2, 1}, {0, 5, 1}};
    const lapwing_range everything[2] = {{0, 6, 1}, {0, 5, 1}};
    const int64_t bad_strides[2] = {3, 1}, slow_strides[2] = {20, 2}, far_strides[2] = {INT64_MAX, 1};
    const int grid[2] = {7, 11};
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_distribution distribution;
    lapwing_distribution_functions none;
    lapwing_array* a = NULL;
    lapwing_array* copy;
    lapwing_completion* completion;
    double buffer[30], x = 0;
    int owner;
    lapwing_range ranges[2];
    memset(&distribution, 0, sizeof distribution);
    memset(&none, 0, sizeof none);
    FAILS(LAPWING_ERR_RANGE, "is not a type", lapwing_array_create(runtime, 12, 2, extents, NULL, NULL, &a));
    FAILS(LAPWING_ERR_USAGE, "'extents'", lapwing_array_create(runtime, LAPWING_DOUBLE, 2, NULL, NULL, NULL, &a));
    FAILS(LAPWING_ERR_USAGE, "'array'", lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, NULL, NULL));
    FAILS(LAPWING_ERR_RANGE, "lapwing_array_create: rank",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 2, huge, NULL, NULL, &a));
    options.lower = lower;
    FAILS(LAPWING_ERR_RANGE, "of dimension 1 leave 64 bits",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, &options, &a));
    options.lower = NULL;
    options.halo = -1;
    FAILS(LAPWING_ERR_RANGE, "halo", lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, &options, &a));
    distribution.kind = 8;
    FAILS(LAPWING_ERR_RANGE, "'distribution.kind' is 8",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, NULL, &a));
    distribution.kind = LAPWING_BLOCK_CYCLIC;
    FAILS(LAPWING_ERR_USAGE, "'distribution.block'",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, NULL, &a));
    distribution.kind = LAPWING_OWN_DISTRIBUTION;
    FAILS(LAPWING_ERR_USAGE, "'distribution.functions'",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, NULL, &a));
    distribution.functions = &none;
    FAILS(LAPWING_ERR_USAGE, "needs locate",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, NULL, &a));
    distribution.kind = LAPWING_BLOCK;
    distribution.grid = grid;
    FAILS(LAPWING_ERR_RANGE, "Block{.grid = {7, 11}}",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, NULL, &a));
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, NULL, &a));
    FAILS(LAPWING_ERR_RANGE, "index 6 of dimension 0 of (6, 0) is outside [0, 6)",
          lapwing_array_get_element(a, index, &x));
    FAILS(LAPWING_ERR_RANGE, "index 6", lapwing_array_put_element(a, index, &x));
    FAILS(LAPWING_ERR_RANGE, "index -1", lapwing_array_put_double_2(a, 0, -1, 1));
    FAILS(LAPWING_ERR_RANGE, "index 6", lapwing_array_owner(a, index, &owner));
    FAILS(LAPWING_ERR_USAGE, "'index'", lapwing_array_get_element(a, NULL, &x));
    FAILS(LAPWING_ERR_USAGE, "'value'", lapwing_array_get_element(a, extents, NULL));
    FAILS(LAPWING_ERR_USAGE, "has 2 dimensions, and the call is for 1", lapwing_array_get_double_1(a, 0, &x));
    CHECK(lapwing_array_address_1(a, 0) == NULL && lapwing_array_address_3(a, 0, 0, 0) == NULL);
    FAILS(LAPWING_ERR_USAGE, "double, and the call is for int64", lapwing_array_put_int64_2(a, 0, 0, 1));
    FAILS(LAPWING_ERR_RANGE, "[4, 7) of dimension 0 leaves [0, 6)", lapwing_array_get(a, outside, buffer, NULL));
    FAILS(LAPWING_ERR_RANGE, "stride = -1", lapwing_array_put(a, backwards, buffer, NULL));
    FAILS(LAPWING_ERR_RANGE, "stride 3 of dimension 0", lapwing_array_get(a, inside, buffer, bad_strides));
    FAILS(LAPWING_ERR_RANGE, "must be 1", lapwing_array_get(a, inside, buffer, slow_strides));
    FAILS(LAPWING_ERR_RANGE, "of dimension 0, with 6 elements, leads beyond 2^64",
          lapwing_array_get(a, everything, buffer, far_strides));
    FAILS(LAPWING_ERR_USAGE, "'buffer'", lapwing_array_get(a, inside, NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "'ranges'", lapwing_array_get(a, NULL, buffer, NULL));
    FAILS(LAPWING_ERR_USAGE, "'completion'", lapwing_array_start_get(a, inside, buffer, NULL, NULL));
    OK(lapwing_array_start_get(a, empty, NULL, NULL, &completion));
    CHECK(completion == NULL);
    FAILS(LAPWING_ERR_RANGE, "index 6", lapwing_array_gather(a, 1, index, buffer));
    FAILS(LAPWING_ERR_USAGE, "'indices'", lapwing_array_scatter(a, 1, NULL, buffer));
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_array_domain(a, size, 0, ranges));
    FAILS(LAPWING_ERR_RANGE, "domains", lapwing_array_domain(a, rank, 99, ranges));
    FAILS(LAPWING_ERR_USAGE, "'value'", lapwing_array_fill(a, NULL));
    FAILS(LAPWING_ERR_USAGE, "the array is a null pointer", lapwing_array_copy(a, NULL));
    FAILS(LAPWING_ERR_USAGE, "are open; free them before it", lapwing_runtime_free(&runtime));
    copy = a;
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&a));
    CHECK(lapwing_array_address_2(copy, 0, 0) == NULL);
    FAILS(LAPWING_ERR_USAGE, "the array was freed", lapwing_array_get_double_2(copy, 0, 0, &x));
}

static void typed_and_left(void) {
    const int64_t length[1] = {8};
    const int64_t seven = 7, outside = 8;
    lapwing_runtime* own = NULL;
    lapwing_array* a = NULL;
    float x = 2.5f;
    lapwing_array_options options = lapwing_array_options_default();
    options.cache = lapwing_cache_options_default();
    OK(lapwing_runtime_create(MPI_COMM_SELF, NULL, &own));
    OK(lapwing_array_create(own, LAPWING_FLOAT, 1, length, NULL, &options, &a));
    OK(lapwing_array_put_typed(a, LAPWING_FLOAT, &seven, &x));
    x = 0;
    OK(lapwing_array_get_typed(a, LAPWING_FLOAT, &seven, &x));
    CHECK(x == 2.5f);
    FAILS(LAPWING_ERR_USAGE, "float, and the call is for double",
          lapwing_array_get_typed(a, LAPWING_DOUBLE, &seven, &x));
    FAILS(LAPWING_ERR_RANGE, "index 8", lapwing_array_put_typed(a, LAPWING_FLOAT, &outside, &x));
    FAILS(LAPWING_ERR_USAGE, "'value'", lapwing_array_put_typed(a, LAPWING_FLOAT, &seven, NULL));
    FAILS(LAPWING_ERR_USAGE, "leave them before it", lapwing_runtime_leave(&own));
    OK(lapwing_array_leave(&a));
    CHECK(a == NULL);
    OK(lapwing_runtime_leave(&own));
}

int main(void) {
    start_job();
    bad_arguments();
    distributions();
    resized();
    any_type();
    many_dimensions();
    collectives();
    atomics();
    typed_and_left();
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
