/* Arrays whose indices have strides, over parts of an index space that is distributed once, and on some of the ranks.
 */
#include "job.h"

#include <stdint.h>

static double value_of(int64_t i, int64_t j) { return (double)(1000 * i + j); }

static void write_own(lapwing_array* array) {
    uint64_t count = 0, k, a, b;
    lapwing_range own[2];
    OK(lapwing_array_domain_count(array, rank, &count));
    for (k = 0; k < count; ++k) {
        OK(lapwing_array_domain(array, rank, k, own));
        for (a = 0; a < own[0].size; ++a)
            for (b = 0; b < own[1].size; ++b) {
                const int64_t i = own[0].first + (int64_t)a * own[0].stride,
                              j = own[1].first + (int64_t)b * own[1].stride;
                OK(lapwing_array_put_double_2(array, i, j, value_of(i, j)));
            }
    }
    OK(lapwing_array_barrier(array));
}

/* Indices 5, 8, ..., 5 + 3 * 6, and -4, -2, ..., 14. */
static lapwing_array* make(int kind) {
    const int64_t extents[] = {7, 10}, lower[] = {5, -4}, stride[] = {3, 2}, block[] = {2, 3};
    lapwing_distribution distribution = {.kind = kind, .block = block};
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_array* array = NULL;
    options.name = "strided";
    options.lower = lower;
    options.stride = stride;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, &options, &array));
    return array;
}

static void test_strided(int kind) {
    lapwing_array* array = make(kind);
    int64_t stride[2], i, j;
    double patch[3][2], x = 0, all[2] = {0, 0}, largest = 0;
    int64_t index[2] = {8, 14}, pairs[] = {23, -4, 5, 0};
    const lapwing_range ranges[] = {{8, 3, 3}, {-2, 2, 8}};
    const lapwing_part parts[] = {{LAPWING_PART_INDEX, 11, 0, 0}, {LAPWING_PART_RANGE, 14, 4, -4}};
    lapwing_range corner[2];
    lapwing_slice* slice = NULL;
    double row[4];
    const void* memory = NULL;
    OK(lapwing_array_stride(array, stride));
    CHECK(stride[0] == 3 && stride[1] == 2);
    write_own(array);
    for (i = 5; i <= 23; i += 3)
        for (j = -4; j <= 14; j += 2) {
            OK(lapwing_array_get_double_2(array, i, j, &x));
            CHECK(x == value_of(i, j));
        }
    CHECK(lapwing_array_address_2(array, 5, -4) == NULL);
    OK(lapwing_array_get(array, ranges, patch, NULL));
    for (i = 0; i < 3; ++i)
        for (j = 0; j < 2; ++j) CHECK(patch[i][j] == value_of(8 + 3 * i, -2 + 8 * j));
    OK(lapwing_array_gather(array, 2, pairs, all));
    CHECK(all[0] == value_of(23, -4) && all[1] == value_of(5, 0));
    OK(lapwing_slice_create(array, parts, &slice));
    OK(lapwing_slice_get(slice, row, NULL));
    for (j = 0; j < 4; ++j) CHECK(row[j] == value_of(11, 14 - 4 * j));
    OK(lapwing_slice_free(&slice));
    OK(lapwing_array_max(array, &largest, index));
    CHECK(largest == value_of(23, 14) && index[0] == 23 && index[1] == 14);
    if (lapwing_array_block_at(array, index, &memory, NULL, corner) == LAPWING_SUCCESS)
        CHECK(corner[0].first + (int64_t)(corner[0].size - 1) * 3 == 23 && (corner[0].first - 5) % 3 == 0);
    OK(lapwing_array_barrier(array));
    OK(lapwing_array_free(&array));
}

/* Indices between the array's, resizing, patterns. */
static void test_strided_errors(void) {
    lapwing_array* array = make(LAPWING_BLOCK);
    lapwing_array* none = NULL;
    lapwing_array_options options = lapwing_array_options_default();
    const int64_t between[] = {6, -4}, below[] = {2, -4}, after[] = {26, -4}, larger[] = {9, 10}, one[] = {1, 1};
    const int64_t zero[] = {1, 0}, large[] = {INT64_MAX / 2, 1}, new_index[] = {29, -4};
    const lapwing_range beside[] = {{5, 2, 3}, {-4, 2, 1}}, first[] = {{6, 1, 1}, {-4, 1, 1}};
    const lapwing_range crossing[] = {{4, 30, 1}, {-4, 3, 1}};
    const lapwing_part part[] = {{LAPWING_PART_RANGE, 5, 2, 2}, {LAPWING_PART_ALL, 0, 0, 0}};
    lapwing_pattern pattern = {.kind = LAPWING_PATTERN_DOMAINS, .count = 1, .domains = crossing};
    lapwing_slice* slice = NULL;
    double x = 0, y[4];
    int copied = 0;
    int64_t i, j;
    FAILS(LAPWING_ERR_RANGE, "index 6", lapwing_array_get_element(array, between, &x));
    FAILS(LAPWING_ERR_RANGE, "index 2", lapwing_array_get_element(array, below, &x));
    FAILS(LAPWING_ERR_RANGE, "by 3", lapwing_array_get_element(array, after, &x));
    FAILS(LAPWING_ERR_RANGE, "dimension 1", lapwing_array_get(array, beside, y, NULL));
    FAILS(LAPWING_ERR_RANGE, "dimension 0", lapwing_array_get(array, first, y, NULL));
    FAILS(LAPWING_ERR_RANGE, "not among", lapwing_slice_create(array, part, &slice));
    FAILS(LAPWING_ERR_USAGE, "stride", lapwing_array_stride(array, NULL));
    options.stride = zero;
    FAILS(LAPWING_ERR_RANGE, "stride 0", lapwing_array_create(runtime, LAPWING_DOUBLE, 2, one, NULL, &options, &none));
    options.stride = large;
    FAILS(LAPWING_ERR_RANGE, "64 bits",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 2, larger, NULL, &options, &none));
    /* What a pattern names beside the array's indices is skipped. */
    write_own(array);
    OK(lapwing_array_prefetch(array, &pattern, NULL));
    for (i = 5; i <= 23; i += 3)
        for (j = -4; j <= 14; j += 2) {
            const int64_t index[] = {i, j};
            OK(lapwing_array_is_prefetched(array, index, &copied));
            CHECK(!copied || j <= -2);
            OK(lapwing_array_get_element(array, index, &x));
            CHECK(x == value_of(i, j));
        }
    OK(lapwing_array_evict(array));
    OK(lapwing_array_resize(array, larger));
    OK(lapwing_array_get_element(array, new_index, &x));
    CHECK(x == 0);
    OK(lapwing_array_resize(array, one));
    OK(lapwing_array_resize(array, larger));
    OK(lapwing_array_get_element(array, new_index, &x));
    OK(lapwing_array_free(&array));
}

/* User-defined: rows dealt to the ranks in turn. */
static int misplaces = 0;
static void locate(void* context, const lapwing_shape* shape, const int64_t* index, lapwing_place* place) {
    (void)context;
    place->owner = (int)((index[0] + misplaces) % shape->ranks);
    place->offset = (uint64_t)(index[0] / shape->ranks * shape->extents[1] + index[1]);
    place->contiguous = (uint64_t)(shape->extents[1] - index[1]);
}
static uint64_t capacity(void* context, const lapwing_shape* shape) {
    (void)context;
    return (uint64_t)((shape->extents[0] + shape->ranks - 1) / shape->ranks * shape->extents[1]);
}
static uint64_t domain_count(void* context, const lapwing_shape* shape, int asked) {
    (void)context;
    return asked < shape->extents[0];
}
static void domain(void* context, const lapwing_shape* shape, int asked, uint64_t k, lapwing_range* ranges) {
    (void)context, (void)k;
    ranges[0].first = asked;
    ranges[0].size = (uint64_t)((shape->extents[0] - asked + shape->ranks - 1) / shape->ranks);
    ranges[0].stride = ranges[0].size > 1 ? shape->ranks : 1;
    ranges[1].first = 0;
    ranges[1].size = (uint64_t)shape->extents[1];
    ranges[1].stride = 1;
}

/* Arrays over all of a space, its inside, and every second row of it: each element is where the space has its index. */
static void test_aligned(int kind) {
    const lapwing_distribution_functions functions = {locate, capacity, domain_count, domain, 0};
    const int64_t block[] = {2, 3}, extents[3][2] = {{12, 9}, {10, 7}, {6, 9}};
    const int64_t lower[3][2] = {{-1, 0}, {0, 1}, {-1, 0}}, stride[3][2] = {{1, 1}, {1, 1}, {2, 1}};
    const lapwing_range space[] = {{-1, 12, 1}, {0, 9, 1}};
    const lapwing_distribution whole = {.kind = kind, .block = block, .functions = &functions};
    const lapwing_distribution aligned = {.kind = LAPWING_ALIGNED, .space = space, .whole = &whole};
    lapwing_array* arrays[3] = {NULL, NULL, NULL};
    lapwing_array_options options = lapwing_array_options_default();
    const int64_t smaller[] = {10, 6};
    int k, there = 0, here = 0;
    int64_t i, j;
    double x = 0;
    for (k = 0; k < 3; ++k) {
        options.lower = lower[k];
        options.stride = stride[k];
        OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents[k], &aligned, &options, &arrays[k]));
        write_own(arrays[k]);
    }
    for (k = 0; k < 3; ++k)
        for (i = lower[k][0]; i < lower[k][0] + extents[k][0] * stride[k][0]; i += stride[k][0])
            for (j = lower[k][1]; j < lower[k][1] + extents[k][1]; ++j) {
                const int64_t index[] = {i, j};
                OK(lapwing_array_owner(arrays[0], index, &there));
                OK(lapwing_array_owner(arrays[k], index, &here));
                CHECK(here == there);
                OK(lapwing_array_get_double_2(arrays[k], i, j, &x));
                CHECK(x == value_of(i, j));
            }
    FAILS(LAPWING_ERR_RANGE, "keeps", lapwing_array_resize(arrays[1], smaller));
    /* To another distribution and back. */
    OK(lapwing_array_redistribute(arrays[1], NULL));
    OK(lapwing_array_redistribute(arrays[1], &aligned));
    OK(lapwing_array_get_double_2(arrays[1], 3, 4, &x));
    CHECK(x == value_of(3, 4));
    OK(lapwing_array_barrier(arrays[0]));
    for (k = 0; k < 3; ++k) OK(lapwing_array_free(&arrays[k]));
}

static void test_aligned_errors(void) {
    const lapwing_range space[] = {{0, 4, 2}, {0, 4, 1}}, wrong[] = {{0, 4, 0}, {0, 4, 1}};
    lapwing_distribution aligned = {.kind = LAPWING_ALIGNED};
    lapwing_array* array = NULL;
    const int64_t extents[] = {4, 4};
    FAILS(LAPWING_ERR_USAGE, "distribution.space",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &aligned, NULL, &array));
    aligned.space = wrong;
    FAILS(LAPWING_ERR_RANGE, "stride",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &aligned, NULL, &array));
    aligned.space = space;
    FAILS(LAPWING_ERR_RANGE, "space", lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &aligned, NULL, &array));
    aligned.whole = &aligned;
    FAILS(LAPWING_ERR_USAGE, "distribution.whole",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &aligned, NULL, &array));
    aligned.kind = 8;
    FAILS(LAPWING_ERR_RANGE, "distribution.kind",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &aligned, NULL, &array));
}

static int is_among(const int* ranks, int count, int one) {
    int k;
    for (k = 0; k < count; ++k)
        if (ranks[k] == one) return 1;
    return 0;
}

/* All ranks but rank 0, the last one first; a single rank has them all. */
/* Row k of the grid has 0, 2, 1, 2, 1, ... indices, the last one the rest; so have the columns of the last case. */
static void test_blocks(int in_columns) {
    int64_t lengths[8] = {0}, extents[] = {13, 6}, own[2] = {-1, -1}, strides[2], lower[] = {-5, 1}, count = 0;
    int grid[] = {0, 0}, owner = -1, process;
    const int64_t last[] = {7, 6};
    lapwing_distribution distribution = {.kind = LAPWING_BLOCKS, .block = lengths};
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_array *array = NULL, *copy = NULL;
    double* memory = NULL;
    int64_t i, j, begin = 0;
    double x = 0;
    if (in_columns) extents[0] = 6, extents[1] = 13;
    for (process = 0; process < size; ++process) {
        lengths[process] = process + 1 == size ? 13 - count : process == 0 ? 0 : 1 + process % 2;
        if (process == rank) begin = count;
        count += lengths[process];
    }
    grid[in_columns] = size;
    if (in_columns) distribution.grid = grid;
    distribution.block_count = size;
    options.lower = lower;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, &options, &array));
    write_own(array);
    OK(lapwing_array_local(array, (void**)&memory, own, strides));
    CHECK(own[in_columns] == lengths[rank] && own[1 - in_columns] == 6 && strides[1] == 1 && strides[0] == own[1]);
    for (i = 0; i < own[0]; ++i)
        for (j = 0; j < own[1]; ++j)
            CHECK(memory[i * strides[0] + j] ==
                  value_of(lower[0] + i + (in_columns ? 0 : begin), lower[1] + j + (in_columns ? begin : 0)));
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, &options, &copy));
    OK(lapwing_array_copy(copy, array));
    for (i = lower[0]; i < lower[0] + extents[0]; ++i)
        for (j = lower[1]; j < lower[1] + extents[1]; ++j) {
            OK(lapwing_array_get_double_2(array, i, j, &x));
            CHECK(x == value_of(i, j));
            OK(lapwing_array_get_double_2(copy, i, j, &x));
            CHECK(x == value_of(i, j));
        }
    if (!in_columns) {
        OK(lapwing_array_owner(array, last, &owner));
        CHECK(owner == size - 1);
    }
    OK(lapwing_array_redistribute(copy, &distribution));
    OK(lapwing_array_get_double_2(copy, lower[0], lower[1] + 5, &x));
    CHECK(x == value_of(lower[0], lower[1] + 5));
    ++extents[in_columns];
    FAILS(LAPWING_ERR_RANGE, "make up the extent", lapwing_array_resize(array, extents));
    OK(lapwing_array_free(&array));
    OK(lapwing_array_free(&copy));
}

static void test_wrong_blocks(void) {
    const int64_t lengths[] = {4, -1, 7}, extents[] = {10};
    int grid[] = {2};
    lapwing_distribution distribution = {.kind = LAPWING_BLOCKS, .block = lengths, .block_count = 3};
    lapwing_array* array = NULL;
    distribution.block_count = -1;
    FAILS(LAPWING_ERR_RANGE, "'distribution.block_count' is -1",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, &distribution, NULL, &array));
    distribution.block_count = 3;
    distribution.grid = grid;
    FAILS(LAPWING_ERR_RANGE, "'block' has 3 lengths",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, &distribution, NULL, &array));
    grid[0] = 4;
    FAILS(LAPWING_ERR_RANGE, "'block' has 3 lengths",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, &distribution, NULL, &array));
    distribution.grid = NULL;
    if (size == 3)
        FAILS(LAPWING_ERR_RANGE, "length -1",
              lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, &distribution, NULL, &array));
    else
        FAILS(LAPWING_ERR_RANGE, "3 blocks for",
              lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, &distribution, NULL, &array));
    distribution.block = NULL;
    FAILS(LAPWING_ERR_USAGE, "'distribution.block'",
          lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, &distribution, NULL, &array));
}

static void test_on_ranks(int kind) {
    const lapwing_distribution_functions functions = {locate, capacity, domain_count, domain, 0};
    const int64_t block[] = {2, 3}, extents[] = {11, 7}, larger[] = {13, 7};
    const lapwing_range space[] = {{0, 11, 1}, {-1, 9, 1}};
    const lapwing_distribution whole = {.kind = kind, .block = block, .functions = &functions};
    lapwing_distribution some = {.kind = LAPWING_ON_RANKS, .whole = &whole}, aligned = {.kind = LAPWING_ALIGNED};
    lapwing_array *array = NULL, *copy = NULL, *part = NULL;
    uint64_t count = 0, k;
    int64_t i, j, elements = 0;
    int chosen[8], owner = -1, first = -1;
    double x = 0, sum = 0;
    lapwing_range own[2];
    void* memory = NULL;
    some.ranks = chosen;
    for (some.rank_count = 0; some.rank_count < size - 1; ++some.rank_count)
        chosen[some.rank_count] = size - 1 - some.rank_count;
    if (size == 1) chosen[some.rank_count++] = 0;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &some, NULL, &array));
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, NULL, NULL, &copy));
    write_own(array);
    OK(lapwing_array_copy(copy, array));
    for (i = 0; i < extents[0]; ++i)
        for (j = 0; j < extents[1]; ++j) {
            const int64_t index[] = {i, j};
            OK(lapwing_array_owner(array, index, &owner));
            CHECK(is_among(chosen, some.rank_count, owner));
            OK(lapwing_array_get_double_2(array, i, j, &x));
            CHECK(x == value_of(i, j));
            OK(lapwing_array_get_double_2(copy, i, j, &x));
            CHECK(x == value_of(i, j));
            sum += x;
            if (i == 0 && j == 0) first = owner;
        }
    /* Process 0 is the first of the list. */
    CHECK(first == chosen[0]);
    OK(lapwing_array_domain_count(array, rank, &count));
    CHECK(is_among(chosen, some.rank_count, rank) || count == 0);
    for (k = 0; k < count; ++k) {
        OK(lapwing_array_domain(array, rank, k, own));
        elements += (int64_t)(own[0].size * own[1].size);
    }
    OK(lapwing_runtime_sum(runtime, LAPWING_INT64, &elements, 1));
    CHECK(elements == extents[0] * extents[1]);
    OK(lapwing_array_sum(array, &x));
    CHECK(x == sum);
    FAILS(LAPWING_ERR_USAGE, "rectangular", lapwing_array_local(array, &memory, NULL, NULL));
    OK(lapwing_array_resize(array, larger));
    OK(lapwing_array_redistribute(array, NULL));
    OK(lapwing_array_redistribute(array, &some));
    OK(lapwing_array_get_double_2(array, 10, 6, &x));
    CHECK(x == value_of(10, 6));
    OK(lapwing_array_get_double_2(array, 12, 6, &x));
    CHECK(x == 0);
    /* Part of a space that some of the ranks have. */
    aligned.space = space;
    aligned.whole = &some;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &aligned, NULL, &part));
    write_own(part);
    OK(lapwing_array_get_double_2(part, 10, 6, &x));
    CHECK(x == value_of(10, 6));
    OK(lapwing_array_barrier(part));
    OK(lapwing_array_free(&part));
    OK(lapwing_array_free(&copy));
    OK(lapwing_array_free(&array));
}

static void test_on_wrong_ranks(void) {
    const int64_t extents[] = {4, 4};
    const lapwing_range space[] = {{0, 4, 1}, {0, 4, 1}};
    const lapwing_distribution_functions everywhere = {locate, capacity, domain_count, domain, 1};
    lapwing_distribution some = {.kind = LAPWING_ON_RANKS}, whole = {.kind = LAPWING_REPLICATED};
    lapwing_array* array = NULL;
    lapwing_relabelling* order = NULL;
    int ranks[2] = {0, 0};
    FAILS(LAPWING_ERR_RANGE, "at least one",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    some.rank_count = -1;
    FAILS(LAPWING_ERR_RANGE, "'distribution.rank_count' is -1",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    some.rank_count = 2;
    FAILS(LAPWING_ERR_USAGE, "'distribution.ranks'",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    some.ranks = ranks;
    FAILS(LAPWING_ERR_RANGE, "rank 0 is named twice",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    ranks[1] = size;
    FAILS(LAPWING_ERR_RANGE, "is outside [0, ",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    some.rank_count = 1;
    some.whole = &whole;
    FAILS(LAPWING_ERR_USAGE, "replicated",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    whole.kind = LAPWING_OWN_DISTRIBUTION;
    whole.functions = &everywhere;
    FAILS(LAPWING_ERR_USAGE, "replicated",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    whole.kind = LAPWING_ALIGNED;
    whole.space = space;
    FAILS(LAPWING_ERR_USAGE, "'distribution.whole' is LAPWING_ALIGNED",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    some.whole = &some;
    FAILS(LAPWING_ERR_USAGE, "'distribution.whole' is LAPWING_ON_RANKS itself",
          lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    some.whole = NULL;
    if (size == 1) return;
    /* As many elements each, and other owners. */
    ranks[0] = rank == 0 ? 0 : 1;
    FAILS(LAPWING_ERR_MISMATCH, "", lapwing_array_create(runtime, LAPWING_INT32, 2, extents, &some, NULL, &array));
    OK(lapwing_array_create(runtime, LAPWING_INT32, 2, extents, NULL, NULL, &array));
    FAILS(LAPWING_ERR_MISMATCH, "", lapwing_array_redistribute(array, &some));
    FAILS(LAPWING_ERR_MISMATCH, "", lapwing_relabelling_create(array, &some, &order));
    OK(lapwing_array_free(&array));
}

static void count(void* context, void* value, const int64_t* index, const void* element) {
    (void)context, (void)index, (void)element;
    *(double*)value += 1;
}
static void add(void* context, void* left, const void* right) {
    (void)context;
    *(double*)left += *(const double*)right;
}

/* A distribution that is wrong on one rank: its calls end on all. */
#define END_ON_ALL(call)                                           \
    do {                                                           \
        if (misplaces) FAILS(LAPWING_ERR_RANGE, "locate()", call); \
        else FAILS(LAPWING_ERR_USAGE, "rank 1 could not", call);   \
    } while (0)
static void test_wrong_on_one_rank(void) {
    const lapwing_distribution_functions functions = {locate, capacity, domain_count, domain, 0};
    const lapwing_distribution distribution = {.kind = LAPWING_OWN_DISTRIBUTION, .functions = &functions};
    const int64_t extents[] = {8, 5};
    const double two = 2;
    double x = 0;
    lapwing_array *array = NULL, *totals = NULL;
    lapwing_slice* to = NULL;
    if (size == 1) return;
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &distribution, NULL, &array));
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, NULL, NULL, &totals));
    OK(lapwing_slice_create(totals, NULL, &to));
    misplaces = rank == 1;
    END_ON_ALL(lapwing_array_fill(array, &two));
    END_ON_ALL(lapwing_array_sum(array, &x));
    END_ON_ALL(lapwing_array_min(array, &x, NULL));
    END_ON_ALL(lapwing_array_max(array, &x, NULL));
    END_ON_ALL(lapwing_array_reduce(array, &x, sizeof x, count, add, NULL));
    END_ON_ALL(lapwing_array_sum_along(array, 1, to));
    misplaces = 0;
    OK(lapwing_array_fill(array, &two));
    OK(lapwing_array_sum(array, &x));
    CHECK(x == 80);
    OK(lapwing_array_sum_along(array, 1, to));
    OK(lapwing_array_min(totals, &x, NULL));
    CHECK(x == 10);
    OK(lapwing_slice_free(&to));
    OK(lapwing_array_free(&totals));
    OK(lapwing_array_free(&array));
}

int main(void) {
    start_job();
    test_strided(LAPWING_BLOCK);
    test_strided(LAPWING_BLOCK_CYCLIC);
    test_strided_errors();
    test_aligned(LAPWING_BLOCK);
    test_aligned(LAPWING_BLOCK_CYCLIC);
    test_aligned(LAPWING_CYCLIC);
    test_aligned(LAPWING_REPLICATED);
    test_aligned(LAPWING_OWN_DISTRIBUTION);
    test_aligned_errors();
    test_on_ranks(LAPWING_BLOCK);
    test_on_ranks(LAPWING_CYCLIC);
    test_on_ranks(LAPWING_BLOCK_CYCLIC);
    test_on_ranks(LAPWING_OWN_DISTRIBUTION);
    test_on_wrong_ranks();
    test_blocks(0);
    test_blocks(1);
    test_wrong_blocks();
    test_wrong_on_one_rank();
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
