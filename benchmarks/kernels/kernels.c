/* Kernels in C: patches of what others have, and loops over own elements as memory. */
#include "languages.h"

#include <lapwing/lapwing.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static lapwing_runtime* runtime;
static lapwing_array *from, *to;
static int64_t extents[3]; /* of both, but for the transpose */
static lapwing_matrix_rows own_rows;
static int64_t* own_row_start;

static int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void* allocated(size_t bytes) {
    void* const memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) abort();
    return memory;
}

/* The own block, and its memory; 0 if this rank owns nothing. */
static int own_block(lapwing_array* array, lapwing_range* own, void** memory, int64_t* strides) {
    int rank = 0;
    uint64_t count = 0;
    lapwing_runtime_rank(runtime, &rank);
    lapwing_array_domain_count(array, rank, &count);
    if (count == 0) return 0;
    lapwing_array_domain(array, rank, 0, own);
    lapwing_array_local(array, memory, NULL, strides);
    return 1;
}

static lapwing_range range(int64_t first, int64_t end) {
    lapwing_range made = {first, end > first ? (uint64_t)(end - first) : 0, 1};
    return made;
}

static int64_t end_of(lapwing_range indices) { return indices.first + (int64_t)indices.size; }

/* Those of an array's own indices of dimension d that are not at its edges. */
static lapwing_range inner(lapwing_range own, int d) {
    return range(larger(own.first, 1), smaller(end_of(own), extents[d] - 1));
}

static void detect_edges(const uint8_t* pixels, int64_t width, uint8_t* edges, int64_t count) {
    int64_t j;
    for (j = 0; j < count; ++j) {
        const uint8_t *above = pixels + j, *here = above + width, *below = here + width;
        const int down = (below[0] + 2 * below[1] + below[2]) - (above[0] + 2 * above[1] + above[2]);
        const int across = (above[2] + 2 * here[2] + below[2]) - (above[0] + 2 * here[0] + below[0]);
        const double strength = sqrt((double)(down * down + across * across));
        edges[j] = (uint8_t)(strength < 255.0 ? strength : 255.0);
    }
}

static void sobel(void) {
    lapwing_range own[2], rows, columns, patch[2];
    int64_t strides[2], width, i;
    void* memory = NULL;
    if (own_block(to, own, &memory, strides)) {
        rows = inner(own[0], 0);
        columns = inner(own[1], 1);
        if (rows.size > 0 && columns.size > 0) {
            uint8_t* pixels;
            patch[0] = range(rows.first - 1, end_of(rows) + 1);
            patch[1] = range(columns.first - 1, end_of(columns) + 1);
            width = (int64_t)patch[1].size;
            pixels = (uint8_t*)allocated((size_t)(patch[0].size * patch[1].size));
            lapwing_array_get(from, patch, pixels, NULL);
            for (i = rows.first; i < end_of(rows); ++i)
                detect_edges(pixels + (i - rows.first) * width, width,
                             (uint8_t*)memory + (i - own[0].first) * strides[0] + (columns.first - own[1].first),
                             (int64_t)columns.size);
            free(pixels);
        }
    }
    lapwing_array_barrier(to);
}

static void transpose(void) {
    lapwing_range own[2], patch[2];
    int64_t strides[2], i, j;
    void* memory = NULL;
    if (own_block(to, own, &memory, strides)) {
        const int64_t rows = (int64_t)own[0].size, columns = (int64_t)own[1].size;
        double* const elements = (double*)allocated((size_t)(rows * columns) * sizeof(double));
        patch[0] = own[1];
        patch[1] = own[0];
        lapwing_array_get(from, patch, elements, NULL);
        for (i = 0; i < rows; ++i)
            for (j = 0; j < columns; ++j) ((double*)memory)[i * strides[0] + j] = elements[j * rows + i];
        free(elements);
    }
    lapwing_array_barrier(to);
}

static double initial_temperature(int64_t n, int64_t i, int64_t j, int64_t k) {
    const int64_t di = 2 * i - n, dj = 2 * j - n, dk = 2 * k - n;
    if (i == 0) return 100.0;
    return 9 * (di * di + dj * dj + dk * dk) < n * n ? 80.0 : 0.0;
}

static void start_heat(void) {
    lapwing_array* const both[] = {from, to};
    int which;
    for (which = 0; which < 2; ++which) {
        lapwing_range own[3];
        int64_t strides[3], i, j, k;
        void* memory = NULL;
        if (!own_block(both[which], own, &memory, strides)) continue;
        for (i = 0; i < (int64_t)own[0].size; ++i)
            for (j = 0; j < (int64_t)own[1].size; ++j)
                for (k = 0; k < (int64_t)own[2].size; ++k)
                    ((double*)memory)[i * strides[0] + j * strides[1] + k] =
                        initial_temperature(extents[0], own[0].first + i, own[1].first + j, own[2].first + k);
    }
    lapwing_array_barrier(from);
}

/* A row of the cube; `row` and `plane` are how far its neighbours are away. */
static void diffuse(const double* now, int64_t row, int64_t plane, double* next, int64_t count) {
    int64_t k;
    for (k = 0; k < count; ++k) {
        const double* const at = now + k;
        const double here = *at;
        const double neighbours = (at[-plane] + at[plane]) + (at[-row] + at[row]) + (at[-1] + at[1]);
        next[k] = here + 0.15 * (neighbours - 6.0 * here);
    }
}

static void heat_step(void) {
    lapwing_range own[3], mine[3], patch[3];
    int64_t strides[3], i, j;
    void* memory = NULL;
    lapwing_array* const next = to;
    int d, some = own_block(to, own, &memory, strides);
    for (d = 0; d < 3 && some; ++d) {
        mine[d] = inner(own[d], d);
        patch[d] = range(mine[d].first - 1, end_of(mine[d]) + 1);
        some = mine[d].size > 0;
    }
    if (some) {
        const int64_t row = (int64_t)patch[2].size, plane = row * (int64_t)patch[1].size;
        double* const now = (double*)allocated((size_t)plane * (size_t)patch[0].size * sizeof(double));
        lapwing_array_get(from, patch, now, NULL);
        for (i = mine[0].first; i < end_of(mine[0]); ++i)
            for (j = mine[1].first; j < end_of(mine[1]); ++j)
                diffuse(now + (i - patch[0].first) * plane + (j - patch[1].first) * row + 1, row, plane,
                        (double*)memory + (i - own[0].first) * strides[0] + (j - own[1].first) * strides[1] +
                            (mine[2].first - own[2].first),
                        (int64_t)mine[2].size);
        free(now);
    }
    lapwing_array_barrier(to);
    to = from;
    from = next;
}

static void keep_own_rows(const lapwing_matrix_rows* matrix) {
    lapwing_range own[1];
    int64_t i, first;
    void* memory = NULL;
    own_rows.rows = 0;
    if (!own_block(from, own, &memory, NULL)) return;
    first = matrix->row_start[own[0].first];
    own_row_start = (int64_t*)allocated((size_t)(own[0].size + 1) * sizeof(int64_t));
    for (i = 0; i <= (int64_t)own[0].size; ++i) own_row_start[i] = matrix->row_start[own[0].first + i] - first;
    own_rows.rows = (int64_t)own[0].size;
    own_rows.row_start = own_row_start;
    own_rows.column = matrix->column + first;
    own_rows.value = matrix->value + first;
    for (i = 0; i < own_rows.rows; ++i) ((double*)memory)[i] = 1.0 / (double)(own[0].first + i + 1);
}

static double product(void) {
    lapwing_range own[1], all[1];
    void *x = NULL, *y = NULL;
    int64_t i, k;
    double norm = 0;
    double* const elements = (double*)allocated((size_t)extents[0] * sizeof(double));
    all[0] = range(0, extents[0]);
    lapwing_array_get(from, all, elements, NULL);
    if (own_block(from, own, &x, NULL)) own_block(to, own, &y, NULL);
    for (i = 0; i < own_rows.rows; ++i) {
        double sum = 0;
        for (k = own_rows.row_start[i]; k < own_rows.row_start[i + 1]; ++k)
            sum += own_rows.value[k] * elements[own_rows.column[k]];
        ((double*)y)[i] = sum;
        norm = fabs(sum) > norm ? fabs(sum) : norm;
    }
    free(elements);
    /* After it no rank reads the old x any more. */
    lapwing_runtime_max(runtime, LAPWING_DOUBLE, &norm, 1);
    for (i = 0; i < own_rows.rows; ++i) ((double*)x)[i] = ((double*)y)[i] / norm;
    lapwing_array_barrier(from);
    return norm;
}

void lapwing_c_start(void) {
    lapwing_error_set_handler(lapwing_error_abort, NULL);
    lapwing_runtime_create(MPI_COMM_WORLD, NULL, &runtime);
}

void lapwing_c_make(int kernel, const int64_t* of, const void* input) {
    static const int dimensions[] = {2, 2, 3, 1};
    const int by_rows[] = {0, 1};
    const int count = dimensions[kernel];
    const lapwing_type type = kernel == LAPWING_SOBEL ? LAPWING_UINT8 : LAPWING_DOUBLE;
    const uint64_t bytes = lapwing_type_size(type);
    lapwing_distribution distribution = {.kind = LAPWING_BLOCK};
    lapwing_range own[3];
    int64_t strides[3], turned[3], i;
    void* memory = NULL;
    int d;
    for (d = 0; d < count; ++d) extents[d] = of[d];
    for (d = 0; d < count; ++d) turned[d] = kernel == LAPWING_TRANSPOSE ? of[count - 1 - d] : of[d];
    if (count == 2) distribution.grid = by_rows;
    lapwing_array_create(runtime, type, count, extents, &distribution, NULL, &from);
    lapwing_array_create(runtime, type, count, turned, &distribution, NULL, &to);
    if (kernel == LAPWING_HEAT) start_heat();
    if (kernel == LAPWING_PRODUCT) keep_own_rows((const lapwing_matrix_rows*)input);
    /* Whole rows of the rank's own part. */
    if (count == 2 && own_block(from, own, &memory, strides))
        for (i = 0; i < (int64_t)own[0].size; ++i)
            memcpy((char*)memory + (uint64_t)(i * strides[0]) * bytes,
                   (const char*)input + (uint64_t)((own[0].first + i) * extents[1] + own[1].first) * bytes,
                   own[1].size * bytes);
    lapwing_array_barrier(from);
}

void lapwing_c_run(int kernel, int64_t iterations, double* growth) {
    int64_t n;
    for (n = 0; n < iterations; ++n) {
        switch (kernel) {
        case LAPWING_SOBEL: sobel(); break;
        case LAPWING_TRANSPOSE: transpose(); break;
        case LAPWING_HEAT: heat_step(); break;
        default: growth[n] = product();
        }
    }
}

void lapwing_c_result(int kernel, void* elements) {
    /* After a step of the heat, and of the products, the array to read from has the result. */
    lapwing_array* const array = kernel == LAPWING_HEAT || kernel == LAPWING_PRODUCT ? from : to;
    int64_t of[3];
    lapwing_range all[3];
    int d, dimensions = 0;
    lapwing_array_shape(array, NULL, &dimensions, of, NULL);
    for (d = 0; d < dimensions; ++d) all[d] = range(0, of[d]);
    lapwing_array_get(array, all, elements, NULL);
}

void lapwing_c_end(void) {
    free(own_row_start);
    own_row_start = NULL;
    lapwing_array_free(&to);
    lapwing_array_free(&from);
}

void lapwing_c_finish(void) { lapwing_runtime_free(&runtime); }
