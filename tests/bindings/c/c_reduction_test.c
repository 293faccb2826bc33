/* Reductions along one dimension, by operations and by functions, under every distribution. */
#include "job.h"

#include <math.h>
#include <stdint.h>

enum { rows = 11, columns = 6 };

/* Columns are dealt to the ranks from the last to the first. */
static void locate(void* context, const lapwing_shape* shape, const int64_t* index, lapwing_place* place) {
    (void)context;
    place->owner = shape->ranks - 1 - (int)(index[1] % shape->ranks);
    place->offset = (uint64_t)(index[1] / shape->ranks * shape->extents[0] + index[0]);
    place->contiguous = 1;
}
static uint64_t capacity(void* context, const lapwing_shape* shape) {
    (void)context;
    return (uint64_t)((shape->extents[1] / shape->ranks + 1) * shape->extents[0]);
}
static uint64_t domain_count(void* context, const lapwing_shape* shape, int of) {
    (void)context;
    return shape->ranks - 1 - of < shape->extents[1] ? 1 : 0;
}
static void domain(void* context, const lapwing_shape* shape, int of, uint64_t k, lapwing_range* ranges) {
    const int first = shape->ranks - 1 - of;
    (void)context;
    (void)k;
    ranges[0].first = 0;
    ranges[0].size = (uint64_t)shape->extents[0];
    ranges[0].stride = 1;
    ranges[1].first = first;
    ranges[1].size = (uint64_t)((shape->extents[1] - 1 - first) / shape->ranks + 1);
    ranges[1].stride = ranges[1].size == 1 ? 1 : shape->ranks;
}
static const lapwing_distribution_functions by_functions = {locate, capacity, domain_count, domain, 0};

static lapwing_array* make(lapwing_type type, int dimensions, const int64_t* extents, const lapwing_distribution* how) {
    lapwing_array_options options = lapwing_array_options_default();
    static const int64_t lower[2] = {-3, 1}, stride[2] = {2, 5};
    lapwing_array* a = NULL;
    if (dimensions == 2) { /* indices -3, -1, … and 1, 6, … */
        options.lower = lower;
        options.stride = stride;
    }
    options.name = "reduced";
    OK(lapwing_array_create(runtime, type, dimensions, extents, how, &options, &a));
    return a;
}
static lapwing_slice* slice_of(const lapwing_array* a) {
    lapwing_slice* s = NULL;
    OK(lapwing_slice_create(a, NULL, &s));
    return s;
}
static int64_t value_at(int64_t i, int64_t j) { return (7 * i + 3 * j) % 10 - 4; }
/* By positions from 0, written by rank 0. */
static void number(lapwing_array* a, int is_double) {
    int64_t i, j;
    OK(lapwing_array_barrier(a));
    for (i = 0; rank == 0 && i < rows; ++i)
        for (j = 0; j < columns; ++j) {
            const int64_t index[2] = {2 * i - 3, 5 * j + 1};
            const double x = (double)value_at(i, j);
            const int8_t y = (int8_t)value_at(i, j);
            OK(lapwing_array_put_element(a, index, is_double ? (const void*)&x : (const void*)&y));
        }
    OK(lapwing_array_barrier(a));
}

/* A sum, and one of the elements times their indices. */
typedef struct pair {
    double sum, moment;
} pair;
static void accumulate(void* context, void* value, const int64_t* index, const void* element) {
    pair* const one = (pair*)value;
    one->sum += *(const double*)element * *(const double*)context;
    one->moment += *(const double*)element * (double)(1000 * index[0] + index[1]);
}
static void combine(void* context, void* left, const void* right) {
    (void)context;
    ((pair*)left)->sum += ((const pair*)right)->sum;
    ((pair*)left)->moment += ((const pair*)right)->moment;
}

enum { sum = 0, least = 1, most = 2, product = 3 };

static double expected(int dimension, int64_t at, int what) {
    double result = what == sum ? 0 : what == product ? 1 : what == least ? INFINITY : -INFINITY;
    int64_t k;
    for (k = 0; k < (dimension == 0 ? rows : columns); ++k) {
        const double x = (double)(dimension == 0 ? value_at(k, at) : value_at(at, k));
        if (what == sum) result += x;
        else if (what == product) result *= x;
        else if (what == least ? x < result : x > result) result = x;
    }
    return result;
}
static void check_all(lapwing_array* target, int dimension, int what) {
    int64_t at;
    double x = 0;
    for (at = 0; at < (dimension == 0 ? columns : rows); ++at) {
        OK(lapwing_array_get_double_1(target, at, &x));
        CHECK(x == expected(dimension, at, what));
    }
    OK(lapwing_array_barrier(target));
}
static void check_functions(lapwing_array* a, int dimension, lapwing_array* target, const lapwing_slice* to) {
    const pair zero = {0, 0};
    double two = 2;
    int64_t at, k;
    OK(lapwing_array_reduce_along(a, dimension, to, &zero, sizeof zero, accumulate, combine, &two));
    for (at = 0; at < (dimension == 0 ? columns : rows); ++at) {
        pair found = {-1, -1};
        double moment = 0;
        for (k = 0; k < (dimension == 0 ? rows : columns); ++k) {
            const int64_t i = dimension == 0 ? k : at, j = dimension == 0 ? at : k;
            moment += (double)(value_at(i, j) * (1000 * (2 * i - 3) + 5 * j + 1));
        }
        OK(lapwing_array_get_element(target, &at, &found));
        CHECK(found.sum == 2 * expected(dimension, at, sum) && found.moment == moment);
    }
    OK(lapwing_array_barrier(target));
}

/* All of it, whose functions get the same indices. */
static void check_whole(lapwing_array* a) {
    pair found = {0, 0};
    double total = 0, moment = 0, one = 1;
    int64_t i, j;
    for (i = 0; i < rows; ++i)
        for (j = 0; j < columns; ++j) {
            total += (double)value_at(i, j);
            moment += (double)(value_at(i, j) * (1000 * (2 * i - 3) + 5 * j + 1));
        }
    OK(lapwing_array_reduce(a, &found, sizeof found, accumulate, combine, &one));
    CHECK(found.sum == total && found.moment == moment);
}

static void distributions(void) {
    const int64_t extents[2] = {rows, columns};
    const int64_t block[2] = {2, 3};
    lapwing_distribution each[5];
    int k, dimension;
    memset(each, 0, sizeof each);
    for (k = 0; k < 5; ++k) each[k].kind = k; /* LAPWING_BLOCK to LAPWING_OWN_DISTRIBUTION */
    each[2].block = block;
    each[4].functions = &by_functions;
    for (k = 0; k < 5; ++k) {
        lapwing_array* a = make(LAPWING_DOUBLE, 2, extents, &each[k]);
        lapwing_array* bytes = make(LAPWING_INT8, 2, extents, &each[k]);
        number(a, 1);
        number(bytes, 0);
        check_whole(a);
        for (dimension = 0; dimension < 2; ++dimension) {
            const int64_t rest[1] = {dimension == 0 ? columns : rows};
            lapwing_array* target = make(LAPWING_DOUBLE, 1, rest, k == 1 ? NULL : &each[1]);
            lapwing_array* pairs = make(LAPWING_BYTES(sizeof(pair)), 1, rest, NULL);
            lapwing_slice* to = slice_of(target);
            lapwing_slice* to_pairs = slice_of(pairs);
            OK(lapwing_array_sum_along(a, dimension, to));
            check_all(target, dimension, sum);
            OK(lapwing_array_min_along(a, dimension, to));
            check_all(target, dimension, least);
            OK(lapwing_array_max_along(a, dimension, to));
            check_all(target, dimension, most);
            /* sums of 64 bits, converted */
            OK(lapwing_array_sum_along(bytes, dimension, to));
            check_all(target, dimension, sum);
            check_functions(a, dimension, pairs, to_pairs);
            OK(lapwing_slice_free(&to));
            OK(lapwing_slice_free(&to_pairs));
            OK(lapwing_array_free(&target));
            OK(lapwing_array_free(&pairs));
        }
        OK(lapwing_array_free(&a));
        OK(lapwing_array_free(&bytes));
    }
}

static void kept(void) {
    const int64_t extents[2] = {rows, columns};
    const int64_t larger[2] = {rows + 1, columns};
    const int64_t rest[1] = {2 * columns};
    const lapwing_part every_other[1] = {{LAPWING_PART_RANGE, 2 * columns - 1, columns, -2}};
    const pair zero = {0, 0};
    double one = 1, x = 0;
    int64_t j;
    lapwing_array* a = make(LAPWING_DOUBLE, 2, extents, NULL);
    lapwing_array* target = make(LAPWING_DOUBLE, 1, rest, NULL);
    lapwing_array* pairs = make(LAPWING_BYTES(sizeof(pair)), 1, rest, NULL);
    lapwing_slice *to = NULL, *to_pairs = NULL;
    lapwing_reduction *products = NULL, *both = NULL, *copy;
    number(a, 1);
    OK(lapwing_slice_create(target, every_other, &to)); /* backwards */
    OK(lapwing_slice_create(pairs, every_other, &to_pairs));
    OK(lapwing_reduction_create(a, 0, to, LAPWING_MULTIPLY, &products));
    OK(lapwing_reduction_create_function(a, 0, to_pairs, &zero, sizeof zero, accumulate, combine, &one, &both));
    if (size > 1) /* on one rank alone: an error on all */
        FAILS(LAPWING_ERR_USAGE, "'reduction'",
              lapwing_reduction_create(a, 0, to, LAPWING_MULTIPLY, rank == 0 ? NULL : &copy));
    OK(lapwing_reduction_execute(products));
    for (j = 0; j < columns; ++j) {
        OK(lapwing_array_get_double_1(target, 2 * columns - 1 - 2 * j, &x));
        CHECK(x == expected(0, j, product));
        OK(lapwing_array_get_double_1(target, 2 * columns - 2 - 2 * j, &x));
        CHECK(x == 0); /* not in the slice */
    }
    OK(lapwing_array_fill(a, &one));
    OK(lapwing_reduction_execute(products));
    OK(lapwing_reduction_execute(both));
    for (j = 0; j < columns; ++j) {
        const int64_t place = 2 * columns - 1 - 2 * j;
        pair found;
        OK(lapwing_array_get_double_1(target, place, &x));
        OK(lapwing_array_get_element(pairs, &place, &found));
        CHECK(x == 1 && found.sum == rows);
    }
    FAILS(LAPWING_ERR_USAGE, "free them before it", lapwing_runtime_free(&runtime));
    OK(lapwing_array_resize(a, larger));
    FAILS(LAPWING_ERR_USAGE, "other extents", lapwing_reduction_execute(products));
    OK(lapwing_array_free(&a));
    FAILS(LAPWING_ERR_USAGE, "the array was freed", lapwing_reduction_execute(both));
    copy = products;
    OK(lapwing_reduction_free(&products));
    OK(lapwing_reduction_free(&products));
    OK(lapwing_reduction_free(&both));
    FAILS(LAPWING_ERR_USAGE, "the reduction was freed", lapwing_reduction_execute(copy));
    OK(lapwing_slice_free(&to));
    OK(lapwing_slice_free(&to_pairs));
    OK(lapwing_array_free(&target));
    OK(lapwing_array_free(&pairs));
}

static void complex_and_three_dimensions(void) {
    const int64_t extents[3] = {3, 4, 5};
    const int64_t rest[2] = {3, 5};
    lapwing_array* a = make(LAPWING_DOUBLE_COMPLEX, 3, extents, NULL);
    lapwing_array* target = make(LAPWING_DOUBLE_COMPLEX, 2, rest, NULL);
    lapwing_array* real = make(LAPWING_DOUBLE, 2, rest, NULL);
    lapwing_slice *to = slice_of(target), *to_real = slice_of(real);
    int64_t i, j, k;
    for (i = 0; rank == size - 1 && i < 3; ++i)
        for (j = 0; j < 4; ++j)
            for (k = 0; k < 5; ++k) {
                const int64_t index[3] = {i, j, k};
                const double x[2] = {(double)(100 * i + 10 * j + k), (double)j};
                OK(lapwing_array_put_element(a, index, x));
            }
    OK(lapwing_array_barrier(a));
    OK(lapwing_array_sum_along(a, 1, to));
    for (i = 0; i < 3; ++i)
        for (k = 0; k < 5; ++k) {
            const int64_t index[2] = {2 * i - 3, 5 * k + 1};
            double x[2] = {-1, -1};
            OK(lapwing_array_get_element(target, index, x));
            CHECK(x[0] == (double)(400 * i + 60 + 4 * k) && x[1] == 6);
        }
    FAILS(LAPWING_ERR_USAGE, "complex", lapwing_array_sum_along(a, 1, to_real));
    FAILS(LAPWING_ERR_USAGE, "integers or floating point", lapwing_array_min_along(a, 1, to));
    OK(lapwing_array_barrier(a));
    OK(lapwing_slice_free(&to));
    OK(lapwing_slice_free(&to_real));
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&target));
    OK(lapwing_array_free(&real));
}

static void bad_arguments(void) {
    const int64_t extents[2] = {rows, columns};
    const int64_t no_rows[2] = {0, columns};
    const pair zero = {0, 0};
    double x = 0;
    lapwing_array* a = make(LAPWING_DOUBLE, 2, extents, NULL);
    lapwing_array* empty = make(LAPWING_DOUBLE, 2, no_rows, NULL);
    lapwing_array* line = make(LAPWING_DOUBLE, 1, extents + 1, NULL);
    lapwing_array* raw = make(LAPWING_BYTES(24), 2, extents, NULL);
    lapwing_slice *to = slice_of(line), *whole = slice_of(a);
    lapwing_reduction* reduction = NULL;
    FAILS(LAPWING_ERR_RANGE, "along dimension 2: the array has the dimensions [0, 2)",
          lapwing_array_sum_along(a, 2, to));
    FAILS(LAPWING_ERR_RANGE, "along dimension -1", lapwing_array_max_along(a, -1, to));
    FAILS(LAPWING_ERR_RANGE, "(11, 6): the target has extents (6)", lapwing_array_sum_along(a, 1, to));
    FAILS(LAPWING_ERR_RANGE, "extents (11, 6)", lapwing_array_sum_along(a, 0, whole));
    FAILS(LAPWING_ERR_USAGE, "one dimension", lapwing_array_sum_along(line, 0, to));
    FAILS(LAPWING_ERR_USAGE, "24 bytes", lapwing_array_sum_along(raw, 0, to));
    FAILS(LAPWING_ERR_USAGE, "the slice is a null pointer", lapwing_array_min_along(a, 0, NULL));
    FAILS(LAPWING_ERR_USAGE, "the array is a null pointer", lapwing_array_min_along(NULL, 0, to));
    FAILS(LAPWING_ERR_RANGE, "'operation' is 6", lapwing_reduction_create(a, 0, to, LAPWING_REPLACE, &reduction));
    FAILS(LAPWING_ERR_USAGE, "'reduction'", lapwing_reduction_create(a, 0, to, LAPWING_ADD, NULL));
    FAILS(LAPWING_ERR_USAGE, "16 bytes",
          lapwing_array_reduce_along(a, 0, to, &zero, sizeof zero, accumulate, combine, NULL));
    FAILS(LAPWING_ERR_USAGE, "'identity'", lapwing_array_reduce_along(a, 0, to, NULL, 8, accumulate, combine, NULL));
    FAILS(LAPWING_ERR_RANGE, "'bytes' is 0", lapwing_array_reduce_along(a, 0, to, &zero, 0, accumulate, combine, NULL));
    FAILS(LAPWING_ERR_USAGE, "'accumulate'", lapwing_array_reduce_along(a, 0, to, &zero, 8, NULL, combine, NULL));
    FAILS(LAPWING_ERR_USAGE, "'combine'",
          lapwing_reduction_create_function(a, 0, to, &zero, 8, accumulate, NULL, NULL, &reduction));
    CHECK(reduction == NULL);
    FAILS(LAPWING_ERR_USAGE, "'reduction'", lapwing_reduction_free(NULL));
    FAILS(LAPWING_ERR_USAGE, "'reduction'", lapwing_reduction_leave(NULL));
    OK(lapwing_array_sum_along(empty, 0, to));
    OK(lapwing_array_get_double_1(line, columns - 1, &x));
    CHECK(x == 0);
    OK(lapwing_array_barrier(line));
    OK(lapwing_array_max_along(empty, 0, to));
    OK(lapwing_array_get_double_1(line, columns - 1, &x));
    CHECK(x == -INFINITY);
    OK(lapwing_slice_free(&to));
    OK(lapwing_slice_free(&whole));
    OK(lapwing_array_free(&a));
    OK(lapwing_array_free(&empty));
    OK(lapwing_array_free(&line));
    OK(lapwing_array_free(&raw));
}

static void left(void) {
    const int64_t extents[2] = {3, 4};
    lapwing_runtime* own = NULL;
    lapwing_array *a = NULL, *target = NULL;
    lapwing_slice* to = NULL;
    lapwing_reduction* reduction = NULL;
    OK(lapwing_runtime_create(MPI_COMM_SELF, NULL, &own));
    OK(lapwing_array_create(own, LAPWING_FLOAT, 2, extents, NULL, NULL, &a));
    OK(lapwing_array_create(own, LAPWING_FLOAT, 1, extents, NULL, NULL, &target));
    to = slice_of(target);
    OK(lapwing_reduction_create(a, 1, to, LAPWING_ADD, &reduction));
    OK(lapwing_slice_free(&to));
    OK(lapwing_array_leave(&a));
    OK(lapwing_array_leave(&target));
    FAILS(LAPWING_ERR_USAGE, "leave them before it", lapwing_runtime_leave(&own));
    OK(lapwing_reduction_leave(&reduction));
    CHECK(reduction == NULL);
    OK(lapwing_runtime_leave(&own));
}

int main(void) {
    start_job();
    distributions();
    kept();
    complex_and_three_dimensions();
    bad_arguments();
    left();
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
