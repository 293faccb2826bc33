/* Prefetch by patterns and of windows, and orders of ranks for a redistribution. */
#include "job.h"

#include <stdint.h>

static int64_t room; /* for a halo, in the arrays that are made */

enum { rows = 12, columns = 10 };

static double value_of(int64_t i, int64_t j) { return (double)(i * 1000 + j); }

/* Elements are i * 1000 + j, plus `more`, with indices from (lower[0], lower[1]). */
static void write_own(lapwing_array* array, double more) {
    lapwing_range own[2];
    uint64_t count = 0, k;
    OK(lapwing_array_domain_count(array, rank, &count));
    for (k = 0; k < count; ++k) {
        uint64_t a, b;
        OK(lapwing_array_domain(array, rank, k, own));
        for (a = 0; a < own[0].size; ++a)
            for (b = 0; b < own[1].size; ++b) {
                const int64_t i = own[0].first + (int64_t)a * own[0].stride,
                              j = own[1].first + (int64_t)b * own[1].stride;
                OK(lapwing_array_put_double_2(array, i, j, value_of(i, j) + more));
            }
    }
    OK(lapwing_array_barrier(array));
}

static double read_at(lapwing_array* array, int64_t i, int64_t j) {
    double value = -1;
    OK(lapwing_array_get_double_2(array, i, j, &value));
    return value;
}

static int own_element(lapwing_array* array, int64_t i, int64_t j) {
    const int64_t index[] = {i, j};
    int local = 0;
    OK(lapwing_array_is_local(array, index, &local));
    return local;
}

static lapwing_array* make(int kind, const char* name, int64_t lower_i, int64_t lower_j) {
    const int64_t extents[] = {rows, columns}, block[] = {2, 3};
    const int64_t lower[] = {lower_i, lower_j};
    lapwing_distribution distribution = {.kind = kind, .block = block};
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_array* array = NULL;
    options.name = name;
    options.lower = lower;
    options.halo = room;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, &options, &array));
    return array;
}

/* The rank's own block and the copies around it as memory: copies are half a unit behind. */
static void test_view(lapwing_array* array) {
    const void* memory = NULL;
    int64_t strides[2], a, b;
    lapwing_range ranges[2];
    uint64_t own = 0;
    OK(lapwing_array_halo_view(array, &memory, strides, ranges));
    OK(lapwing_array_domain_count(array, rank, &own));
    CHECK((own == 0) == (memory == NULL) && (own == 0) == (ranges[0].size == 0));
    for (a = 0; a < (int64_t)ranges[0].size; ++a)
        for (b = 0; b < (int64_t)ranges[1].size; ++b) {
            const int64_t index[] = {ranges[0].first + a, ranges[1].first + b};
            const double here = ((const double*)memory)[a * strides[0] + b * strides[1]];
            int copied = 0;
            OK(lapwing_array_is_prefetched(array, index, &copied));
            if (own_element(array, index[0], index[1])) CHECK(here == value_of(index[0], index[1]) + 0.5);
            else if (copied) CHECK(here == value_of(index[0], index[1]));
        }
}

/* Manual copies of any pattern: an element that has one keeps its value until the update, others do not. */
static void test_manual(int distribution, const lapwing_pattern* pattern, int storage) {
    lapwing_array* array = make(distribution, "manual", 5, -3);
    lapwing_prefetch_options options = lapwing_prefetch_options_default();
    lapwing_completion* completion = NULL;
    int64_t i, j;
    int copies = 0;
    options.consistent = 0;
    options.storage = storage;
    write_own(array, 0);
    OK(lapwing_array_prefetch(array, pattern, &options));
    write_own(array, 0.5);
    for (i = 5; i < 5 + rows; ++i)
        for (j = -3; j < -3 + columns; ++j) {
            const int64_t index[] = {i, j};
            const void* memory = NULL;
            lapwing_range block[2];
            int64_t strides[2];
            int prefetched = -1;
            OK(lapwing_array_is_prefetched(array, index, &prefetched));
            CHECK(!prefetched || !own_element(array, i, j));
            copies += prefetched;
            CHECK(read_at(array, i, j) == value_of(i, j) + (prefetched ? 0 : 0.5));
            /* Elements of the node's other ranks, too. */
            if (lapwing_array_block_at(array, index, &memory, strides, block) != LAPWING_SUCCESS) {
                CHECK(!prefetched && !own_element(array, i, j));
            } else {
                CHECK(block[0].first <= i && i < block[0].first + (int64_t)block[0].size);
                CHECK(((const double*)memory)[(i - block[0].first) * strides[0] + (j - block[1].first) * strides[1]] ==
                      value_of(i, j) + (prefetched ? 0 : 0.5));
            }
        }
    if (storage == LAPWING_STORE_IN_HALO) test_view(array);
    if (pattern->kind == LAPWING_PATTERN_ALL) {
        /* All that others have. */
        int others = 0;
        for (i = 5; i < 5 + rows; ++i)
            for (j = -3; j < -3 + columns; ++j) others += !own_element(array, i, j);
        CHECK(copies == others);
    }
    OK(lapwing_array_barrier(array));
    OK(lapwing_array_update_copies(array));
    CHECK(read_at(array, 5, -3) == value_of(5, -3) + 0.5);
    OK(lapwing_array_barrier(array));
    write_own(array, 1);
    OK(lapwing_array_start_update_copies(array, &completion));
    OK(lapwing_completion_wait(&completion));
    for (i = 5; i < 5 + rows; ++i)
        for (j = -3; j < -3 + columns; ++j) CHECK(read_at(array, i, j) == value_of(i, j) + 1);

    /* This rank's own writes go to the copies. */
    OK(lapwing_array_barrier(array));
    if (rank == size - 1) {
        const int64_t first[] = {5, -3};
        const double new_value = 77;
        OK(lapwing_array_put_element(array, first, &new_value));
        CHECK(read_at(array, 5, -3) == 77);
    }
    OK(lapwing_array_barrier(array));
    OK(lapwing_array_evict(array));
    CHECK(read_at(array, 5, -3) == 77);
    OK(lapwing_array_free(&array));
}

/* Automatic copies: what was written before a barrier is read after it, also under other extents and distributions. */
static void test_automatic(void) {
    lapwing_array* array = make(LAPWING_BLOCK, "automatic", 0, 0);
    lapwing_pattern pattern = {.kind = LAPWING_PATTERN_STENCIL, .depth = 1, .corners = 1};
    lapwing_distribution cyclic = {.kind = LAPWING_CYCLIC};
    const int periodic[] = {1, 0};
    const int64_t larger[] = {rows + 4, columns};
    int64_t i;
    int step;
    pattern.periodic = periodic;
    write_own(array, 0);
    OK(lapwing_array_prefetch(array, &pattern, NULL));
    for (step = 0; step < 3; ++step) {
        write_own(array, step);
        for (i = 0; i < rows; ++i) CHECK(read_at(array, i, 1) == value_of(i, 1) + step);
        OK(lapwing_array_barrier(array));
    }
    OK(lapwing_array_resize(array, larger));
    write_own(array, 9);
    for (i = 0; i < rows + 4; ++i) CHECK(read_at(array, i, 2) == value_of(i, 2) + 9);
    OK(lapwing_array_redistribute(array, &cyclic));
    for (i = 0; i < rows + 4; ++i) CHECK(read_at(array, i, 3) == value_of(i, 3) + 9);
    OK(lapwing_array_free(&array));
}

static int refusing(void* context, const lapwing_range* own, lapwing_needed* needed) {
    (void)context, (void)own, (void)needed;
    return 7;
}

static int with_wrong_domain(void* context, const lapwing_range* own, lapwing_needed* needed) {
    const lapwing_range wrong[] = {{0, 2, 0}, {0, 1, 1}};
    (void)context, (void)own;
    if (lapwing_needed_add(needed, NULL) != LAPWING_ERR_USAGE) return 1;
    return lapwing_needed_add(needed, wrong) == LAPWING_ERR_RANGE ? -1 : 2;
}

/* The rows before and after the rank's own, which leave the array at its edges; `context` counts the calls. */
static int rows_around(void* context, const lapwing_range* own, lapwing_needed* needed) {
    lapwing_range ranges[2];
    ++*(int*)context;
    if (own[0].size == 0) return 0;
    ranges[0].first = own[0].first - 1;
    ranges[0].size = own[0].size + 2;
    ranges[0].stride = 1;
    ranges[1] = own[1];
    return lapwing_needed_add(needed, ranges);
}

/* A function is asked for each own domain, and again when the extents change. */
static void test_function(void) {
    lapwing_array* array = make(LAPWING_BLOCK, "function", -4, 3);
    lapwing_pattern pattern = {.kind = LAPWING_PATTERN_FUNCTION, .function = rows_around};
    lapwing_prefetch_options options = lapwing_prefetch_options_default();
    const int64_t larger[] = {rows + 5, columns};
    lapwing_range own[2];
    uint64_t domains = 0;
    int calls = 0, step;
    pattern.context = &calls;
    options.consistent = 0;
    write_own(array, 0);
    OK(lapwing_array_prefetch(array, &pattern, &options));
    for (step = 0; step < 2; ++step) {
        CHECK(calls == step + 1);
        OK(lapwing_array_domain_count(array, rank, &domains));
        if (domains > 0) {
            int64_t last = -4 + (step == 0 ? rows : rows + 5) - 1, i;
            OK(lapwing_array_domain(array, rank, 0, own));
            for (i = own[0].first - 1; i <= own[0].first + (int64_t)own[0].size; ++i) {
                const int64_t index[] = {i, own[1].first};
                int copied = -1;
                if (i < -4 || i > last) continue;
                OK(lapwing_array_is_prefetched(array, index, &copied));
                CHECK(copied == !own_element(array, i, own[1].first));
            }
        }
        if (step == 0) OK(lapwing_array_resize(array, larger));
    }
    OK(lapwing_array_free(&array));
}

static void test_array_errors(void) {
    lapwing_array* array = make(LAPWING_BLOCK, "errors", 0, 0);
    lapwing_pattern pattern = {.kind = LAPWING_PATTERN_STENCIL, .depth = -1, .corners = 1};
    lapwing_prefetch_options options = lapwing_prefetch_options_default();
    const int64_t outside[] = {rows, 0}, larger[] = {rows + 1, columns};
    const lapwing_range wrong[] = {{0, 2, 0}, {0, 1, 1}};
    const void* memory = NULL;
    int prefetched = 0;
    FAILS(LAPWING_ERR_USAGE, "pattern", lapwing_array_prefetch(array, NULL, NULL));
    FAILS(LAPWING_ERR_RANGE, "depth", lapwing_array_prefetch(array, &pattern, NULL));
    pattern.kind = 7;
    FAILS(LAPWING_ERR_RANGE, "pattern.kind", lapwing_array_prefetch(array, &pattern, NULL));
    pattern.kind = LAPWING_PATTERN_DOMAINS;
    pattern.count = 1;
    FAILS(LAPWING_ERR_USAGE, "pattern.domains", lapwing_array_prefetch(array, &pattern, NULL));
    pattern.domains = wrong;
    FAILS(LAPWING_ERR_RANGE, "stride", lapwing_array_prefetch(array, &pattern, NULL));
    pattern.kind = LAPWING_PATTERN_ALL;
    options.storage = 3;
    FAILS(LAPWING_ERR_RANGE, "options.storage", lapwing_array_prefetch(array, &pattern, &options));
    options.storage = LAPWING_STORE_IN_HALO;
    FAILS(LAPWING_ERR_USAGE, "halo", lapwing_array_prefetch(array, &pattern, &options));
    FAILS(LAPWING_ERR_USAGE, "halo", lapwing_array_halo_view(array, &memory, NULL, NULL));
    pattern.kind = LAPWING_PATTERN_FUNCTION;
    FAILS(LAPWING_ERR_USAGE, "pattern.function", lapwing_array_prefetch(array, &pattern, NULL));
    pattern.function = refusing;
    FAILS(LAPWING_ERR_USAGE, "7", lapwing_array_prefetch(array, &pattern, NULL));
    pattern.function = with_wrong_domain;
    FAILS(LAPWING_ERR_USAGE, "-1", lapwing_array_prefetch(array, &pattern, NULL));
    FAILS(LAPWING_ERR_USAGE, "needed", lapwing_needed_add(NULL, wrong));
    pattern.kind = LAPWING_PATTERN_ALL;
    FAILS(LAPWING_ERR_USAGE, "prefetch", lapwing_array_update_copies(array));
    FAILS(LAPWING_ERR_RANGE, "outside", lapwing_array_is_prefetched(array, outside, &prefetched));
    FAILS(LAPWING_ERR_RANGE, "outside", lapwing_array_block_at(array, outside, &memory, NULL, NULL));
    options = lapwing_prefetch_options_default();
    options.static_domain = 1;
    OK(lapwing_array_prefetch(array, &pattern, &options));
    FAILS(LAPWING_ERR_USAGE, "evict", lapwing_array_prefetch(array, &pattern, NULL));
    FAILS(LAPWING_ERR_USAGE, "static_domain", lapwing_array_resize(array, larger));
    OK(lapwing_array_evict(array));
    OK(lapwing_array_resize(array, larger));
    OK(lapwing_array_free(&array));
    FAILS(LAPWING_ERR_USAGE, "array", lapwing_array_evict(array));
}

/* Bytes of windows. */
static void test_window(void) {
    lapwing_window* window = NULL;
    lapwing_prefetch* prefetch = NULL;
    lapwing_layout* column = NULL;
    lapwing_prefetch_options options = lapwing_prefetch_options_default();
    lapwing_completion* completion = NULL;
    const int other = (rank + 1) % size;
    uint64_t slice = 99, whole = 99, bytes = 0, k;
    const void* memory = NULL;
    void* mine = NULL;
    double value = 0;
    char text[3];
    OK(lapwing_window_create(runtime, 16 * sizeof(double), NULL, &window));
    OK(lapwing_window_local(window, &mine, NULL));
    for (k = 0; k < 16; ++k) ((double*)mine)[k] = rank * 100 + (double)k;
    OK(lapwing_runtime_barrier(runtime));
    options.consistent = 0;
    OK(lapwing_prefetch_create(window, &options, &prefetch));
    OK(lapwing_layout_create_strided(4, sizeof(double), 4 * sizeof(double), 0, &column));
    FAILS(LAPWING_ERR_USAGE, "own part", lapwing_prefetch_request(prefetch, rank, 0, column, &slice));
    if (size == 1) {
        OK(lapwing_layout_free(&column));
        OK(lapwing_prefetch_free(&prefetch));
        OK(lapwing_window_free(&window));
        return;
    }
    OK(lapwing_prefetch_request(prefetch, other, sizeof(double), column, &slice));
    OK(lapwing_prefetch_request(prefetch, other, 0, NULL, &whole));
    OK(lapwing_layout_free(&column));
    OK(lapwing_prefetch_memory(prefetch, &bytes));
    CHECK(bytes >= 20 * sizeof(double));
    OK(lapwing_prefetch_update(prefetch));
    OK(lapwing_prefetch_access(prefetch, slice, &memory, &bytes));
    CHECK(bytes == 4 * sizeof(double));
    for (k = 0; k < 4; ++k) {
        CHECK(((const double*)memory)[k] == other * 100 + 1 + 4 * (double)k);
        OK(lapwing_prefetch_read(prefetch, slice, LAPWING_DOUBLE, k, &value));
        CHECK(value == other * 100 + 1 + 4 * (double)k);
    }
    OK(lapwing_prefetch_read(prefetch, whole, LAPWING_DOUBLE, 15, &value));
    CHECK(value == other * 100 + 15);
    FAILS(LAPWING_ERR_RANGE, "4", lapwing_prefetch_read(prefetch, slice, LAPWING_DOUBLE, 4, &value));
    FAILS(LAPWING_ERR_USAGE, "3 bytes", lapwing_prefetch_read(prefetch, slice, LAPWING_BYTES(3), 0, text));
    FAILS(LAPWING_ERR_RANGE, "slice 2", lapwing_prefetch_access(prefetch, 2, &memory, &bytes));
    FAILS(LAPWING_ERR_USAGE, "offset", lapwing_prefetch_request(prefetch, other, 8, NULL, &whole));
    FAILS(LAPWING_ERR_RANGE, "", lapwing_prefetch_request(prefetch, size, 0, NULL, &whole));
    OK(lapwing_runtime_barrier(runtime));
    for (k = 0; k < 16; ++k) ((double*)mine)[k] += 0.5;
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_prefetch_read(prefetch, slice, LAPWING_DOUBLE, 0, &value));
    CHECK(value == other * 100 + 1);
    OK(lapwing_prefetch_start_update(prefetch, &completion));
    OK(lapwing_completion_wait(&completion));
    OK(lapwing_prefetch_read(prefetch, slice, LAPWING_DOUBLE, 0, &value));
    CHECK(value == other * 100 + 1.5);
    /* This rank's own writes, by any call, go to the copies, too. */
    OK(lapwing_window_put_double(window, other, 5 * sizeof(double), 77 + rank));
    OK(lapwing_prefetch_read(prefetch, slice, LAPWING_DOUBLE, 1, &value));
    CHECK(value == 77 + rank);
    OK(lapwing_window_get_double(window, other, 5 * sizeof(double), &value));
    CHECK(value == 77 + rank);
    OK(lapwing_runtime_barrier(runtime));
    CHECK(((const double*)mine)[5] == 77 + (rank + size - 1) % size);
    OK(lapwing_prefetch_evict(prefetch));
    FAILS(LAPWING_ERR_USAGE, "evicted", lapwing_prefetch_read(prefetch, slice, LAPWING_DOUBLE, 0, &value));
    OK(lapwing_prefetch_request(prefetch, other, 0, NULL, &whole));
    CHECK(whole == 2);
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_free(&window));
    FAILS(LAPWING_ERR_USAGE, "window", lapwing_prefetch_update(prefetch));
    OK(lapwing_prefetch_free(&prefetch));
    CHECK(prefetch == NULL);
    FAILS(LAPWING_ERR_USAGE, "prefetch", lapwing_prefetch_update(prefetch));
}

/* Elements that the next rank has, written through the array: stores where it is on this node. */
static void test_elements_of_window(int consistent) {
    const int64_t extents[] = {10 * (int64_t)size};
    const int64_t own = 10 * rank, next = 10 * ((rank + 1) % size);
    lapwing_array* array = NULL;
    lapwing_window* window = NULL;
    lapwing_prefetch* prefetch = NULL;
    lapwing_prefetch_options options = lapwing_prefetch_options_default();
    uint64_t slice = 0, k;
    void* direct = NULL;
    double value = 0;
    if (size == 1) return;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, NULL, NULL, &array));
    OK(lapwing_array_window(array, &window));
    direct = lapwing_array_address_1(array, next);
    options.consistent = consistent;
    OK(lapwing_prefetch_create(window, &options, &prefetch));
    CHECK(lapwing_array_address_1(array, next) == direct);
    OK(lapwing_prefetch_request(prefetch, (rank + 1) % size, 0, NULL, &slice));
    OK(lapwing_prefetch_update(prefetch));
    CHECK(lapwing_array_address_1(array, next) == NULL);
    CHECK(lapwing_array_address_1(array, own) != NULL);
    for (k = 0; k < 3; ++k) {
        const int64_t index[] = {next + (int64_t)k};
        const double written = rank * 100 + (double)k;
        if (k == 0) OK(lapwing_array_put_double_1(array, index[0], written));
        if (k == 1) OK(lapwing_array_put_typed(array, LAPWING_DOUBLE, index, &written));
        if (k == 2) OK(lapwing_array_put_element(array, index, &written));
        OK(lapwing_prefetch_read(prefetch, slice, LAPWING_DOUBLE, k, &value));
        CHECK(value == written);
        OK(lapwing_array_get_double_1(array, index[0], &value));
        CHECK(value == written);
    }
    OK(lapwing_prefetch_evict(prefetch));
    CHECK(lapwing_array_address_1(array, next) == direct);
    OK(lapwing_prefetch_request(prefetch, (rank + 1) % size, 0, NULL, &slice));
    CHECK(lapwing_array_address_1(array, next) == NULL);
    /* In another window there are no copies. */
    OK(lapwing_array_resize(array, extents));
    CHECK((lapwing_array_address_1(array, next) == NULL) == (direct == NULL));
    OK(lapwing_prefetch_free(&prefetch));
    OK(lapwing_array_window(array, &window));
    OK(lapwing_prefetch_create(window, &options, &prefetch));
    OK(lapwing_prefetch_request(prefetch, (rank + 1) % size, 0, NULL, &slice));
    CHECK(lapwing_array_address_1(array, next) == NULL);
    OK(lapwing_prefetch_free(&prefetch));
    CHECK((lapwing_array_address_1(array, next) == NULL) == (direct == NULL));
    OK(lapwing_array_barrier(array));
    OK(lapwing_array_free(&array));
}

/* Blocks of columns become blocks of rows, in the order of ranks in which most stays; nothing of the values changes. */
static void test_relabelling(void) {
    const int64_t extents[] = {16, 16};
    int by_rows[2] = {0, 1}, number = -1;
    lapwing_distribution distribution = {.kind = LAPWING_BLOCK};
    lapwing_array* array = NULL;
    lapwing_array* other = NULL;
    lapwing_relabelling* order = NULL;
    lapwing_relabelling_info info;
    lapwing_runtime* ordered = NULL;
    lapwing_runtime* again = NULL;
    int64_t i;
    by_rows[0] = size;
    distribution.grid = by_rows;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, NULL, &array));
    write_own(array, 0);
    FAILS(LAPWING_ERR_USAGE, "relabelling", lapwing_relabelling_create(array, &distribution, NULL));
    OK(lapwing_relabelling_create(array, &distribution, &order));
    OK(lapwing_relabelling_query(order, &info));
    CHECK(info.bytes == 16 * 16 * sizeof(double));
    CHECK(info.bytes_moved <= info.bytes_moved_unordered && info.bytes_moved_unordered < info.bytes + 1);
    CHECK(info.rank >= 0 && info.rank < size);
    OK(lapwing_relabelling_runtime(order, &ordered));
    OK(lapwing_runtime_rank(ordered, &number));
    CHECK(number == info.rank);
    OK(lapwing_relabelling_runtime(order, &again));
    CHECK(again == ordered);
    FAILS(LAPWING_ERR_USAGE, "another object", lapwing_runtime_free(&again));
    OK(lapwing_array_redistribute_ordered(array, &distribution, order));
    for (i = 0; i < 16; ++i) CHECK(read_at(array, i, 15 - i) == value_of(i, 15 - i));
    OK(lapwing_array_create(ordered, LAPWING_DOUBLE, 2, extents, &distribution, NULL, &other));
    FAILS(LAPWING_ERR_USAGE, "open", lapwing_relabelling_free(&order));
    OK(lapwing_array_free(&other));
    OK(lapwing_array_barrier(array));
    OK(lapwing_array_free(&array));
    OK(lapwing_relabelling_free(&order));
    CHECK(order == NULL);
    FAILS(LAPWING_ERR_USAGE, "relabelling", lapwing_relabelling_query(order, &info));
}

int main(void) {
    /* What this rank reads: a part that leaves the array, and one with strides. */
    const lapwing_range domains[] = {{4, 3, 1}, {-4, 3, 1}, {5, 4, 3}, {-2, 2, 4}};
    const lapwing_pattern patterns[] = {{.kind = LAPWING_PATTERN_STENCIL, .depth = 1, .corners = 1},
                                        {.kind = LAPWING_PATTERN_STENCIL, .depth = 2},
                                        {.kind = LAPWING_PATTERN_ROW_WISE},
                                        {.kind = LAPWING_PATTERN_COLUMN_WISE},
                                        {.kind = LAPWING_PATTERN_TRANSPOSE},
                                        {.kind = LAPWING_PATTERN_ALL},
                                        {.kind = LAPWING_PATTERN_DOMAINS, .count = 2, .domains = domains}};
    size_t k;
    start_job();
    for (k = 0; k < sizeof patterns / sizeof *patterns; ++k) {
        test_manual(LAPWING_BLOCK, &patterns[k], k % 2 == 0 ? LAPWING_STORE_BY_INDEX : LAPWING_STORE_BY_OWNER);
        if (k % 3 == 0) test_manual(LAPWING_CYCLIC, &patterns[k], LAPWING_STORE_BY_INDEX);
    }
    for (room = 1; room < 3; ++room)
        for (k = 0; k < sizeof patterns / sizeof *patterns; ++k)
            test_manual(LAPWING_BLOCK, &patterns[k], LAPWING_STORE_IN_HALO);
    room = 0;
    test_automatic();
    test_function();
    test_array_errors();
    test_window();
    test_elements_of_window(1);
    test_elements_of_window(0);
    test_relabelling();
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
